"""Requests on their way in, over a real socket."""

import asyncio
import inspect
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from unittest.mock import ANY

import pytest
import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from registerwatch.web.limits import http_limits, least_rate, refusal_log
from registerwatch.web.limits.connections import ConnectionTable
from registerwatch.web.limits.http_limits import MAX_HEAD_BYTES, BoundedHttpProtocol
from registerwatch.web.limits.http_server import server_config
from tests.support.harness import ERROR_FIELDS
from tests.support.servers import serving


@pytest.fixture
def anyio_backend() -> str:
    """Clients that break off in the midst of a request do so as asyncio's streams do."""
    return "asyncio"


class Echo:
    """Answers how much it was sent; notes who left."""

    def __init__(self) -> None:
        self.left = self.requests = 0
        self.answers_early = False
        self.headers: list[tuple[bytes, bytes]] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        self.requests += 1
        await self.may_answer.wait()
        try:
            length = 0 if self.answers_early else len(await request.body())
        except ClientDisconnect:
            self.left += 1
            return
        self.headers = scope["headers"]
        await JSONResponse({"length": length})(scope, receive, send)


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
async def port(echo: Echo) -> AsyncIterator[int]:
    config = server_config(echo, "127.0.0.1", 0)
    config.lifespan = "off"
    async with serving(config) as port:
        yield port


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_limits, "ARRIVAL_SECONDS", 0.2)


