"""One engine for both databases: SQLite in WAL mode, PostgreSQL through psycopg.

A write is one `transaction()`; a read that needs no snapshot is `reading()`. On SQLite a transaction takes the
write lock at its start, so that two of them wait for each other instead of failing half-way.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

from sqlalchemy import URL, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from registerwatch.db.sqlite import sqlite_path
from registerwatch.errors import DatabaseUnavailable

SQLITE_BUSY_SECONDS = 30
SQLITE_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA cache_size = -16384",  # 16 MB; the operating system caches the rest
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA wal_autocheckpoint = 8000",  # 32 MB: long fills write each page back less often
)


class Database:
    """A pool of connections to one database. Nothing is opened before the first use."""

    def __init__(self, address: str) -> None:
        self.sqlite_path = sqlite_path(address)
        """The database file, None on PostgreSQL."""
        self.kind: Literal["sqlite", "postgresql"] = "postgresql" if self.sqlite_path is None else "sqlite"
        self.url = (
            make_url(address) if self.sqlite_path is None else URL.create("sqlite", database=str(self.sqlite_path))
        )
        self._engine = _sqlite_engine(self.url) if self.kind == "sqlite" else _postgresql_engine(self.url)

    @property
    def engine(self) -> AsyncEngine:
        """The SQLAlchemy engine, for migrations and for tests that look at the schema."""
        return self._engine

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """One write transaction: committed at the end, rolled back on any error."""
        with _unavailable():
            async with self._engine.connect() as connection, connection.begin():
                yield connection

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A connection for statements that each stand alone; it never takes the write lock."""
        with _unavailable():
            async with self._engine.connect() as connection:
                yield await connection.execution_options(isolation_level="AUTOCOMMIT")

    async def close(self) -> None:
        """Close every pooled connection."""
        await self._engine.dispose()


class _unavailable:  # noqa: N801  # a context manager that reads as a word
    """Turns a driver's connection trouble into `DatabaseUnavailable`."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, DBAPIError) and (error.connection_invalidated or _is_operational(error)):
            raise DatabaseUnavailable(f"The database does not answer: {error.orig}") from error


def _is_operational(error: DBAPIError) -> bool:
    return type(error).__name__ == "OperationalError"


def _sqlite_engine(url: URL) -> AsyncEngine:
    engine = create_async_engine(
        url.set(drivername="sqlite+aiosqlite"),
        connect_args={"timeout": SQLITE_BUSY_SECONDS, "isolation_level": None},
    )

    @event.listens_for(engine.sync_engine, "connect")
    def _prepare(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        for pragma in SQLITE_PRAGMAS:
            cursor.execute(pragma)
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def _begin(connection: object) -> None:
        if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":  # type: ignore[attr-defined]
            connection.exec_driver_sql("BEGIN IMMEDIATE")  # type: ignore[attr-defined]

    return engine


def _postgresql_engine(url: URL) -> AsyncEngine:
    return create_async_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_pre_ping=True,
        pool_size=5,
        max_overflow=10,
        connect_args={"connect_timeout": 10, "application_name": "registerwatch"},
    )
