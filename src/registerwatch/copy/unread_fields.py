"""Stored counts of fields that could not be read, of all processes that share the database."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.sources.unread_fields import FieldOf, UnreadCounts, UnreadFields

KEPT_SECONDS = 30 * 24 * 3600
"""A field that was readable for this long is forgotten."""


class StoredUnreadField(msgspec.Struct, frozen=True):
    """A field that could not be read: in how many records, its first value, and when. Instants are unix seconds."""

    record: str
    field: str
    records: int
    example: str
    first_at: int
    last_at: int


class UnreadFieldStore:
    """Stores the counts of one process's sources."""

    def __init__(self, database: Database, clock: Clock, unread: UnreadFields) -> None:
        self._database = database
        self._clock = clock
        self._unread = unread

    async def store(self) -> None:
        """Add the counts since the last time to the stored ones."""
        if self._unread.has_news:
            async with self.transaction():
                pass

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that adds earlier counts to the stored ones. Where it fails, they are counted again."""
        counts = self._unread.take()
        try:
            async with self._database.transaction() as connection:
                yield connection
                await self._add(connection, counts)
        except BaseException:
            self._unread.give_back(counts)
            raise

    async def _add(self, connection: AsyncConnection, counts: UnreadCounts) -> None:
        now = int(self._clock.now())
        rows = [
            {
                "record": field.record,
                "field": field.field,
                "records": count.records,
                "example": count.example,
                "at": now,
            }
            for field, count in sorted(counts.items())
        ]
        if rows:
            await connection.execute(_ADD, rows)
            await connection.execute(_FORGET, {"before": now - KEPT_SECONDS})

    def counted(self) -> Counter[FieldOf]:
        """A copy of all counts of this process, for `since`."""
        return self._unread.counts.copy()

    def since(self, before: Counter[FieldOf]) -> UnreadCounts:
        """The counts since then."""
        return self._unread.since(before)


async def stored_unread_fields(connection: AsyncConnection) -> list[StoredUnreadField]:
    """All fields that could not be read lately, the last one first."""
    return [StoredUnreadField(*row) for row in await connection.execute(_ALL)]


_ADD = text(
    "INSERT INTO unread_fields (record, field, records, example, first_at, last_at)"
    " VALUES (:record, :field, :records, :example, :at, :at)"
    " ON CONFLICT (record, field) DO UPDATE SET records = unread_fields.records + excluded.records,"
    " last_at = excluded.last_at"
)
_FORGET = text("DELETE FROM unread_fields WHERE last_at < :before")
_ALL = text(
    "SELECT record, field, records, example, first_at, last_at FROM unread_fields ORDER BY last_at DESC, record, field"
)