class Line:
    """A connection, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def send(self, *parts: bytes) -> None:
        """Send parts as packets of their own."""
        for part in parts:
            self._writer.write(part)
            await self._writer.drain()
            await asyncio.sleep(0.01)

    async def answer(self) -> tuple[int, dict[str, object]]:
        """Status and body of the next answer."""
        head = await asyncio.wait_for(self._reader.readuntil(b"\r\n\r\n"), 5)
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        body = json.loads(await self._reader.readexactly(length))
        return int(head.split()[1]), body

    async def is_over(self) -> bool:
        """Whether nothing but the end comes."""
        return await asyncio.wait_for(self._reader.read(), 5) == b""


@asynccontextmanager
async def line(port: int) -> AsyncIterator[Line]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Line(reader, writer)
    finally:
        writer.close()


def head_of(size: int) -> bytes:
    """A request whose line and headers have about so many bytes."""
    return b"GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + b"x" * (size - 40) + b"\r\n\r\n"


async def test_a_head_up_to_the_limit_is_taken_however_it_is_cut(port: int) -> None:
    request = head_of(MAX_HEAD_BYTES - 100)
    for parts in ([request], [request[:9], request[9:20_000], request[20_000:]]):
        async with line(port) as it:
            await it.send(*parts)
            assert await it.answer() == (200, {"length": 0})


async def test_a_longer_head_is_refused_however_it_is_cut(port: int) -> None:
    request = head_of(MAX_HEAD_BYTES + 100)
    for parts in ([request], [request[:-2]], [request[:20_000], request[20_000:]]):
        async with line(port) as it:
            await it.send(*parts)
            status, body = await it.answer()
            assert (status, set(body)) == (431, ERROR_FIELDS)


async def test_who_goes_on_sending_a_head_is_cut_off(port: int) -> None:
    async with line(port) as it:
        with pytest.raises(ConnectionError):
            for _ in range(10_000):
                await it.send(b"GET / HTTP/1.1\r\nHost: a\r\nX-Long: ", b"x" * 1_000_000)


async def test_many_headers_and_a_long_address_count_too(port: int) -> None:
    many = b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: abcdefgh\r\n" % number for number in range(3_000)) + b"\r\n"
    for request in (many, b"GET /" + b"a" * MAX_HEAD_BYTES + b" HTTP/1.1\r\nHost: a\r\n\r\n"):
        async with line(port) as it:
            await it.send(request)
            assert (await it.answer())[0] == 431


async def test_a_large_body_does_not_count_as_head(port: int) -> None:
    body = b"x" * 300_000
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body)
    for parts in ([head + body], [head, body], [head[:-1], head[-1:] + body], [head + body + head, body]):
        async with line(port) as it:
            await it.send(*parts)
            assert await it.answer() == (200, {"length": len(body)})


async def test_who_asks_for_another_protocol_is_answered_in_this_one(port: int) -> None:
    for protocol in (b"websocket", b"h2c"):
        async with line(port) as it:
            await it.send(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: %b\r\n\r\n" % protocol)
            assert await it.answer() == (200, {"length": 0})


async def test_what_is_no_request_is_told_in_the_form_of_the_service(port: int) -> None:
    async with line(port) as it:
        await it.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n")
        assert await it.answer() == (
            400,
            {"error": http_limits.MALFORMED, "code": "malformed-request", "request_id": ANY},
        )
        assert await it.is_over()


CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"


async def test_what_comes_behind_a_body_in_pieces_is_no_header(port: int, echo: Echo) -> None:
    async with line(port) as it:
        await it.send(CHUNKED + b"X-Forwarded-For: 203.0.113.1\r\n\r\n")
        assert await it.answer() == (200, {"length": 3})

    assert [name for name, _ in echo.headers] == [b"host", b"transfer-encoding"]


@pytest.mark.parametrize("trailer", [b"X-Small: abc\r\n" * 80_000, b"X-Long: " + b"x" * 1_000_000])
async def test_what_comes_behind_a_body_in_pieces_has_bounds(port: int, trailer: bytes) -> None:
    async with line(port) as it:
        with pytest.raises(ConnectionError):
            for _ in range(100):
                await it.send(CHUNKED + trailer)
                await it.send(trailer)


@pytest.mark.usefixtures("short")
async def test_a_late_request_is_not_answered_in_place_of_the_one_before_it(port: int, echo: Echo) -> None:
    echo.may_answer.clear()
    async with line(port) as it:
        await it.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nPOST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx")
        assert await it.is_over(), "and nothing that could be taken for an answer to the first"
    echo.may_answer.set()


@pytest.mark.usefixtures("short")
async def test_who_connects_and_says_nothing_is_let_go(port: int) -> None:
    async with line(port) as it:
        assert await it.is_over()


@pytest.mark.usefixtures("short")
async def test_a_head_that_does_not_come_to_its_end_is_refused(port: int) -> None:
    async with line(port) as it:
        await it.send(b"GET / HTTP/1.1\r\nHost: a\r\n", b"X-A: 1\r\n")
        assert (await it.answer())[0] == 408
        assert await it.is_over()


@pytest.mark.usefixtures("short")
async def test_a_body_that_does_not_come_to_its_end_is_refused_and_the_application_hears_of_it(
    port: int, echo: Echo
) -> None:
    async with line(port) as it:
        await it.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n", b"x")
        assert (await it.answer())[0] == 408
        assert await it.is_over()
    while not echo.left:
        await asyncio.sleep(0.01)


@pytest.mark.usefixtures("short")
async def test_the_second_request_of_a_connection_has_its_own_time(port: int) -> None:
    whole = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    async with line(port) as it:
        await it.send(whole)
        assert (await it.answer())[0] == 200
        await asyncio.sleep(0.3)  # longer than a request may take: an idle connection is no request
        await it.send(whole + whole[:20])
        assert (await it.answer())[0] == 200
        assert (await it.answer())[0] == 408


@pytest.mark.usefixtures("short")
async def test_after_an_answer_that_came_before_the_body_nothing_more_is_said(port: int, echo: Echo) -> None:
    echo.answers_early = True
    async with line(port) as it:
        await it.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n", b"x")
        assert await it.answer() == (200, {"length": 0})
        assert await it.is_over()


@pytest.mark.usefixtures("short")
async def test_line_ends_between_requests_keep_no_connection_open(port: int) -> None:
    async with line(port) as it:
        await it.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert (await it.answer())[0] == 200
        await it.send(b"\r\n")
        with suppress(ConnectionError):
            async with asyncio.timeout(3):
                assert await it.is_over()


async def test_a_connection_ends_after_the_answer_to_who_asks_for_another_protocol(port: int) -> None:
    """What follows is taken for the other protocol, so no further request could be read."""
    async with line(port) as it:
        await it.send(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
        assert (await it.answer())[0] == 200
        assert await it.is_over()


@pytest.mark.parametrize(
    "head",
    [
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nabcde",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nabcde",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
        b"GET / HTTP/1.1\nHost: a\n\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
        b"GET /\xe4 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n\r\n",
    ],
)
async def test_a_request_that_two_programs_could_read_in_two_ways_is_refused(port: int, head: bytes) -> None:
    async with line(port) as it:
        await it.send(head)
        assert (await it.answer())[0] == 400
        with suppress(ConnectionError):
            assert await it.is_over()


async def test_a_body_that_nobody_reads_is_dropped_up_to_a_bound(port: int, echo: Echo) -> None:
    echo.answers_early = True
    head = b"PATCH / HTTP/1.1\r\nHost: a\r\nContent-Length: 400000000\r\n\r\n"
    sent = 0
    async with line(port) as it:
        await it.send(head)
        assert await it.answer() == (200, {"length": 0})
        with pytest.raises(ConnectionError):
            for _ in range(400):
                await it.send(b"x" * 1_000_000)
                sent += 1_000_000
    assert sent < 20_000_000, "what the sockets hold included"


async def test_a_body_that_was_not_needed_does_not_end_the_connection(port: int, echo: Echo) -> None:
    echo.answers_early = True
    body = b"x" * 2_000_000
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with line(port) as it:
        for _ in range(2):
            await it.send(head + body)
            assert await it.answer() == (200, {"length": 0})


async def test_thousands_of_requests_in_one_packet_are_not_taken_on(port: int, echo: Echo) -> None:
    echo.may_answer.clear()
    async with line(port) as it:
        with suppress(ConnectionError):
            await it.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 5_000)
            assert await it.is_over(), "and nothing of it is answered"
    echo.may_answer.set()
    assert echo.requests <= 1


async def test_a_few_requests_in_one_packet_are_answered_in_their_order(port: int) -> None:
    async with line(port) as it:
        await it.send(
            b"".join(
                b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b" % (length, b"x" * length)
                for length in range(1, 10)
            )
        )
        assert [await it.answer() for _ in range(1, 10)] == [(200, {"length": length}) for length in range(1, 10)]


async def test_a_long_body_in_small_packets_is_taken(port: int) -> None:
    body = b"x" * 700_000
    async with line(port) as it:
        await it.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunks = (body[start : start + 600] for start in range(0, len(body), 600))
        await it.send(b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n")
        assert await it.answer() == (200, {"length": len(body)})


async def test_a_body_in_many_tiny_pieces_is_refused(port: int) -> None:
    head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with line(port) as it:
        await it.send(head + b"1\r\na\r\n" * 9_000)
        status, body = await it.answer()
        assert (status, body["code"]) == (400, "malformed-request")
        assert await it.is_over()


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a:b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: \xe4.example\r\n\r\n",
        b'GET / HTTP/1.1\r\nHost: "><script>\r\n\r\n',
    ],
)
async def test_a_request_that_does_not_name_one_host_is_refused(port: int, head: bytes) -> None:
    async with line(port) as it:
        await it.send(head)
        refusal = {"error": http_limits.BAD_HOST, "code": "malformed-request", "request_id": ANY}
        assert await it.answer() == (400, refusal)
        assert await it.is_over()


@pytest.mark.parametrize(
    "head",
    [
        *(
            b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % host
            for host in (b"a", b"A.example.:80", b"[::1]:8000", b"", b"a_b:")
        ),
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.0\r\nHost: a\r\n\r\n",
    ],
)
async def test_a_request_that_names_its_host_is_taken(port: int, head: bytes) -> None:
    async with line(port) as it:
        await it.send(head)
        assert (await it.answer())[0] == 200


async def test_refusals_are_logged_with_the_address_and_bounded_in_number(port: int) -> None:
    with structlog.testing.capture_logs() as lines:
        for _ in range(3 * refusal_log.MAX_LINES):
            async with line(port) as it:
                await it.send(b"none\r\n\r\n")
                assert (await it.answer())[0] == 400
    assert len(lines) == refusal_log.MAX_LINES
    assert {(each["client"], each["status"], each["code"]) for each in lines} == {
        ("127.0.0.1", 400, "malformed-request")
    }


async def test_upgrades_and_malformed_requests_leave_no_lines_of_the_server(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    for request in (b"none\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"):
        async with line(port) as it:
            await it.send(request)
            await it.answer()
    assert [each for each in caplog.records if each.name.startswith("uvicorn") and each.levelname == "WARNING"] == []


async def test_one_connection_too_many_ends_an_idle_one_of_the_same_client(echo: Echo) -> None:
    config = server_config(echo, "127.0.0.1", 0)
    config.http = partial(BoundedHttpProtocol, table=ConnectionTable(3))  # type: ignore[assignment]  # as in the server
    config.lifespan = "off"
    async with serving(config) as port, line(port) as first, line(port) as second, line(port) as third:
        await second.send(b"GET / HTTP/1.1\r\nHost: a\r\n")
        async with line(port) as fourth:
            await fourth.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert (await fourth.answer())[0] == 200
            with suppress(ConnectionError):
                assert await first.is_over()
            await second.send(b"\r\n")
            await third.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert [(await each.answer())[0] for each in (second, third)] == [200, 200]


class Long:
    """Answers with much, and counts the requests."""

    SIZE = 400_000

    def __init__(self) -> None:
        self.requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.requests += 1
        await Response(b"x" * self.SIZE)(scope, receive, send)


@asynccontextmanager
async def unread(
    answers: int, table: ConnectionTable
) -> AsyncIterator[tuple[Long, asyncio.StreamReader, asyncio.StreamWriter]]:
    """A server of long answers, and a client that asked for some and has taken little of the first."""
    app = Long()
    config = server_config(app, "127.0.0.1", 0)
    config.http = partial(BoundedHttpProtocol, table=table)  # type: ignore[assignment]  # as in the server
    config.lifespan = "off"
    async with serving(config) as port:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.connect(("127.0.0.1", port))
        reader, writer = await asyncio.open_connection(sock=connection, limit=1_024)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * answers)
        while not app.requests:
            await asyncio.sleep(0.01)
        try:
            yield app, reader, writer
        finally:
            writer.transport.abort()


async def test_the_next_request_waits_until_the_answer_before_it_was_taken() -> None:
    async with unread(16, ConnectionTable(3)) as (app, reader, _):
        for _ in range(10):
            await asyncio.sleep(0.01)
        assert app.requests == 1, "an answer that nobody takes is the last one that is made"
        for _ in range(16):
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
            assert await asyncio.wait_for(reader.readexactly(Long.SIZE), 5) == b"x" * Long.SIZE
        assert app.requests == 16


async def test_who_takes_nothing_of_an_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(least_rate, "GRACE_SECONDS", 0.1)
    table = ConnectionTable(3)
    async with unread(1, table) as (_, reader, _), asyncio.timeout(3):
        while len(table):
            await asyncio.sleep(0.01)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(Long.SIZE)


async def test_who_takes_an_answer_slowly_gets_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(least_rate, "GRACE_SECONDS", 0.3)
    async with unread(1, ConnectionTable(3)) as (_, reader, _):
        await reader.readuntil(b"\r\n\r\n")
        for _ in range(10):
            await asyncio.wait_for(reader.readexactly(Long.SIZE // 10), 5)
            await asyncio.sleep(0.05)


async def test_who_takes_too_little_of_an_answer_is_cut_off_however_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(least_rate, "GRACE_SECONDS", 0.5)
    monkeypatch.setattr(least_rate, "MIN_BYTES_A_SECOND", 100 * Long.SIZE)
    table = ConnectionTable(3)
    async with unread(1, table) as (_, reader, _):
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            for _ in range(10):
                await asyncio.wait_for(reader.readexactly(Long.SIZE // 10), 5)
                await asyncio.sleep(0.2)
        assert not len(table)


async def test_each_answer_may_be_taken_slowly_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(least_rate, "GRACE_SECONDS", 1.0)
    monkeypatch.setattr(least_rate, "MIN_BYTES_A_SECOND", 1_000 * Long.SIZE)
    async with unread(3, ConnectionTable(3)) as (app, reader, _):
        for number in range(1, 4):
            while app.requests < number:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.5)
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
            await asyncio.wait_for(reader.readexactly(Long.SIZE), 5)


async def test_the_system_holds_little_of_an_answer() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    with listening, socket.create_connection(listening.getsockname()) as connection:
        http_limits._limit_what_is_unread(_Transport(connection))
        held = connection.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    assert held <= 2 * http_limits.SEND_BUFFER_BYTES


async def test_an_answer_that_nobody_reads_has_a_time_limit_of_the_system() -> None:
    server, client = socket.socketpair()
    listening = socket.create_server(("127.0.0.1", 0))
    with server, client, listening, socket.create_connection(listening.getsockname()) as connection:
        for each in (connection, server):
            http_limits._limit_what_is_unread(_Transport(each))
        set_to = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
    assert set_to == http_limits.UNREAD_SECONDS * 1_000


class _Transport(asyncio.Transport):
    """A transport with a socket."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__({"socket": connection})


