"""Quick reads of PostgreSQL, whose connections can die between two of them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from registerwatch.errors import DatabaseUnavailable
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.postgresql import CONNECT_SECONDS, PostgresReads

Opener = Callable[[str, int], PostgresReads]


@pytest.fixture
def database_kind() -> str:
    """PostgreSQL alone."""
    return "postgresql"


@pytest.fixture
async def opened() -> AsyncIterator[Opener]:
    """Makes quick reads, which are closed in the end: address, most connections."""
    made: list[PostgresReads] = []

    def make(address: str, max_connections: int) -> PostgresReads:
        made.append(PostgresReads(address, max_connections=max_connections))
        return made[-1]

    yield make
    for reads in made:
        await reads.close()


async def test_a_read_goes_on_after_the_server_has_ended_the_connections(opened: Opener, database_url: str) -> None:
    reads = opened(database_url, 1)
    for _ in range(3):
        assert await reads.one("SELECT revision FROM copy_state WHERE id = $1", 1) == (0,)
        await _end_connections(database_url)


async def test_a_read_goes_on_when_the_server_has_ended_all_connections_at_once(
    opened: Opener, database_url: str
) -> None:
    reads = opened(database_url, 5)
    await asyncio.wait_for(_use_at_once(reads, database_url, 5), CONNECT_SECONDS + 5)

    assert await _end_connections(database_url) == 5
    assert await reads.one("SELECT revision FROM copy_state") == (0,)


async def test_a_server_that_is_gone_is_told_soon_and_met_again_when_it_is_back(
    opened: Opener, database_url: str, tmp_path: Path
) -> None:
    """Its socket goes away and comes back."""
    folder = Path(str(conninfo_to_dict(database_url)["host"]))
    (socket,) = folder.glob(".s.PGSQL.*[0-9]")
    link = tmp_path / socket.name
    link.symlink_to(socket)
    reads = opened(make_conninfo(database_url, host=str(tmp_path)), 2)
    assert await reads.one("SELECT 1") == (1,)

    link.unlink()
    await _end_connections(database_url)
    for _ in range(2):
        with pytest.raises(DatabaseUnavailable):
            await asyncio.wait_for(reads.one("SELECT 1"), CONNECT_SECONDS - 1)
        with pytest.raises(DatabaseUnavailable):
            await asyncio.wait_for(asyncio.gather(*(reads.one("SELECT 1") for _ in range(20))), CONNECT_SECONDS - 1)
    link.symlink_to(socket)

    assert await reads.one("SELECT 1") == (1,)


async def test_a_connection_notices_a_silent_server_as_soon_as_its_address_says(database_url: str) -> None:
    for option, expected in (("", "5000"), ("&tcp_user_timeout=900", "900")):
        database = Database(database_url + option)
        async with database.reading() as connection:
            raw = (await connection.get_raw_connection()).driver_connection
            assert isinstance(raw, psycopg.AsyncConnection)
            assert raw.info.get_parameters()["tcp_user_timeout"] == expected
            assert raw.info.get_parameters()["keepalives_idle"] == "5"
        await database.close()


async def test_what_is_wrong_with_a_statement_is_no_problem_of_the_server(opened: Opener, database_url: str) -> None:
    reads = opened(database_url, 1)
    for _ in range(3):
        with pytest.raises(ProgrammingError):
            await reads.one("SELECT anything FROM missing")
        assert await reads.one("SELECT 1") == (1,)


async def test_where_the_server_takes_no_more_connections_those_that_are_open_serve(
    opened: Opener, database_url: str
) -> None:
    role = f"limited_{uuid4().hex[:8]}"
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 1".encode())
        reads = opened(make_conninfo(database_url, user=role), 4)
        assert await reads.one("SELECT 1") == (1,)
        for _ in range(5):
            answers = await asyncio.gather(*(reads.one("SELECT $1::int", number) for number in range(20)))
            assert answers == [(number,) for number in range(20)]
        await reads.close()
        await owner.execute(f"DROP ROLE {role}".encode())


async def test_the_server_ends_a_statement_that_waits_too_long(opened: Opener, database_url: str) -> None:
    reads = opened(make_conninfo(database_url, options="-c statement_timeout=50ms"), 1)

    with pytest.raises(DatabaseUnavailable, match="statement timeout"):
        await reads.one("SELECT pg_sleep(60)")

    assert await opened(database_url, 1).one("SHOW statement_timeout") == ("15s",)


async def test_nothing_is_read_after_closing(opened: Opener, database_url: str) -> None:
    reads = opened(database_url, 1)
    assert await reads.one("SELECT 1") == (1,)
    await reads.close()
    await reads.close()

    with pytest.raises(DatabaseUnavailable):
        await reads.one("SELECT 1")


async def test_the_first_reads_may_come_together(opened: Opener, database_url: str) -> None:
    reads = opened(database_url, 2)
    answers = await asyncio.gather(*(reads.all("SELECT $1::int", number) for number in range(20)))

    assert answers == [[(number,)] for number in range(20)]


async def _end_connections(database_url: str) -> int:
    """How many it ended."""
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'registerwatch reads'"
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        ended = await (await connection.execute(others + " AND datname = current_database()")).fetchall()
    assert ended
    return len(ended)


async def _use_at_once(reads: PostgresReads, database_url: str, count: int) -> None:
    """Have so many statements wait for a lock, each over a connection of its own."""
    waiting: list[asyncio.Task[object]] = []
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        await connection.execute("SELECT pg_advisory_lock(1)")
        locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        for number in range(1, count + 1):
            waiting.append(asyncio.create_task(reads.one("SELECT pg_advisory_xact_lock_shared(1)::text")))
            while (await (await connection.execute(locks)).fetchone()) != (number,):
                await asyncio.sleep(0)
    assert await asyncio.gather(*waiting) == [("",)] * count
