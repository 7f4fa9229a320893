"""Raw connections to a SQLite database: for reads that must be quick, and for SQLAlchemy. Imports no ORM itself."""

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import aiosqlite

from registerwatch.platform.db.driver_errors import unavailable

SCHEME = "sqlite:///"


def sqlite_path(address: str) -> Path | None:
    """The file in an address such as `sqlite:///data/registerwatch.db`, None for an address of another database."""
    return Path(address.removeprefix(SCHEME)) if address.startswith(SCHEME) else None


class SqliteReads:
    """Statements over a read-only connection, which is opened at the first of them.

    They run on the event loop: one takes about ten microseconds, and a thread would cost more. Each is read to its end,
    so that the next one sees everything that was committed in between.
    """

    def __init__(self, path: Path, *, cache_megabytes: int, text: type[str] | type[bytes]) -> None:
        self._path = path
        self._cache_megabytes = cache_megabytes
        self._text = text
        self._opened: sqlite3.Connection | None = None

    async def all(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Every row. Raises `DatabaseUnavailable`."""
        return self.all_now(statement, *values)

    def all_now(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """`all` without its two coroutines, for callers that know the database is SQLite."""
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise unavailable(error, self._path) from error

    async def one(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        """The row of a statement that gives one at most. Raises `DatabaseUnavailable`."""
        rows = self.all_now(statement, *values)
        return rows[0] if rows else None

    async def close(self) -> None:
        """Close the connection; a later statement opens another."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @property
    def _connection(self) -> sqlite3.Connection:
        if self._opened is None:
            self._opened = _read_only(self._path, self._cache_megabytes, self._text)
        return self._opened


class ThreadedConnection(aiosqlite.Connection):
    """A connection in a thread of its own, for SQLAlchemy. A statement with all of its rows is one step of the thread,
    where aiosqlite takes four: making a cursor, running it, fetching, closing (docs/performance.md).
    """

    def __init__(self, path: str, **options: Any) -> None:
        super().__init__(partial(sqlite3.connect, path, **options), iter_chunk_size=1)
        self._thread.daemon = True

    def cursor(self) -> "_Cursor":  # type: ignore[override]  # SQLAlchemy enters it, as it does aiosqlite's
        """A cursor that is used up with its statement."""
        return _Cursor(self)

    async def run(self, statement: str, parameters: Sequence[Any]) -> "StatementResult":
        """Run a statement."""
        return await self._execute(self._run, statement, parameters)  # type: ignore[no-any-return, no-untyped-call]

    async def run_many(self, statement: str, parameters: Iterable[Sequence[Any]]) -> "StatementResult":
        """Run a statement that gives no rows, for each of the parameters."""
        return await self._execute(self._run_many, statement, parameters)  # type: ignore[no-any-return, no-untyped-call]

    def _run(self, statement: str, parameters: Sequence[Any]) -> "StatementResult":
        with closing(self._conn.execute(statement, parameters)) as cursor:
            return StatementResult(cursor.description, cursor.fetchall(), cursor.rowcount, cursor.lastrowid)

    def _run_many(self, statement: str, parameters: Iterable[Sequence[Any]]) -> "StatementResult":
        with closing(self._conn.executemany(statement, parameters)) as cursor:
            return StatementResult(cursor.description, [], cursor.rowcount, cursor.lastrowid)


class StatementResult(NamedTuple):
    """What a cursor of `sqlite3` has after its statement."""

    description: Any
    rows: list[Any]
    rowcount: int
    lastrowid: int | None


class _Cursor:
    """What SQLAlchemy needs of a cursor of aiosqlite."""

    arraysize = 1

    def __init__(self, connection: ThreadedConnection) -> None:
        self._connection = connection
        self._result = StatementResult(None, [], -1, None)

    async def __aenter__(self) -> Self:
        return self

    async def execute(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        self._result = await self._connection.run(statement, parameters)

    async def executemany(self, statement: str, parameters: Iterable[Sequence[Any]]) -> None:
        self._result = await self._connection.run_many(statement, parameters)

    async def fetchall(self) -> list[Any]:
        return self._result.rows

    async def close(self) -> None:
        """Nothing is open any more."""

    @property
    def description(self) -> Any:
        return self._result.description

    @property
    def rowcount(self) -> int:
        return self._result.rowcount

    @property
    def lastrowid(self) -> int | None:
        return self._result.lastrowid


def _read_only(path: Path, cache_megabytes: int, text: type[str] | type[bytes]) -> sqlite3.Connection:
    """A connection that can only read. Texts have the type `text`.

    Raises `DatabaseUnavailable` when the file is missing or is not a database.
    """
    try:
        connection = sqlite3.connect(
            f"file:{quoted(path)}?mode=ro",
            uri=True,
            check_same_thread=False,
            isolation_level=None,
            cached_statements=32,
        )
        connection.execute(f"PRAGMA cache_size = -{cache_megabytes * 1024}")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        raise unavailable(error, path) from error
    connection.text_factory = text
    return connection


def quoted(path: Path) -> str:
    """A path as a SQLite URI contains it."""
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