OVERRIDDEN = {
    "connection_made": ["self", "transport"],
    "connection_lost": ["self", "exc"],
    "data_received": ["self", "data"],
    "pause_writing": ["self"],
    "resume_writing": ["self"],
    "on_response_complete": ["self"],
    "on_message_begin": ["self"],
    "on_headers_complete": ["self"],
    "on_body": ["self", "body"],
    "on_message_complete": ["self"],
}
ADDED = {"is_answering", "end_now"}


def test_the_limits_override_exactly_these_methods_of_uvicorn() -> None:
    own = {name for name in vars(BoundedHttpProtocol) if not name.startswith("_")}
    theirs = {name: list(inspect.signature(vars(HttpToolsProtocol)[name]).parameters) for name in OVERRIDDEN}

    assert own == set(OVERRIDDEN) | ADDED
    assert theirs == OVERRIDDEN


async def test_the_limits_rely_on_these_attributes_of_uvicorn(echo: Echo) -> None:
    config = server_config(echo, "127.0.0.1", 0)
    protocol = HttpToolsProtocol(config, ServerState(), {})
    protocol.on_message_begin()

    state = vars(protocol)
    assert {"loop", "transport", "flow", "cycle", "pipeline", "headers", "url", "client", "parser"} <= set(state)
    assert (state["cycle"], len(state["pipeline"]), state["headers"], state["url"]) == (None, 0, [], b"")
    assert {"response_started", "response_complete"} <= set(vars(RequestResponseCycle)["__init__"].__code__.co_names)
