"""The part `accounts`: the account that is measured, logins beside argon2, reads beside logins."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from bench.accounts import compared_passwords
from bench.connection import Connection, PostResult, Refused, Request
from bench.customer import customer
from bench.exchange import line
from bench.figures import Section
from bench.inputs import Inputs
from bench.processes import ProcessFailed, free_port
from bench.service import device_requests, serving
from bench.waiting import BURST, read_steadily, waiting

from tests.support.closing_server import Noted, end

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
WRONG = Request("/v1/login", body=b'{"email":"nobody@example.org","password":"not theirs"}')


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """A copy of their own: the run of the bench fills the shared one anew, whenever that is."""
    return Inputs(tmp_path_factory.mktemp("accounts"), 100, seed=2)


@pytest.fixture(scope="module")
def port(inputs: Inputs) -> Iterator[int]:
    """Where a measured service answers."""
    with serving(inputs) as port:
        yield port


@pytest.fixture
def connection(port: int) -> Iterator[Connection]:
    """A connection to it."""
    connection = Connection(port)
    yield connection
    connection.close()


def account(connection: Connection, headers: dict[str, str]) -> PostResult:
    return connection.ask(Request("/v1/me", headers))


def test_the_part_tells_accounts_logins_and_waits_beside_what_they_are_compared_with(
    sections: dict[str, Section],
) -> None:
    rows = sections["accounts"].rows
    beside = [figure for row in rows if (figure := row.peers["beside it"]) is not None]
    assert [row.ours.unit for row in rows] == ["requests/s", "requests/s", "logins/s", "ms", "ms"]
    assert all(row.ours.value > 0 for row in rows)
    assert all(figure.value > 0 for figure in beside)
    assert len(beside) == len(rows)
    for row, figure in zip(rows[3:], beside[3:], strict=True):
        assert float(row.ours.details["logins_per_second"]) > 0
        assert figure.details["logins_per_second"] == 0


def test_the_measured_account_has_five_users_and_five_keys_and_both_ways_in_work(
    port: int, connection: Connection
) -> None:
    with customer(port) as company:
        by_key, by_session = account(connection, company.by_key), account(connection, company.by_session)
        logins = [connection.ask(login).status for login in company.logins]
    shown = msgspec.json.decode(by_key.body)
    assert (len(shown["users"]), len(shown["keys"])) == (5, 5)
    assert by_session.status == 200
    assert logins == [200] * 5


def test_the_measured_account_is_deleted_when_its_block_is_interrupted(port: int, connection: Connection) -> None:
    keys = []

    def interrupted() -> None:
        with customer(port) as company:
            keys.append(company.by_key)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert account(connection, keys[0]).status == 401


def test_reads_beside_logins_are_as_many_as_without_and_tell_how_many_signed_in(port: int, inputs: Inputs) -> None:
    reads = device_requests(inputs.sample().udis[:3])
    with customer(port) as company:
        during, quiet = (waiting(port, reads, logins, seconds=0.1) for logins in (company.logins, []))
    assert during.details["samples"] == quiet.details["samples"] == 20
    assert float(during.details["logins_per_second"]) > 0
    assert quiet.details["logins_per_second"] == 0


def test_a_login_that_fails_in_a_burst_is_told_instead_of_counted(port: int, inputs: Inputs) -> None:
    reads = device_requests(inputs.sample().udis[:3])
    with pytest.raises(ProcessFailed, match=f"{BURST} of {BURST} requests were answered with 401"):
        waiting(port, reads, [WRONG], seconds=0.1)


class Answering(Noted, asyncio.Protocol):
    """One connection of a server."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert isinstance(transport, asyncio.WriteTransport)
        self.transport = transport


class Hesitating(Answering):
    """Takes its time for the first answer."""

    hesitation = 0.1

    def data_received(self, _data: bytes) -> None:
        asyncio.get_running_loop().call_later(self.hesitation, self.transport.write, ANSWER)
        self.hesitation = 0.0


@asynccontextmanager
async def listening(answering: type[Answering]) -> AsyncIterator[int]:
    """A server in this loop; gives its port."""
    connections: list[asyncio.BaseTransport] = []
    server = await asyncio.get_running_loop().create_server(lambda: answering(connections), "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        await end(server, connections)


@pytest.mark.anyio
async def test_a_read_that_was_due_while_another_waited_has_waited_too() -> None:
    async with listening(Hesitating) as port:
        times = await read_steadily(port, [b"GET / HTTP/1.1\r\n\r\n"], 3)
    assert [seconds > Hesitating.hesitation / 2 for seconds in times] == [True, True, True]


class HangingUp(Answering):
    """Answers nobody."""

    def data_received(self, _data: bytes) -> None:
        self.transport.close()


@pytest.mark.anyio
async def test_a_server_that_hangs_up_does_not_keep_the_load_waiting() -> None:
    async with listening(HangingUp) as port, line(port) as asking, asyncio.timeout(10):
        with pytest.raises(Refused, match="The server hung up"):
            await asking.ask(b"GET / HTTP/1.1\r\n\r\n")


def test_a_server_that_is_not_there_is_told_in_words() -> None:
    with pytest.raises(ProcessFailed, match="not answered"):
        waiting(free_port(), device_requests(["04012345678901"]), [], seconds=0.1)


def test_passwords_are_compared_at_least_once_however_short_the_time() -> None:
    figure = compared_passwords(seconds=0)
    assert figure.unit == "verifications/s"
    assert figure.value > 0
