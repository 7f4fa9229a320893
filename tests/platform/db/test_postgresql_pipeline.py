"""Many statements on their way over one connection to PostgreSQL."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import OperationalError
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import DataError, DivisionByZero, UndefinedColumn, UndefinedTable
from psycopg.errors import SyntaxError as WrongSyntax

from registerwatch.platform.db import postgresql_pipeline
from registerwatch.platform.db.postgresql_pipeline import PipelinedConnection


@pytest.fixture
def database_kind() -> str:
    """PostgreSQL alone."""
    return "postgresql"


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator[PipelinedConnection]:
    connection = await opened(database_url)
    yield connection
    connection.close()


async def opened(database_url: str) -> PipelinedConnection:
    return PipelinedConnection(await psycopg.AsyncConnection.connect(database_url, autocommit=True))


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=50)


PROPERTY = settings(
    max_examples=min(60, settings().max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@PROPERTY
@given(TEXTS, st.integers(-(2**63), 2**63 - 1), st.booleans(), st.lists(st.integers(0, 2**40), max_size=5))
async def test_values_come_back_as_they_went(
    connection: PipelinedConnection, text: str, number: int, truth: bool, numbers: list[int]
) -> None:
    typed = "SELECT $1::text, $2::bigint, $3::boolean, $4::bigint[], NULL"

    assert await connection.rows(typed, (text, number, truth, numbers)) == [(text, number, truth, numbers, None)]


async def test_everybody_gets_the_answer_to_their_own_question(connection: PipelinedConnection) -> None:
    async def ask(number: int) -> object:
        if number % 7 == 0:
            with pytest.raises(DivisionByZero):
                await connection.rows("SELECT 1 / ($1::int - $1::int)", (number,))
            return [(number,)]
        if number % 5 == 0:
            with pytest.raises(UndefinedTable):
                await connection.rows(f"SELECT * FROM missing_{number}")
            return [(number,)]
        return await connection.rows("SELECT $1::int WHERE $1::int >= 0", (number,))

    assert await asyncio.gather(*map(ask, range(200))) == [[(number,)] for number in range(200)]
    assert (connection.waiting, connection.is_broken) == (0, False)


async def test_answers_larger_than_a_socket_takes_at_once_arrive_whole(connection: PipelinedConnection) -> None:
    large = "x" * 3_000_000
    answers = await asyncio.gather(
        *(connection.rows("SELECT $1::text || generate_series(1, 2)::text", (large,)) for _ in range(3))
    )

    assert answers == [[(large + "1",), (large + "2",)]] * 3


async def test_a_statement_that_is_wrong_harms_no_other(connection: PipelinedConnection) -> None:
    async def wrong() -> None:
        with pytest.raises(psycopg.Error):
            await connection.rows("SELECT * FROM missing")

    right = [connection.rows("SELECT $1::int", (number,)) for number in range(20)]
    *_, answers = await asyncio.gather(*(wrong() for _ in range(5)), asyncio.gather(*right))

    assert answers == [[(number,)] for number in range(20)]
    assert not connection.is_broken
    await connection.rows("CREATE TEMPORARY TABLE missing AS SELECT 1 AS one")
    assert await connection.rows("SELECT * FROM missing") == [(1,)]


ASKED = st.lists(
    st.tuples(st.sampled_from(["right", "new", "fails", "wrong", "cancelled"]), st.integers(0, 3)), max_size=30
)
"""What is asked for, and how many turns of the loop later; what is cancelled is so after as many."""


@PROPERTY
@given(ASKED)
async def test_whatever_is_sent_together_everybody_gets_their_own_answer_or_error(
    connection: PipelinedConnection, asked: list[tuple[str, int]]
) -> None:
    async def ask(kind: str, number: int) -> object:
        if kind == "new":
            return await connection.rows(f"SELECT {number}, 'new {uuid4()}'")
        statement = {"fails": "SELECT 1 / ($1::int - $1::int)", "wrong": f"SELECT missing_{number % 3}, $1::int"}
        return await connection.rows(statement.get(kind, "SELECT $1::int"), (number,))

    tasks = []
    for number, (kind, turns) in enumerate(asked):
        for _ in range(turns):
            await asyncio.sleep(0)
        tasks.append(asyncio.create_task(ask(kind, number)))
        if kind == "cancelled":
            for _ in range(1 + turns):
                await asyncio.sleep(0)
            tasks[-1].cancel()
    answers = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 20)

    expected = {"fails": DivisionByZero, "wrong": UndefinedColumn, "cancelled": asyncio.CancelledError}
    for number, ((kind, _), answer) in enumerate(zip(asked, answers, strict=True)):
        if kind in expected and not (kind == "cancelled" and answer == [(number,)]):  # it was too late
            assert isinstance(answer, expected[kind])
        else:
            assert isinstance(answer, list)
            assert answer[0][0] == number
    assert await connection.rows("SELECT 7") == [(7,)]
    assert (connection.waiting, connection.is_broken) == (0, False)


async def test_equal_statements_of_one_turn_of_the_loop_are_sent_together(connection: PipelinedConnection) -> None:
    begun = "SELECT now()::text, $1::int"

    *together, other = await asyncio.gather(
        *(connection.rows(begun, (number,)) for number in range(5)), connection.rows("SELECT now()::text")
    )
    alone = await connection.rows(begun, (5,))

    assert [rows[0][1] for rows in together] == [0, 1, 2, 3, 4]
    assert len({rows[0][0] for rows in together}) == 1, "they are one transaction"
    assert alone[0][0] > other[0][0] > together[0][0][0]


async def test_what_the_server_left_out_behind_an_equal_statement_that_failed_is_asked_again(
    connection: PipelinedConnection,
) -> None:
    divided = [connection.rows("SELECT 6 / $1::int", (number,)) for number in (1, 0, 2, 3, 0, 6)]
    wrong = [connection.rows("wrong"), connection.rows("wrong")]

    answers = await asyncio.gather(*divided, *wrong, return_exceptions=True)

    assert [answers[number] for number in (0, 2, 3, 5)] == [[(6,)], [(3,)], [(2,)], [(1,)]]
    assert [type(answers[number]) for number in (1, 4, 6, 7)] == [DivisionByZero] * 2 + [WrongSyntax] * 2
    assert (connection.waiting, connection.is_busy, connection.is_broken) == (0, False, False)


async def test_a_statement_that_fails_now_and_then_is_prepared_once(connection: PipelinedConnection) -> None:
    for _ in range(5):
        with pytest.raises(DivisionByZero):
            await connection.rows("SELECT 1 / $1::int", (0,))
    assert await connection.rows("SELECT 1 / $1::int", (1,)) == [(1,)]

    assert await connection.rows("SELECT count(*) FROM pg_prepared_statements") == [(2,)]


async def test_a_connection_that_is_lost_while_sending_is_told_to_who_sends(
    connection: PipelinedConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_flush", lambda: connection._give_up(OperationalError("reset")))

    with pytest.raises(OperationalError):
        await asyncio.wait_for(connection.rows("SELECT 1"), 5)


async def test_who_stops_waiting_leaves_the_others_their_answers(connection: PipelinedConnection) -> None:
    asked = [asyncio.create_task(connection.rows("SELECT pg_sleep(0.05)::text, $1::int", (n,))) for n in range(4)]
    while connection.waiting < 4 or not connection.is_busy:
        await asyncio.sleep(0)
    asked[0].cancel()
    asked[2].cancel()

    assert await asked[1] == [("", 1)]
    assert await asked[3] == [("", 3)]
    assert await connection.rows("SELECT 7") == [(7,)]


async def test_a_value_that_cannot_be_sent_harms_nobody_else(connection: PipelinedConnection) -> None:
    with pytest.raises(DataError):
        await connection.rows("SELECT $1::text", ("NUL \x00",))
    with pytest.raises(DataError):
        await connection.rows("SELECT $1::int", ("no number",))

    assert await connection.rows("SELECT '%' || $1::text", ("right",)) == [("%right",)]


async def test_a_connection_that_is_lost_is_told_to_all_who_wait_and_to_all_who_come(
    connection: PipelinedConnection, database_url: str
) -> None:
    asked = [asyncio.create_task(connection.rows("SELECT pg_sleep(60)")) for _ in range(3)]
    while connection.waiting < 3:
        await asyncio.sleep(0)
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as other:
        ended = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%%pg_sleep(60)%%' AND pid <> %s"
        )
        while not await (await other.execute(ended, (other.info.backend_pid,))).fetchall():
            pass  # the server has not begun with it

    for task in asked:
        with pytest.raises(OperationalError):
            await task
    assert connection.is_broken
    with pytest.raises(OperationalError):
        await connection.rows("SELECT 1")


async def test_different_reads_of_one_turn_never_wait_for_each_other_and_a_migration(
    connection: PipelinedConnection, database_url: str
) -> None:
    """Else a read would have the table that a migration waits for, and wait for the one that the migration has."""
    async with await psycopg.AsyncConnection.connect(database_url) as migration:
        await migration.execute("ALTER TABLE watches ADD COLUMN later text")
        reads = [asyncio.create_task(connection.rows(f"SELECT count(*) FROM {each}")) for each in ("users", "watches")]
        await asyncio.wait_for(reads[0], 10)
        await migration.execute("SET LOCAL lock_timeout = '10s'")
        await migration.execute("ALTER TABLE users ADD COLUMN later text")
        await migration.rollback()

    assert await reads[1] == [(0,)]


async def test_what_cannot_be_sent_for_any_reason_is_told_to_who_waits(
    connection: PipelinedConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_add_to_pipeline", None)

    with pytest.raises(OperationalError, match="cannot be sent"):
        await asyncio.wait_for(connection.rows("SELECT 1"), 5)


async def test_a_server_that_answers_nothing_is_given_up(
    connection: PipelinedConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql_pipeline, "STUCK_SECONDS", 0.1)
    monkeypatch.setattr(postgresql_pipeline, "LOOK_SECONDS", 0.05)

    with pytest.raises(OperationalError, match="no answer"):
        await connection.rows("SELECT pg_sleep(60)")


async def test_a_server_whose_last_words_come_with_a_reset_is_known_to_be_gone(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql_pipeline, "LOOK_SECONDS", 0.05)
    with resetting_relay(database_url, tmp_path, b"SELECT 'reset'") as address:
        connection = await opened(address)
        assert await connection.rows("SELECT 1") == [(1,)]

        async with asyncio.timeout(postgresql_pipeline.STUCK_SECONDS / 2):
            with pytest.raises(OperationalError, match="connection"):
                await connection.rows("SELECT 'reset'")

        assert connection.is_broken


async def test_statements_that_the_server_forgot_are_asked_over_another_connection(
    connection: PipelinedConnection,
) -> None:
    assert await connection.rows("SELECT 1") == [(1,)]
    await connection.rows("DEALLOCATE ALL")

    for answer in await asyncio.gather(*(connection.rows("SELECT 1") for _ in range(3)), return_exceptions=True):
        assert isinstance(answer, OperationalError)

    assert connection.is_broken, "whoever keeps connections opens another"


async def test_closing_tells_who_waits(connection: PipelinedConnection) -> None:
    asked = asyncio.create_task(connection.rows("SELECT pg_sleep(60)"))
    while not connection.is_busy:
        await asyncio.sleep(0)

    connection.close()
    connection.close()

    with pytest.raises(OperationalError, match="closed"):
        await asked


TERMINATING = b"SWARNING\0VWARNING\0C57P02\0Mterminating connection because of immediate shutdown command\0\0"
"""What a server says to its clients when it is ended at once."""


@contextmanager
def resetting_relay(database_url: str, folder: Path, last: bytes) -> Iterator[str]:
    """The address of a relay to a server. Once it is asked this statement it warns, and closes without having read it.

    It works in the event loop itself, which so learns of both together.
    """
    loop, server = asyncio.get_running_loop(), socket.socket(socket.AF_UNIX)
    client: socket.socket
    with socket.socket(socket.AF_UNIX) as listening, server:
        listening.bind(str(folder / ".s.PGSQL.5432"))
        listening.listen()
        named = conninfo_to_dict(database_url)
        server.connect(f"{named['host']}/.s.PGSQL.5432")

        def accept() -> None:
            nonlocal client
            client, _ = listening.accept()
            loop.add_reader(client, from_client)

        def from_client() -> None:
            if last in client.recv(100_000, socket.MSG_PEEK):
                loop.remove_reader(client)
                client.sendall(b"N" + (len(TERMINATING) + 4).to_bytes(4) + TERMINATING)
                client.close()
            else:
                server.sendall(client.recv(100_000))

        loop.add_reader(listening, accept)
        loop.add_reader(server, lambda: client.sendall(server.recv(100_000)))
        yield make_conninfo(database_url, host=str(folder))
        loop.remove_reader(listening)
        loop.remove_reader(server)
