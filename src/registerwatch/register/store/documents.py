"""Reading stored documents, without an ORM: one prepared statement, the stored bytes handed on as they are.

On SQLite the statement runs on the event loop, over a read-only connection; on PostgreSQL it goes by `QuickReads`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from registerwatch.db.sqlite import SqliteReads, sqlite_path
from registerwatch.errors import DatabaseUnavailable
from registerwatch.register.models import Actor


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A device's document as stored, with the number of its last change and its last reading (unix seconds)."""

    document: bytes
    revision: int
    read_at: int
    in_full: bool
    """Whether it was ever read from the register itself, with its detail and certificates."""


@dataclass(frozen=True, slots=True)
class StoredActor:
    """An actor as stored, with its last reading (unix seconds)."""

    actor: Actor
    read_at: int


class DocumentReader(Protocol):
    """Reads of the copy that must be quick."""

    async def device(self, udi: str) -> StoredDocument | None:
        """The current record of a UDI-DI."""

    async def rows(self, ids: Sequence[int]) -> list[bytes]:
        """The documents with these row ids, in this order; one that is gone meanwhile is left out."""

    async def actor(self, srn: str) -> StoredActor | None:
        """An actor by SRN."""

    async def changed_since(self, revision: int, limit: int) -> "list[ChangedRow]":
        """Rows whose last change is later than `revision`, in the order of changes, at most `limit`."""

    async def revision(self) -> tuple[str, int]:
        """Identity of the copy and the number of its last change."""

    async def close(self) -> None:
        """Close the connections."""


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row for those who follow the copy's revisions."""

    id: int
    revision: int
    is_current: bool
    udi: str
    document: bytes


DEVICE = (
    "SELECT document, revision, read_at, detail_version IS NOT NULL FROM devices WHERE primary_di = {} AND is_current"
)
ACTOR = "SELECT srn, name, country, status_code, device_total, complete, read_at FROM actors WHERE srn = {}"
CHANGED = (
    "SELECT id, revision, is_current, primary_di, document FROM devices WHERE revision > {} ORDER BY revision LIMIT {}"
)
REVISION = "SELECT copy_id, revision FROM copy_state WHERE id = 1"


def open_documents(address: str, *, cache_megabytes: int = 16) -> DocumentReader:
    """The reader that fits a database's address."""
    path = sqlite_path(address)
    if path is not None:
        return SqliteDocumentReader(path, cache_megabytes)
    from registerwatch.register.store.documents_postgresql import (
        PostgresDocumentReader,  # needs a driver that takes time to load
    )

    return PostgresDocumentReader(address)


class SqliteDocumentReader:
    """Over a read-only connection that is opened at the first read."""

    def __init__(self, path: Path, cache_megabytes: int) -> None:
        self._reads = SqliteReads(path, cache_megabytes=cache_megabytes, text=bytes)

    async def device(self, udi: str) -> StoredDocument | None:
        row = await self._reads.one(_DEVICE_SQLITE, udi)
        return StoredDocument(row[0], row[1], row[2], bool(row[3])) if row else None

    async def rows(self, ids: Sequence[int]) -> list[bytes]:
        found = [await self._reads.one(_ROW_SQLITE, row_id) for row_id in ids]
        return [row[0] for row in found if row]

    async def actor(self, srn: str) -> StoredActor | None:
        row = await self._reads.one(_ACTOR_SQLITE, srn)
        if row is None:
            return None
        texts = [value.decode() if isinstance(value, bytes) else value for value in row]
        return stored_actor(texts)

    async def changed_since(self, revision: int, limit: int) -> list[ChangedRow]:
        rows = await self._reads.all(_CHANGED_SQLITE, revision, limit)
        return [ChangedRow(row[0], row[1], bool(row[2]), row[3].decode(), row[4]) for row in rows]

    async def revision(self) -> tuple[str, int]:
        row = await self._reads.one(REVISION)
        if row is None:
            raise DatabaseUnavailable("The database has no copy; run `registerwatch db upgrade`.")
        return row[0].decode(), row[1]

    async def close(self) -> None:
        await self._reads.close()


def stored_actor(row: Sequence[Any]) -> StoredActor:
    """An actor from its columns, in the order of `ACTOR`."""
    srn, name, country, status_code, device_total, complete, read_at = row
    actor = Actor(
        srn=srn,
        name=name,
        country=country,
        status_code=status_code,
        device_total=device_total,
        complete=bool(complete),
    )
    return StoredActor(actor, read_at)


_DEVICE_SQLITE = DEVICE.format("?")
_ROW_SQLITE = "SELECT document FROM devices WHERE id = ?"
_ACTOR_SQLITE = ACTOR.format("?")
_CHANGED_SQLITE = CHANGED.format("?", "?")
