"""Reading a database past its transactions: what a reader sees, and what one reader leaves to the next."""

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from psycopg import ProgrammingError
from sqlalchemy import bindparam, column, select, table, text
from sqlalchemy.exc import DBAPIError

from registerwatch.copy.tables import copy_state
from registerwatch.errors import DatabaseUnavailable, Overloaded
from registerwatch.platform.db import engine
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.statements import PreparedSelect

WAIT_SECONDS = 10.0
REVISION = PreparedSelect(
    select(copy_state.c.revision, copy_state.c.copy_id).where(copy_state.c.id == bindparam("row_id"))
)
MISSING = PreparedSelect(select(column("anything")).select_from(table("missing")))


@pytest.fixture
async def other(database_url: str) -> AsyncIterator[Database]:
    """The same database as another process has it."""
    opened = Database(database_url)
    yield opened
    await opened.close()


async def test_a_quick_statement_has_named_values_and_texts_as_they_were_stored(database: Database) -> None:
    async with database.transaction() as connection:
        await connection.execute(text("UPDATE copy_state SET copy_id = :value"), {"value": "Ünïcode 🦷 %(x)s :y ?"})

    assert [tuple(row) for row in await database.rows(REVISION, row_id=1)] == [(0, "Ünïcode 🦷 %(x)s :y ?")]
    assert list(await database.rows(REVISION, row_id=2)) == []


async def test_a_quick_statement_sees_what_another_connection_has_just_committed_and_nothing_before(
    database: Database, other: Database
) -> None:
    for number in range(1, 6):
        async with other.transaction() as connection:
            await connection.execute(text("UPDATE copy_state SET revision = :number"), {"number": number})
            assert await _revision(database) == number - 1
        assert await _revision(database) == number


async def test_a_quick_statement_that_fails_spoils_no_other(database: Database) -> None:
    for _ in range(8):
        with pytest.raises((DatabaseUnavailable, ProgrammingError), match="missing"):
            await database.rows(MISSING)
        assert await _revision(database) == 0


async def test_quick_statements_go_on_while_every_pooled_connection_is_in_use(database: Database) -> None:
    holding = [asyncio.create_task(_hold(database, asyncio.Event())) for _ in range(20)]
    await asyncio.sleep(0)

    many = await asyncio.wait_for(asyncio.gather(*(_revision(database) for _ in range(30))), WAIT_SECONDS)

    assert many == [0] * 30
    for task in holding:
        task.cancel()
    await asyncio.gather(*holding, return_exceptions=True)


async def test_who_waits_in_vain_for_a_connection_that_is_free_is_told_so(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "FREE_SECONDS", 0.05)
    database = Database(database_url)
    async with AsyncExitStack() as in_use:
        with pytest.raises(DatabaseUnavailable, match="in use"):
            while True:
                await in_use.enter_async_context(database.reading())
    assert await _read_revision(database) == 0
    await database.close()


ENDLESS = text(
    "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) SELECT count(*) FROM numbers"
)


async def test_a_reader_that_takes_too_long_is_ended_and_told_so_and_its_connection_goes_on(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "READ_SECONDS", 1)
    database = Database(database_url)
    async with database.reading() as connection:
        with pytest.raises(Overloaded, match="took too long"):
            async with database.reading() as other:
                await asyncio.wait_for(other.execute(ENDLESS), WAIT_SECONDS)
        assert (await connection.execute(select(copy_state.c.revision))).scalar_one() == 0
    assert [await _read_revision(database) for _ in range(6)] == [0] * 6
    assert await database.problem() is None
    await database.close()


async def test_only_readers_have_a_time_limit(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "READ_SECONDS", 0.001)
    database = Database(database_url)
    async with database.transaction() as connection:
        numbers = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 300000)"
        found = await connection.execute(text(f"{numbers} SELECT count(*) FROM numbers"))
        assert found.scalar_one() == 300_000
    await database.close()


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_writers_of_sqlite_take_turns_in_the_order_in_which_they_came(database: Database) -> None:
    wrote: list[int] = []

    async def write(number: int) -> None:
        async with database.transaction() as connection:
            await connection.execute(text("UPDATE copy_state SET devices = devices + 1"))
            wrote.append(number)

    await asyncio.gather(*map(write, range(50)))

    assert wrote == list(range(50))


async def test_closing_waits_for_connections_in_use_and_closes_them_too(database_url: str) -> None:
    database, read, let = Database(database_url), asyncio.Event(), asyncio.Event()

    async def reads() -> None:
        async with database.reading() as connection:
            await connection.execute(select(copy_state.c.revision))
            read.set()
            await let.wait()

    reading = asyncio.create_task(reads())
    await read.wait()
    closing = asyncio.create_task(database.close())
    closed, _ = await asyncio.wait([closing], timeout=0.03)
    assert not closed
    let.set()
    await closing
    await reading

    with warnings.catch_warnings(action="error"):
        gc.collect()


async def test_closing_waits_for_no_connection_that_is_never_given_back(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "CLOSE_SECONDS", 0.05)
    database = Database(database_url)

    async with database.reading() as connection:
        await database.close()
        await connection.invalidate()


