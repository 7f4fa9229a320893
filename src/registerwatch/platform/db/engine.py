"""One engine for both databases: SQLite in WAL mode, PostgreSQL through psycopg.

A write is one `transaction()`; a read that needs no snapshot is `reading()`; a statement that must be quick goes by
`rows()`. On SQLite a transaction takes the write lock at its start, so that two of them wait for each other instead of
failing half-way.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, AdaptedConnection, Connection, event, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection, ExceptionContext
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionFree
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from registerwatch.errors import DatabaseUnavailable, Overloaded
from registerwatch.platform.db.driver_errors import is_fault, took_too_long, unavailable
from registerwatch.platform.db.quick_reads import quick_reads
from registerwatch.platform.db.run_uncancelled import run_uncancelled
from registerwatch.platform.db.sqlite import ThreadedConnection, sqlite_path
from registerwatch.platform.db.statements import DatabaseKind, PreparedSelect
from registerwatch.platform.db.tcp_keepalive import SERVER_SETTINGS, silence_options

SQLITE_BUSY_SECONDS = 30
SQLITE_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA wal_autocheckpoint = 8000",  # 32 MB: long fills write each page back less often
)
WRITING_CACHE_MEGABYTES, READING_CACHE_MEGABYTES = 16, 4
"""Cache of each SQLite connection; the operating system caches the rest."""
WRITERS = {"sqlite": (1, 0), "postgresql": (5, 5)}
"""Connections for transactions: kept ones, and how many more there may be.

SQLite allows one write at a time. With several connections the waiting ones retry its lock with growing pauses, so that
the latest wins: in a test the longest of ten waits was 830 ms, with a queue for one connection 28 ms.
"""
FREE_SECONDS = 30
"""How long a request waits for a connection while all are in use."""
READ_SECONDS = 20
"""How long a reader's statement may take: less than others wait for its connection."""
READ_STEPS = 100_000
"""Steps of SQLite's virtual machine between two checks of the time limit; mostly some milliseconds."""
CLOSE_SECONDS = 5
"""How long closing waits for connections in use."""
TOO_LONG = "The database took too long for this. Ask for less, or try again in a few seconds."
SLOW = "The database answers too slowly."
_LIMIT = "time limit"
"""The key of the time limit of a connection in its `info`."""
_ANSWER = text("SELECT 1 FROM copy_state")
_ROOM = "room" * 16_384
"""64 kB: a small row would find room in a page that the database has already."""
_TAKE_ROOM = text("INSERT INTO ticks (name, slot) VALUES (:name, 0)")
_GIVE_BACK = text("DELETE FROM ticks WHERE name = :name")


class Database:
    """A pool of connections to one database. Nothing is opened before the first use."""

    def __init__(self, address: str) -> None:
        self.sqlite_path = sqlite_path(address)
        """The database file, None on PostgreSQL."""
        self.kind: DatabaseKind = "postgresql" if self.sqlite_path is None else "sqlite"
        self.url = (
            make_url(address) if self.sqlite_path is None else URL.create("sqlite", database=str(self.sqlite_path))
        )
        made = _sqlite_engine if self.kind == "sqlite" else _postgresql_engine
        kept, more = WRITERS[self.kind]
        self._engine = made(self.url, pool_size=kept, max_overflow=more, pool_timeout=FREE_SECONDS)
        self._reader = made(
            self.url, pool_size=2, max_overflow=3, pool_timeout=FREE_SECONDS, isolation_level="AUTOCOMMIT"
        )
        self._quick = quick_reads(address)
        self._write_failure: DatabaseUnavailable | None = None
        """Why the last transaction could not be begun or committed; None where it could."""

    @property
    def engine(self) -> AsyncEngine:
        """The SQLAlchemy engine, for migrations and for tests of the schema."""
        return self._engine

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """One write transaction: committed at the end, rolled back on any error.

        A cancelled caller waits until its beginning or its end is complete: a connection that is left in between would
        keep SQLite's write lock.
        """
        connection = self._engine.connect()
        try:
            with _unavailable(self.sqlite_path):
                try:
                    await run_uncancelled(_begin(connection))
                    yield connection
                    await run_uncancelled(connection.commit())
                finally:
                    if connection.sync_connection is not None:  # else the database did not answer at all
                        await run_uncancelled(connection.close())  # which rolls back what was not committed
        except DatabaseUnavailable as failure:
            self._write_failure = failure
            raise
        self._write_failure = None

    async def problem(self) -> str | None:
        """Why the database cannot be read or written, in a text for the public; None where it can.

        A write is tried only where the last one failed, so that a database which works again is noticed.
        """
        try:
            async with self.reading() as connection:
                await connection.execute(_ANSWER)
            if self._write_failure is not None:
                async with self.transaction() as connection:
                    await connection.execute(_TAKE_ROOM, {"name": _ROOM})
                    await connection.execute(_GIVE_BACK, {"name": _ROOM})
        except DatabaseUnavailable as failure:
            return failure.summary
        except Overloaded:
            return SLOW
        return None

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A connection for independent statements; it never takes the write lock.

        Raises `Overloaded` where one takes longer than `READ_SECONDS`.
        """
        with _unavailable(self.sqlite_path):
            async with self._reader.connect() as connection:
                yield connection

    async def rows(self, statement: PreparedSelect, **values: object) -> Sequence[tuple[Any, ...]]:
        """The rows of a statement that must be quick, as of what is committed now. Raises `DatabaseUnavailable`.

        On SQLite it takes a twentieth of the processor time of a statement over SQLAlchemy.
        """
        select = statement.compiled(self.kind)
        return await self._quick.all(select.sql, *select.ordered(values))

    async def close(self) -> None:
        """Close every connection, after some seconds for those in use. A cancelled caller may still give one back."""
        await self._quick.close()
        for engine in (self._reader, self._engine):  # the last one folds SQLite's log into the file; a reader may not
            await _given_back(engine)
            await engine.dispose()


async def _given_back(engine: AsyncEngine) -> None:
    """Wait until no connection is in use, or for `CLOSE_SECONDS`: one that is given back later is never closed."""
    pool = engine.pool
    assert isinstance(pool, QueuePool)
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            while pool.checkedout():  # noqa: ASYNC110  # the pool has no sign of it
                await asyncio.sleep(0.01)


async def _begin(connection: AsyncConnection) -> None:
    await connection.start()
    await connection.begin()


class _unavailable:  # noqa: N801  # a context manager that reads as a word
    """Translates driver errors about the database itself, and waiting for a connection in vain, into
    `DatabaseUnavailable`, and statements that took too long into `Overloaded`.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, DBAPIError):
            if took_too_long(error.orig):
                raise Overloaded(TOO_LONG) from error
            if isinstance(error, OperationalError) or error.connection_invalidated or is_fault(error.orig):
                raise unavailable(error.orig or error, self._path) from error
        elif is_fault(error):
            assert error is not None
            raise unavailable(error, self._path) from error
        if isinstance(error, NoConnectionFree):
            raise DatabaseUnavailable("The database does not answer: every connection to it is in use") from error


