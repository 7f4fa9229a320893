"""What is posted reaches whom it is for, nobody else, and not for long, however the other side behaves."""

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpcore2
import pytest

from registerwatch.platform.net.resolver import Resolver
from registerwatch.platform.net.safe_http import (
    MAX_ADDRESSES,
    READ_BYTES,
    TOO_LONG,
    CheckedNetwork,
    PostResult,
    SafeHttpClient,
    checked_connections,
)
from tests.platform.net.conftest import HOST
from tests.support.certificates import Certificate
from tests.support.receiver import (
    Flood,
    Manner,
    Receiver,
    answer,
    break_off,
    break_off_body,
    drip_body,
    drip_head,
    hang_up,
    no_http,
    receiver,
    silence,
)

PUBLIC, OTHER_PUBLIC = "93.184.216.34", "2606:4700::1111"
BODY, HEADERS = b'{"a":1}', {"X-Test": "1"}
SHORT = 0.3
"""A limit for receivers that never end."""


class Names:
    """A resolver that answers by a script, the last entry again and again. `asked` are the names."""

    def __init__(self, *answers: Iterable[str]) -> None:
        self._answers = [list(each) for each in answers]
        self.asked: list[tuple[str, int]] = []

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


class Network(httpcore2.AsyncMockBackend):
    """A network on which everybody takes everything. `connected` are the addresses that were connected to."""

    def __init__(self) -> None:
        super().__init__([b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"])
        self.connected: list[tuple[str, int]] = []

    async def connect_tcp(self, host: str, port: int, *more: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        self.connected.append((host, port))
        return await super().connect_tcp(host, port, *more, **options)


@asynccontextmanager
async def poster_over(
    names: Resolver,
    *,
    network: Network | None = None,
    trusted: ssl.SSLContext | None = None,
    allow_private: bool = False,
    seconds: float = 5.0,
) -> AsyncIterator[SafeHttpClient]:
    checked = CheckedNetwork(names, allow_private=allow_private, inner=network)
    async with checked_connections(checked, most=10, trusted=trusted) as connections:
        yield SafeHttpClient(connections, allow_private=allow_private, seconds=seconds)


async def posted(box: Receiver, manner: Manner | None = None, *, seconds: float = 5.0) -> PostResult:
    """How one attempt at a receiver on this machine ends."""
    box.manner = manner or box.manner
    async with poster_over(Names(), allow_private=True, seconds=seconds) as http_client:
        return await http_client.post(box.url, BODY, HEADERS)


async def test_what_is_posted_arrives_to_the_byte() -> None:
    async with receiver() as box:
        assert await posted(box) == PostResult(200, "")
    (request,) = box.requests
    assert (request.method, request.path, request.body) == ("POST", "/hook", BODY)
    assert request.headers == {
        "x-test": "1",
        "host": f"127.0.0.1:{box.port}",
        "content-length": "7",
    }


async def test_path_and_query_arrive_as_they_were_saved() -> None:
    async with receiver() as box, poster_over(Names(), allow_private=True) as http_client:
        await http_client.post(f"http://127.0.0.1:{box.port}/a%2Fb/ä?c=%20d&e=http://x/#part", BODY, HEADERS)
    assert box.requests[0].path == "/a%2Fb/%C3%A4?c=%20d&e=http://x/"


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_any_2xx_is_accepted(status: int) -> None:
    async with receiver() as box:
        answered = await posted(box, answer(status))
    assert answered == PostResult(status, "")
    assert answered.is_accepted


@pytest.mark.parametrize("status", [300, 301, 302, 304, 307, 308, 400, 401, 404, 410, 429, 500, 503])
async def test_any_other_status_is_a_failure_and_no_redirect_is_followed(status: int) -> None:
    async with receiver() as box, receiver() as elsewhere:
        answered = await posted(box, answer(status, headers={"Location": elsewhere.url}))
    assert answered == PostResult(status, f"the receiver answered {status}")
    assert not answered.is_accepted
    assert len(box.requests) == 1
    assert elsewhere.connections == 0


@pytest.mark.parametrize("manner", [silence, drip_head])
async def test_an_attempt_ends_at_its_limit_whatever_comes_in_between(manner: Manner) -> None:
    async with receiver() as box:
        async with asyncio.timeout(5):
            assert await posted(box, manner, seconds=SHORT) == PostResult(None, "no answer within 0.3 s")


async def test_a_name_that_never_resolves_ends_at_the_limit() -> None:
    class Silent:
        async def addresses(self, host: str, port: int) -> Sequence[str]:
            await asyncio.Event().wait()
            raise AssertionError

    async with poster_over(Silent(), seconds=SHORT) as http_client:
        async with asyncio.timeout(5):
            assert (await http_client.post(f"https://{HOST}/", BODY, {})).status is None


async def test_a_body_that_drips_or_breaks_off_changes_nothing_about_the_status() -> None:
    async with receiver() as box:
        async with asyncio.timeout(5):
            assert await posted(box, drip_body, seconds=SHORT) == PostResult(200, "")
        assert await posted(box, break_off_body) == PostResult(200, "")


@pytest.mark.parametrize("manner", [hang_up, break_off, no_http])
async def test_what_is_no_answer_is_told_as_a_failed_connection(manner: Manner) -> None:
    async with receiver() as box:
        answered = await posted(box, manner)
    assert answered.status is None
    assert answered.error.startswith("the connection failed")


async def test_nobody_at_the_other_end_is_told_as_a_failed_connection() -> None:
    async with receiver() as box:
        pass
    assert await posted(box) == PostResult(None, "the connection failed: ConnectError")


async def test_an_endless_answer_is_hardly_read() -> None:
    flood = Flood()
    async with receiver() as box:
        async with asyncio.timeout(5):
            assert await posted(box, flood) == PostResult(200, "")
    assert flood.sent < 16 * 1024 * 1024, "what the sockets' buffers hold"


INTERIM, HEADER = b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\n"


@dataclass
class Stream:
    """Sends a beginning, then a part again and again, as fast as it is taken. `sent` counts the parts."""

    part: bytes
    beginning: bytes = b""
    copies: int = 100
    sent: int = 0

    async def __call__(self, writer: asyncio.StreamWriter) -> None:
        writer.write(self.beginning)
        while True:
            writer.write(self.part * self.copies)
            await writer.drain()
            self.sent += self.copies
            await asyncio.sleep(0)


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize(
    "stream",
    [
        Stream(INTERIM),
        Stream(b"HTTP/1.1 103 \r\nLink: a\r\n\r\n"),
        Stream(INTERIM, copies=1),
        Stream(b"X-A: b\r\n", HEADER),
        Stream(b"x" * 1_000, HEADER + b"X-A: "),
        Stream(b"\r\n" * 100),
    ],
    ids=["interim", "early hints", "one by one", "headers", "one header", "nothing"],
)
async def test_a_receiver_that_sends_anything_but_an_answer_is_left_at_once(
    stream: Stream, tls: bool, certificate: Certificate
) -> None:
    async with receiver(tls=certificate.shown() if tls else None) as box:
        box.manner = stream
        async with poster_over(Names(["127.0.0.1"]), trusted=certificate.trusted(), allow_private=True) as http_client:
            url = f"{'https' if tls else 'http'}://{HOST}:{box.port}/"
            async with asyncio.timeout(2):
                answered = await http_client.post(url, BODY, {})
    assert (answered.status, answered.error.startswith(("the receiver sent more", "the connection failed"))) == (
        None,
        True,
    )


async def test_interim_answers_that_come_in_parts_are_counted() -> None:
    async def manner(writer: asyncio.StreamWriter) -> None:
        for _ in range(20):
            for part in (INTERIM[:9], INTERIM[9:-1], INTERIM[-1:]):
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0.001)
        await answer(204)(writer)

    async with receiver() as box:
        assert await posted(box, manner) == PostResult(None, TOO_LONG)


async def test_a_few_interim_answers_come_before_the_answer() -> None:
    async def manner(writer: asyncio.StreamWriter) -> None:
        writer.write(INTERIM * 2)
        await answer(204)(writer)

    async with receiver() as box, poster_over(Names(), allow_private=True) as http_client:
        box.manner = manner
        for _ in range(10):
            assert await http_client.post(box.url, BODY, HEADERS) == PostResult(204, "")
    assert box.connections == 1


async def test_a_long_answer_with_a_long_head_is_taken() -> None:
    headers = {f"X-{number}": "x" * 500 for number in range(20)}
    async with receiver() as box:
        assert await posted(box, answer(200, b"y" * 500_000, headers)) == PostResult(200, "")


async def test_tickets_of_tls_without_an_end_are_not_taken(certificate: Certificate) -> None:
    """Messages of TLS itself, which never reach HTTP."""
    names = Names(["127.0.0.1"])

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read(1_000)
            while True:
                writer.write(b"\x16\x03\x03\x00\x01\x00" * 1_000)  # parts of a handshake of one byte each
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(flood, "127.0.0.1", 0)
    async with server, poster_over(names, trusted=certificate.trusted(), allow_private=True) as http_client:
        port = server.sockets[0].getsockname()[1]
        async with asyncio.timeout(2):
            assert (await http_client.post(f"https://{HOST}:{port}/", BODY, {})).status is None


async def test_of_a_name_with_very_many_addresses_only_some_are_tried() -> None:
    async with receiver() as box:
        pass
    names = Names([f"127.0.1.{number}" for number in range(1, 201)])
    asked: list[str] = []

    class Refusing(Network):
        async def connect_tcp(self, host: str, port: int, *more: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
            asked.append(host)
            raise httpcore2.ConnectError

    async with poster_over(names, network=Refusing(), allow_private=True) as http_client:
        assert (await http_client.post(f"http://{HOST}:{box.port}/", BODY, {})).status is None
    assert len(asked) == MAX_ADDRESSES


async def test_a_compressed_answer_is_not_unpacked() -> None:
    bomb = gzip.compress(b"0" * 5_000_000)
    assert len(bomb) > READ_BYTES
    async with receiver() as box:
        for body in (bomb, b"this is no gzip"):
            assert await posted(box, answer(body=body, headers={"Content-Encoding": "gzip"})) == PostResult(200, "")
    assert "accept-encoding" not in box.requests[0].headers


@pytest.mark.parametrize(
    "private", ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "fe80::1%eth0", "64:ff9b::7f00:1"]
)
@pytest.mark.parametrize("is_last", [False, True])
async def test_a_name_that_leads_to_a_private_address_among_others_is_not_asked(private: str, is_last: bool) -> None:
    network = Network()
    names = Names([PUBLIC, OTHER_PUBLIC, private] if is_last else [private, PUBLIC])
    async with poster_over(names, network=network) as http_client:
        answered = await http_client.post(f"https://{HOST}/", BODY, {})
    assert answered == PostResult(None, "the host's name leads into a private network")
    assert network.connected == []


async def test_a_name_that_leads_elsewhere_the_second_time_is_checked_again() -> None:
    network, names = Network(), Names([PUBLIC], ["127.0.0.1"])
    async with poster_over(names, network=network) as http_client:
        assert (await http_client.post(f"https://{HOST}/", BODY, {})).is_accepted
        assert not (await http_client.post(f"https://{HOST}/", BODY, {})).is_accepted
    assert network.connected == [(PUBLIC, 443)]
    assert names.asked == [(HOST, 443)] * 2


async def test_an_address_is_resolved_once_and_the_connection_goes_to_what_was_checked() -> None:
    network, names = Network(), Names([PUBLIC], ["127.0.0.1"])
    async with poster_over(names, network=network) as http_client:
        assert (await http_client.post(f"https://{HOST}:8443/a?b=c", BODY, {})).is_accepted
    assert network.connected == [(PUBLIC, 8443)]


async def test_an_ipv6_address_is_connected_to() -> None:
    network = Network()
    async with poster_over(Names([OTHER_PUBLIC]), network=network) as http_client:
        assert (await http_client.post(f"https://{HOST}/", BODY, {})).is_accepted
        assert (await http_client.post(f"https://[{OTHER_PUBLIC}]:8443/", BODY, {})).is_accepted
    assert network.connected == [(OTHER_PUBLIC, 443), (OTHER_PUBLIC, 8443)]


@pytest.mark.parametrize("url", ["http://example.org/", "https://localhost/", "https://10.0.0.1/", "nonsense", ""])
async def test_an_address_that_was_saved_under_other_rules_is_not_asked(url: str) -> None:
    network, names = Network(), Names([PUBLIC])
    async with poster_over(names, network=network) as http_client:
        assert (await http_client.post(url, BODY, {})).status is None
    assert (network.connected, names.asked) == ([], [])


async def test_a_name_without_addresses_is_told() -> None:
    async with poster_over(Names([]), network=Network()) as http_client:
        assert (await http_client.post(f"https://{HOST}/", BODY, {})).error.startswith("the host cannot be found")


async def test_the_next_address_is_asked_where_one_cannot_be_connected_to() -> None:
    async with receiver() as box, poster_over(Names(["::1", "127.0.0.1"]), allow_private=True) as http_client:
        assert (await http_client.post(f"http://{HOST}:{box.port}/", BODY, {})).is_accepted
    assert len(box.requests) == 1


async def test_the_receiver_is_asked_in_the_name_of_its_host_and_proves_that_name(certificate: Certificate) -> None:
    async with receiver(tls=certificate.shown()) as box:
        names = Names(["127.0.0.1"])
        async with poster_over(names, trusted=certificate.trusted(), allow_private=True) as http_client:
            assert await http_client.post(f"https://{HOST}:{box.port}/", BODY, {}) == PostResult(200, "")
            assert await http_client.post(f"https://{HOST}.:{box.port}/", BODY, {}) == PostResult(200, "")
    assert box.requests[0].headers["host"] == f"{HOST}:{box.port}"


async def test_a_certificate_of_another_name_or_of_nobody_is_not_taken(certificate: Certificate) -> None:
    async with receiver(tls=certificate.shown()) as box:
        async with poster_over(Names(["127.0.0.1"]), trusted=certificate.trusted(), allow_private=True) as http_client:
            assert not (await http_client.post(f"https://other.example.org:{box.port}/", BODY, {})).is_accepted
            assert not (await http_client.post(f"https://127.0.0.1:{box.port}/", BODY, {})).is_accepted
        async with poster_over(Names(["127.0.0.1"]), allow_private=True) as http_client:
            assert not (await http_client.post(f"https://{HOST}:{box.port}/", BODY, {})).is_accepted
    assert box.requests == []


async def test_a_connection_to_one_host_is_not_used_for_another_at_the_same_address(certificate: Certificate) -> None:
    names, trusted = Names(["127.0.0.1"]), certificate.trusted()
    async with (
        receiver(tls=certificate.shown()) as box,
        poster_over(names, trusted=trusted, allow_private=True) as http_client,
    ):
        assert (await http_client.post(f"https://{HOST}:{box.port}/", BODY, {})).is_accepted
        assert not (await http_client.post(f"https://other.example.org:{box.port}/", BODY, {})).is_accepted
    assert len(box.requests) == 1


async def test_what_goes_to_one_host_shares_a_connection(certificate: Certificate) -> None:
    names, trusted = Names(["127.0.0.1"]), certificate.trusted()
    async with (
        receiver(tls=certificate.shown()) as box,
        poster_over(names, trusted=trusted, allow_private=True) as http_client,
    ):
        box.manner = answer(body=b"thanks")
        for _ in range(3):
            assert (await http_client.post(f"https://{HOST}:{box.port}/", BODY, {})).is_accepted
    assert (len(box.requests), box.connections) == (3, 1)


async def test_no_cookie_comes_back() -> None:
    async with receiver() as box, poster_over(Names(), allow_private=True) as http_client:
        box.manner = answer(headers={"Set-Cookie": "a=b; Path=/"})
        for _ in range(2):
            await http_client.post(box.url, BODY, {})
    assert ["cookie" in request.headers for request in box.requests] == [False, False]
