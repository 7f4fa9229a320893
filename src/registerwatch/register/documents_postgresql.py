"""Reading stored documents from PostgreSQL: prepared statements on pooled autocommit connections."""

from collections.abc import Sequence
from typing import Any

from psycopg import OperationalError
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from registerwatch.errors import DatabaseUnavailable
from registerwatch.register.documents import (
    ACTOR,
    CHANGED,
    DEVICE,
    REVISION,
    ChangedRow,
    StoredActor,
    StoredDocument,
    stored_actor,
)


class PostgresDocuments:
    """Over a pool of autocommit connections that is opened at the first read."""

    def __init__(self, conninfo: str) -> None:
        self._pool = AsyncConnectionPool(
            conninfo,
            min_size=1,
            max_size=8,
            timeout=10,
            open=False,
            kwargs={"autocommit": True, "row_factory": tuple_row, "application_name": "registerwatch reads"},
        )
        self._is_open = False

    async def device(self, udi: str) -> StoredDocument | None:
        row = await self._one(DEVICE.format("%s"), udi)
        return StoredDocument(row[0].encode(), row[1], row[2], row[3]) if row else None

    async def rows(self, ids: Sequence[int]) -> list[bytes]:
        found = {
            row[0]: row[1] for row in await self._all("SELECT id, document FROM devices WHERE id = ANY(%s)", list(ids))
        }
        return [found[row_id].encode() for row_id in ids if row_id in found]

    async def actor(self, srn: str) -> StoredActor | None:
        row = await self._one(ACTOR.format("%s"), srn)
        return stored_actor(row) if row else None

    async def changed_since(self, revision: int, limit: int) -> list[ChangedRow]:
        rows = await self._all(CHANGED.format("%s", "%s"), revision, limit)
        return [ChangedRow(row[0], row[1], row[2], row[3], row[4].encode()) for row in rows]

    async def revision(self) -> tuple[str, int]:
        row = await self._one(REVISION)
        if row is None:
            raise DatabaseUnavailable("The database has no copy; run `registerwatch db upgrade`.")
        return row[0], row[1]

    async def close(self) -> None:
        if self._is_open:
            await self._pool.close()

    async def _one(self, statement: str, *parameters: object) -> "tuple[Any, ...] | None":
        rows = await self._all(statement, *parameters)
        return rows[0] if rows else None

    async def _all(self, statement: str, *parameters: object) -> "list[tuple[Any, ...]]":
        if not self._is_open:
            await self._pool.open()
            self._is_open = True
        try:
            try:
                return await self._fetch(statement, parameters)
            except OperationalError:  # a pooled connection may have died since its last use: once more on another
                return await self._fetch(statement, parameters)
        except (OperationalError, PoolTimeout) as error:
            raise DatabaseUnavailable(f"The database does not answer: {error}") from error

    async def _fetch(self, statement: str, parameters: Sequence[object]) -> "list[tuple[Any, ...]]":
        async with self._pool.connection() as connection:
            cursor = await connection.execute(statement.encode(), parameters, prepare=True)
            return await cursor.fetchall()