def _sqlite_engine(url: URL, **options: Any) -> AsyncEngine:
    engine = create_async_engine(
        url.set(drivername="sqlite+aiosqlite"),
        hide_parameters=True,
        connect_args={
            "async_creator_fn": ThreadedConnection,
            "timeout": SQLITE_BUSY_SECONDS,
            "isolation_level": None,
        },
        **options,
    )

    writes = _writes(options)
    megabytes = WRITING_CACHE_MEGABYTES if writes else READING_CACHE_MEGABYTES

    @event.listens_for(engine.sync_engine, "connect")
    def _prepare(connection: DBAPIConnection, entry: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        for pragma in (*SQLITE_PRAGMAS, f"PRAGMA cache_size = -{megabytes * 1024}"):
            cursor.execute(pragma)
        cursor.close()
        if not writes:
            limit = entry.info[_LIMIT] = _TimeLimit()
            adapted: AdaptedConnection = connection  # type: ignore[assignment]  # it is both
            adapted.run_async(lambda driver: driver.set_progress_handler(limit.is_over, READ_STEPS))

    @event.listens_for(engine.sync_engine, "handle_error")
    def _keep_cancelled(context: ExceptionContext) -> None:
        """Keep the connection of a cancelled caller, whose statement goes on in its thread. SQLAlchemy would drop it,
        and with its open cursor it would stay open, in a transaction, and keep the write lock.
        """
        if isinstance(context.original_exception, asyncio.CancelledError):
            context.is_disconnect = False

    if writes:

        @event.listens_for(engine.sync_engine, "begin")
        def _begin(connection: object) -> None:
            connection.exec_driver_sql("BEGIN IMMEDIATE")  # type: ignore[attr-defined]

    else:

        @event.listens_for(engine.sync_engine, "before_cursor_execute")
        def _start(connection: Connection, *_statement: object) -> None:
            limit: _TimeLimit = connection.info[_LIMIT]
            limit.start()

    return engine


class _TimeLimit:
    """Makes SQLite end a statement that takes too long."""

    def __init__(self) -> None:
        self._ends = math.inf

    def start(self) -> None:
        """A statement begins."""
        self._ends = time.monotonic() + READ_SECONDS

    def is_over(self) -> bool:
        """Whether SQLite is to end the statement; called in the connection's thread."""
        return time.monotonic() > self._ends


def _writes(options: Mapping[str, Any]) -> bool:
    """Whether an engine with these options is the one for transactions."""
    return "isolation_level" not in options


def _postgresql_engine(url: URL, **options: Any) -> AsyncEngine:
    engine = create_async_engine(
        url.set(drivername="postgresql+psycopg"),
        hide_parameters=True,  # errors are logged, and parameters may be confidential
        pool_pre_ping=True,
        pool_use_lifo=True,  # libpq's buffer stays as long as its longest row: few connections are to have one
        connect_args={
            "connect_timeout": 10,
            "application_name": "registerwatch",
            "client_encoding": "utf8",  # overrides PGCLIENTENCODING
            **silence_options(url.query),
        },
        **options,
    )
    settings = SERVER_SETTINGS if _writes(options) else {**SERVER_SETTINGS, "statement_timeout": f"{READ_SECONDS}s"}

    @event.listens_for(engine.sync_engine, "connect")
    def _prepare(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        cursor.execute("; ".join(f"SET {name} = '{value}'" for name, value in settings.items()))
        cursor.close()
        connection.commit()

    return engine
