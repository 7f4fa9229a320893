"""Reads stored documents from PostgreSQL, by quick reads."""

from collections.abc import Sequence

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
from registerwatch.platform.db.quick_reads import quick_reads
from registerwatch.register.models import completed


class PostgresDocumentReader:
    """Reads over connections that open at the first read."""

    def __init__(self, conninfo: str) -> None:
        self._reads = quick_reads(conninfo)

    async def device(self, udi: str) -> StoredDocument | None:
        row = await self._reads.one(DEVICE.format("$1"), udi)
        return StoredDocument(completed(row[0].encode(), row[1]), *row[2:]) if row else None

    async def devices(self, udis: Sequence[str]) -> dict[str, StoredDocument]:
        rows = await self._reads.all(_DEVICES, list(udis))
        return {row[0]: StoredDocument(completed(row[1].encode(), row[2]), *row[3:]) for row in rows}

    async def coded(self, codes: Sequence[str]) -> list[CodedDevice]:
        rows = await self._reads.all(_CODED, list(codes), MAX_CODED)
        return [CodedDevice(row[0], row[1], completed(row[2].encode(), row[3]), row[4]) for row in rows]

    async def rows(self, ids: Sequence[int]) -> list[bytes]:
        rows = await self._reads.all(_ROWS, list(ids))
        found = {row_id: completed(document.encode(), version) for row_id, document, version in rows}
        return [found[row_id] for row_id in ids if row_id in found]

    async def actor(self, srn: str) -> StoredActor | None:
        row = await self._reads.one(ACTOR.format("$1"), srn)
        return stored_actor(row) if row else None

    async def changed_since(self, revision: int, limit: int) -> list[ChangedRow]:
        rows = await self._reads.all(CHANGED.format("$1", "$2"), revision, limit)
        return [ChangedRow(row[0], row[1], row[2], row[3], row[4].encode(), row[5]) for row in rows]

    async def unindexed(self, srn: str, revision: int, limit: int) -> list[UnindexedRow]:
        rows = await self._reads.all(_UNINDEXED, srn, revision, limit)
        return [UnindexedRow(row[0], row[1], completed(row[2].encode(), row[3]) if row[2] else None) for row in rows]

    async def revision(self) -> tuple[str, int]:
        row = await self._reads.one(REVISION)
        if row is None:
            raise DatabaseUnavailable("The database has no copy; run `registerwatch db upgrade`.")
        return row[0], row[1]

    async def close(self) -> None:
        await self._reads.close()


_DEVICES = DEVICES.format("= ANY($1)")
_CODED = CODED.format("ANY($1)", "$2")
_ROWS = ROWS.format("= ANY($1)")
_UNINDEXED = UNINDEXED.format("position($1 in document) > 0", "$2", "$3")
