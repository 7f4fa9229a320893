"""Reads stored documents from SQLite, on the event loop: a statement takes less time than a thread would cost."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from registerwatch.copy.documents.documents import (
    ACTOR,
    CHANGED,
    CODED,
    DEVICE,
    DEVICES,
    MAX_CODED,
    REVISION,
    ROWS,
    UNINDEXED,
    ChangedRow,
    CodedDevice,
    StoredActor,
    StoredDocument,
    UnindexedRow,
    stored_actor,
)
from registerwatch.errors import DatabaseUnavailable
from registerwatch.platform.db.sqlite import SqliteReads
from registerwatch.register.models import DOCUMENT_VERSION, completed


class SqliteDocumentReader:
    """Reads over a read-only connection that opens at the first read."""

    def __init__(self, path: Path, cache_megabytes: int) -> None:
        self._reads = SqliteReads(path, cache_megabytes=cache_megabytes, text=bytes)

    async def device(self, udi: str) -> StoredDocument | None:
        rows = self._reads.all_now(_DEVICE, udi)
        if not rows:
            return None
        document, version, revision, read_at, has_detail, *ages = rows[0]
        if version < DOCUMENT_VERSION:  # asked here: a call would cost the most frequent read 3 % more
            document = completed(document, version)
        return StoredDocument(document, revision, read_at, bool(has_detail), *ages)

    async def devices(self, udis: Sequence[str]) -> dict[str, StoredDocument]:
        rows = await self._reads.all(_among(DEVICES, len(udis)), *udis)
        return {
            row[0].decode(): StoredDocument(completed(row[1], row[2]), row[3], row[4], bool(row[5]), *row[6:])
            for row in rows
        }

    async def coded(self, codes: Sequence[str]) -> list[CodedDevice]:
        rows = [row for code in codes for row in await self._reads.all(_CODED, code, MAX_CODED)]
        return [CodedDevice(row[0].decode(), row[1].decode(), completed(row[2], row[3]), bool(row[4])) for row in rows]

    async def rows(self, ids: Sequence[int]) -> list[bytes]:
        found: dict[int, tuple[bytes, int]] = {}
        for start in range(0, len(ids), ROWS_AT_ONCE):
            some = ids[start : start + ROWS_AT_ONCE]
            rows = await self._reads.all(_among(ROWS, len(some)), *some)
            found.update((row_id, (document, version)) for row_id, document, version in rows)
        return [completed(*found[row_id]) for row_id in ids if row_id in found]

    async def actor(self, srn: str) -> StoredActor | None:
        row = await self._reads.one(_ACTOR, srn)
        if row is None:
            return None
        texts = [value.decode() if isinstance(value, bytes) else value for value in row]
        return stored_actor(texts)

    async def changed_since(self, revision: int, limit: int) -> list[ChangedRow]:
        rows = await self._reads.all(_CHANGED, revision, limit)
        return [ChangedRow(row[0], row[1], bool(row[2]), row[3].decode(), row[4], bool(row[5])) for row in rows]

    async def unindexed(self, srn: str, revision: int, limit: int) -> list[UnindexedRow]:
        rows = await self._reads.all(_UNINDEXED, srn, revision, limit)
        return [
            UnindexedRow(row[0].decode(), bool(row[1]), completed(row[2], row[3]) if row[2] else None) for row in rows
        ]

    async def revision(self) -> tuple[str, int]:
        row = await self._reads.one(REVISION)
        if row is None:
            raise DatabaseUnavailable("The database has no copy; run `registerwatch db upgrade`.")
        return row[0].decode(), row[1]

    async def close(self) -> None:
        await self._reads.close()


ROWS_AT_ONCE = 25
"""Rows of one statement: the longest usual page. There is a statement for each number, and all stay prepared."""


@lru_cache(2 * ROWS_AT_ONCE)
def _among(statement: str, number: int) -> str:
    """A statement about this many values."""
    return statement.format(f"IN ({', '.join('?' * number)})")


_DEVICE = DEVICE.format("?")
_CODED = CODED.format("?", "?")
_ACTOR = ACTOR.format("?")
_CHANGED = CHANGED.format("?", "?")
_UNINDEXED = UNINDEXED.format("instr(document, ?)", "?", "?")
