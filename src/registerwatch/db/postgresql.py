"""Raw autocommit connections to a PostgreSQL database, for reads that must be quick."""

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg import OperationalError
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from registerwatch.errors import DatabaseUnavailable

WAIT_SECONDS = 5
"""A statement takes milliseconds: who has waited so long for a connection waits for a server that is gone."""


class PostgresReads:
    """Prepared statements over a pool of connections, which is opened at the first of them.

    Each is a transaction of its own, so it sees whatever was committed before it.
    """

    def __init__(self, conninfo: str, *, most_connections: int) -> None:
        self._pool = AsyncConnectionPool(
            conninfo,
            min_size=1,
            max_size=most_connections,
            timeout=WAIT_SECONDS,
            reconnect_timeout=1,  # a server that comes back is met by the next read, not after ever longer pauses
            open=False,
            kwargs={"autocommit": True, "row_factory": tuple_row, "application_name": "registerwatch reads"},
        )
        self._is_open = False

    async def all(self, statement: str, values: Sequence[object] | Mapping[str, object] = ()) -> list[tuple[Any, ...]]:
        """Every row. Raises `DatabaseUnavailable`."""
        if not self._is_open:
            await self._pool.open()
            self._is_open = True
        try:
            try:
                return await self._fetch(statement, values)
            except (PoolTimeout, PoolClosed):
                raise
            except OperationalError:  # connections may have died since their last use, and all of them at once
                await self._pool.check()
                return await self._fetch(statement, values)
        except OperationalError as error:
            raise DatabaseUnavailable(f"The database does not answer: {error}") from error

    async def one(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        """The row of a statement that has one at most. Raises `DatabaseUnavailable`."""
        rows = await self.all(statement, values)
        return rows[0] if rows else None

    async def close(self) -> None:
        """Close the connections, for good."""
        if self._is_open:
            await self._pool.close()

    async def _fetch(self, statement: str, values: Sequence[object] | Mapping[str, object]) -> list[tuple[Any, ...]]:
        async with self._pool.connection() as connection:
            cursor = await connection.execute(statement.encode(), values, prepare=True)
            return await cursor.fetchall()
