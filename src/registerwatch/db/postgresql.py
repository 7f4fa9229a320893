"""Raw autocommit connections to a PostgreSQL database, for reads that must be quick."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from psycopg import AsyncConnection, OperationalError
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from registerwatch.db.silence import silence_options
from registerwatch.errors import DatabaseUnavailable

WAIT_SECONDS = 5
"""A statement takes milliseconds: who has waited so long for a connection waits for a server that is gone."""

LOOK_SECONDS = 2
"""How long looking for a server may take; the driver knows no shorter time."""


class PostgresReads:
    """Prepared statements over a pool of connections, which is opened at the first of them.

    Each is a transaction of its own, so it sees whatever was committed before it.
    """

    def __init__(self, conninfo: str, *, most_connections: int) -> None:
        watched = silence_options(conninfo_to_dict(conninfo))
        self._pool = AsyncConnectionPool(
            conninfo,
            min_size=1,
            max_size=most_connections,
            timeout=WAIT_SECONDS,
            reconnect_timeout=1,  # a server that comes back is met by the next read, not after ever longer pauses
            open=False,
            kwargs={"autocommit": True, "row_factory": tuple_row, "application_name": "registerwatch reads", **watched},
        )
        self._lookout = _Lookout(conninfo)
        self._is_open = False
        self._is_lost = False
        """Whether the server was gone when it was last needed."""

    async def all(self, statement: str, values: Sequence[object] | Mapping[str, object] = ()) -> list[tuple[Any, ...]]:
        """Every row. Raises `DatabaseUnavailable`."""
        if not self._is_open:
            await self._pool.open()
            self._is_open = True
        try:
            rows = await self._fetch_again(statement, values) if self._is_lost else await self._first(statement, values)
        except OperationalError as error:
            self._is_lost = True
            raise DatabaseUnavailable(f"The database does not answer: {error}") from error
        self._is_lost = False
        return rows

    async def one(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        """The row of a statement that has one at most. Raises `DatabaseUnavailable`."""
        rows = await self.all(statement, values)
        return rows[0] if rows else None

    async def close(self) -> None:
        """Close the connections, for good."""
        if self._is_open:
            await self._pool.close()

    async def _first(self, statement: str, values: Sequence[object] | Mapping[str, object]) -> list[tuple[Any, ...]]:
        try:
            return await self._fetch(statement, values)
        except (PoolTimeout, PoolClosed):
            raise
        except OperationalError:  # connections may have died since their last use, and all of them at once
            return await self._fetch_again(statement, values)

    async def _fetch_again(
        self, statement: str, values: Sequence[object] | Mapping[str, object]
    ) -> list[tuple[Any, ...]]:
        """The same where connections may have died. Where the server is gone it says so at once, as no pool does."""
        await self._lookout.look()
        await self._pool.check()
        return await self._fetch(statement, values)

    async def _fetch(self, statement: str, values: Sequence[object] | Mapping[str, object]) -> list[tuple[Any, ...]]:
        async with self._pool.connection() as connection:
            cursor = await connection.execute(statement.encode(), values, prepare=True)
            return await cursor.fetchall()


class _Lookout:
    """Finds out whether a server is there, by a connection of its own. Those who ask together share an answer."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._turn = asyncio.Lock()
        self._looked_at = 0.0
        self._trouble: str | None = None

    async def look(self) -> None:
        """Raises `OperationalError` where the server takes no connection now."""
        asked_at = time.monotonic()
        async with self._turn:
            if self._looked_at < asked_at:
                self._looked_at, self._trouble = time.monotonic(), await self._troubled()
            trouble = self._trouble
        if trouble is not None:
            raise OperationalError(trouble)

    async def _troubled(self) -> str | None:
        try:
            connection = await AsyncConnection.connect(self._conninfo, connect_timeout=LOOK_SECONDS)
        except OperationalError as error:
            return str(error)
        await connection.close()
        return None