async def test_a_database_can_be_closed_twice_and_before_its_first_use(database_url: str) -> None:
    unused, used = Database(database_url), Database(database_url)
    assert await _revision(used) == 0
    for each in (unused, used, used):
        await each.close()


async def test_a_quick_statement_finds_no_database_where_there_is_none_and_makes_none(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'missing.db'}")
    with pytest.raises(DatabaseUnavailable):
        await _revision(database)
    await database.close()
    assert list(tmp_path.iterdir()) == []


async def test_each_statement_of_a_reader_sees_what_is_committed_by_then(database: Database) -> None:
    async with database.reading() as reader:
        for number in range(1, 4):
            await _set_revision(database, number)
            assert (await reader.execute(text("SELECT revision FROM copy_state"))).scalar_one() == number


async def test_a_reader_holds_up_no_writer(database: Database) -> None:
    async with database.reading() as reader:
        await reader.execute(text("SELECT revision FROM copy_state"))
        await asyncio.wait_for(_set_revision(database, 1), WAIT_SECONDS)


async def test_a_reader_within_a_transaction_sees_what_was_before_it(database: Database) -> None:
    async with database.transaction() as writer:
        await writer.execute(text("UPDATE copy_state SET revision = 7"))
        assert await asyncio.wait_for(_read_revision(database), WAIT_SECONDS) == 0
        assert (await writer.execute(text("SELECT revision FROM copy_state"))).scalar_one() == 7
    assert await _read_revision(database) == 7


async def test_a_statement_that_fails_spoils_neither_its_reader_nor_the_next(database: Database) -> None:
    with pytest.raises(RuntimeError, match="in the middle"):
        async with database.reading() as reader:
            with pytest.raises(DBAPIError):
                await reader.execute(text("SELECT anything FROM copy_state"))
            assert (await reader.execute(text("SELECT revision FROM copy_state"))).scalar_one() == 0
            raise RuntimeError("in the middle")
    assert await _read_revision(database) == 0


async def test_a_transaction_that_a_reader_began_by_itself_ends_with_it(database: Database) -> None:
    """The same connection serves the next reader, who must see the present and hold no lock."""
    with pytest.raises(RuntimeError, match="in the middle"):
        async with database.reading() as reader:
            await reader.execute(text("BEGIN"))
            await reader.execute(text("UPDATE copy_state SET revision = 9"))
            raise RuntimeError("in the middle")

    assert await _read_revision(database) == 0
    await asyncio.wait_for(_set_revision(database, 1), WAIT_SECONDS)
    assert await _read_revision(database) == 1


async def test_a_reader_that_is_cancelled_leaves_nothing_to_the_next(database: Database) -> None:
    for _ in range(20):
        inside = asyncio.Event()
        task = asyncio.create_task(_hold(database, inside))
        await asyncio.wait_for(inside.wait(), WAIT_SECONDS)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    await _set_revision(database, 1)
    assert await asyncio.wait_for(_read_revision(database), WAIT_SECONDS) == 1


async def test_of_transactions_at_once_none_is_lost(database: Database) -> None:
    """On SQLite they take the write lock at their start, on PostgreSQL that of the row."""

    async def count() -> None:
        async with database.transaction() as connection:
            number = (await connection.execute(select(copy_state.c.revision).with_for_update())).scalar_one()
            await connection.execute(text("UPDATE copy_state SET revision = :number"), {"number": number + 1})

    await asyncio.wait_for(asyncio.gather(*(count() for _ in range(25))), 3 * WAIT_SECONDS)

    assert await _read_revision(database) == 25


async def _hold(database: Database, inside: asyncio.Event) -> None:
    """Keep a reader's connection until somebody ends this."""
    async with database.reading() as reader:
        await reader.execute(text("SELECT revision FROM copy_state"))
        inside.set()
        await asyncio.Event().wait()


async def _revision(database: Database) -> int:
    """By a quick statement."""
    return int((await database.rows(REVISION, row_id=1))[0][0])


async def _read_revision(database: Database) -> int:
    """By a reader."""
    async with database.reading() as reader:
        return int((await reader.execute(text("SELECT revision FROM copy_state"))).scalar_one())


async def _set_revision(database: Database, number: int) -> None:
    async with database.transaction() as connection:
        await connection.execute(text("UPDATE copy_state SET revision = :number"), {"number": number})


SLOW = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000) SELECT max(i) FROM n"


async def test_a_transaction_that_is_cancelled_in_a_statement_keeps_no_lock(database: Database) -> None:
    running = asyncio.Event()

    async def write() -> None:
        async with database.transaction() as connection:
            await connection.execute(text("UPDATE copy_state SET revision = 7"))
            running.set()
            await connection.execute(text(SLOW))

    kept = []  # whoever logs an error keeps what it refers to for a while
    for _ in range(3):
        running.clear()
        task = asyncio.create_task(write())
        await running.wait()
        for _ in range(500):  # until the slow statement is under way
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
        kept.append(cancelled)
        async with asyncio.timeout(20), database.transaction() as connection:
            stored = await connection.execute(text("SELECT revision FROM copy_state"))
            assert stored.scalar_one() == 0, "what was cancelled is rolled back"
