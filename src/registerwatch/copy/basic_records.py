"""Basic UDI-DI records in the copy, by the key in the rows of their devices (`basicUdiDiDataUlid`).

A record is stored as soon as it was read, so all simultaneous reads use the same one. Where it differs from the stored
one, `RecordStore.propagate` updates the devices under it afterwards. It also does so where certificates changed whose
scopes name the Basic UDI-DI.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Row, bindparam, text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy import statements
from registerwatch.platform.db.engine import Database
from registerwatch.register import basic_records
from registerwatch.register.basic_records import BasicRecord, SharedRecord, SharedSearch
from registerwatch.register.models import DOCUMENT_VERSION, Certificate


class StoredBasicRecord(msgspec.Struct, frozen=True):
    """A stored record, and the certificates that the search for its Basic UDI-DI found, None where there was none.

    `changed_revision` and `search_changed_revision` are the revisions at which the record and the certificates last
    changed; `propagated_to` is the last UDI-DI that has been updated since, None where all have been.
    """

    key: str
    record: SharedRecord
    search: SharedSearch | None
    changed_revision: int
    search_changed_revision: int
    propagated_to: str | None
    is_of_this_version: bool = True
    """Whether it has every field of today's records."""
    scoped_at: int | None = None
    """The instant before the last read of changed certificates whose scopes name it, None for none."""

    @property
    def is_propagated(self) -> bool:
        """Whether all devices under it are up to date with it."""
        return self.propagated_to is None


class BasicRecordStore:
    """The Basic UDI-DI records of the copy in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def stored(self, key: str) -> StoredBasicRecord | None:
        """The record with this key."""
        async with self._database.reading() as connection:
            return await stored_record(connection, key)

    async def revision(self) -> int:
        """The revision of the copy: reads from now on are younger than every stored record."""
        return int((await self._database.rows(statements.STATE))[0][1])

    async def unpropagated(self, most: int) -> list[str]:
        """The keys of records that some devices under them do not show yet."""
        async with self._database.reading() as connection:
            return list((await connection.execute(_UNPROPAGATED, {"most": most})).scalars())

    async def store_record(
        self, key: str, record: BasicRecord, *, read_at: int, since: int, is_for_watches: bool = False
    ) -> SharedRecord | None:
        """Store a record that was requested at `read_at`, when the copy was at revision `since`.

        None where another one was stored meanwhile, which may be younger. A read for watches that brought nothing new
        leaves the public instant unchanged.
        """
        async with self._database.transaction() as connection:
            revision = (await connection.execute(statements.LOCK[self._database.kind])).scalar_one() + 1
            before, new = await _row(connection, key), basic_records.encoded(record)
            is_same = before is not None and (before.record, before.document_version) == (new, DOCUMENT_VERSION)
            is_overtaken = before is not None and before.revision > since
            if is_overtaken and not is_same:
                return None
            known = _Instants(before.read_at, before.watched_read_at) if before is not None else _NEVER
            instants = known.with_read(read_at, is_overtaken=is_overtaken, is_shown=not (is_same and is_for_watches))
            values = {
                "key": key,
                "basic_udi": record.basic_udi,
                "record": new,
                "document_version": DOCUMENT_VERSION,
                "read_at": instants.shown_at,
                "watched_read_at": instants.watched_at,
                "revision": revision,
                "changed_revision": before.changed_revision if before is not None and is_same else revision,
                "propagated_to": before.propagated_to if before is not None and is_same else "",
            }
            await connection.execute(_UPSERT, values)
            await connection.execute(statements.ADVANCE, {"revision": revision, "added": 0, "read_at": read_at})
        return SharedRecord(record, instants.last, revision, instants.shown_at)

    async def store_search(
        self,
        key: str,
        certificates: tuple[Certificate, ...],
        *,
        read_at: int,
        since: int,
        is_for_watches: bool = False,
    ) -> SharedSearch | None:
        """Store the result of a search for a stored record's Basic UDI-DI, as `store_record` does."""
        async with self._database.transaction() as connection:
            revision = (await connection.execute(statements.LOCK[self._database.kind])).scalar_one() + 1
            before, new = await _row(connection, key), basic_records.encoded_search(certificates)
            if before is None:
                return SharedSearch(certificates)
            is_overtaken, is_same = before.search_revision > since, before.search == new
            if is_overtaken and not is_same:
                return None
            instants = _Instants(before.searched_at, before.watched_search_at).with_read(
                read_at, is_overtaken=is_overtaken, is_shown=not (is_same and is_for_watches)
            )
            values = {
                "key": key,
                "search": new,
                "searched_at": instants.shown_at,
                "watched_search_at": instants.watched_at,
                "search_revision": revision,
                "search_changed_revision": before.search_changed_revision if is_same else revision,
                "propagated_to": before.propagated_to if is_same else "",
            }
            await connection.execute(_SEARCHED, values)
            await connection.execute(statements.ADVANCE, {"revision": revision, "added": 0, "read_at": read_at})
        return SharedSearch(certificates, instants.last, revision, instants.shown_at)


class _Instants(msgspec.Struct, frozen=True):
    """When a part was read: the public instant, and a later read for watches without news. None for never."""

    shown_at: int | None
    watched_at: int | None = None

    @property
    def last(self) -> int | None:
        """The last of both reads."""
        return last_of(self.shown_at, self.watched_at)

    def with_read(self, read_at: int, *, is_overtaken: bool, is_shown: bool) -> "_Instants":
        """The instants after a read at `read_at`. An overtaken one found the same as the later one."""
        last = last_of(read_at, self.last) if is_overtaken else read_at
        shown_at = self.shown_at
        if is_shown:
            shown_at = last_of(read_at, self.shown_at) if is_overtaken else read_at
        return _Instants(shown_at, None if last == shown_at else last)


_NEVER = _Instants(None)


def last_of(*instants: int | None) -> int | None:
    """The last of some instants, None where there is none."""
    return max((each for each in instants if each is not None), default=None)


async def stored_record(connection: AsyncConnection, key: str) -> StoredBasicRecord | None:
    """The record with this key."""
    row = await _row(connection, key)
    return _record(row) if row is not None else None


async def changed_at(connection: AsyncConnection, keys: Collection[str]) -> Mapping[str, tuple[int, int]]:
    """The revisions at which records and their searches last changed, by key."""
    rows = (await connection.execute(_CHANGED, {"keys": sorted(keys)})).all() if keys else []
    return {row.key: (row.changed_revision, row.search_changed_revision) for row in rows}


async def note_scoped(connection: AsyncConnection, basic_udis: Sequence[str], read_at: int) -> None:
    """Note that certificates changed whose scopes name these Basic UDI-DIs, so that the devices under them are updated.
    `read_at` is the instant before the read that found it.
    """
    for start in range(0, len(basic_udis), _CHUNK):
        asked = {"basic_udis": basic_udis[start : start + _CHUNK], "read_at": read_at}
        await connection.execute(_NOTE_SCOPED, asked)


async def note_propagated(connection: AsyncConnection, key: str, after: str | None) -> None:
    """Note the last UDI-DI that was updated with a record, None for the end."""
    await connection.execute(_NOTE_PROPAGATED, {"key": key, "after": after})


async def _row(connection: AsyncConnection, key: str) -> Row[Any] | None:
    return (await connection.execute(_STORED, {"key": key})).one_or_none()


def _record(row: Row[Any]) -> StoredBasicRecord:
    search = (
        None
        if row.search is None
        else SharedSearch(
            basic_records.decoded_search(row.search),
            last_of(row.searched_at, row.watched_search_at),
            row.search_revision,
            row.searched_at,
        )
    )
    return StoredBasicRecord(
        row.key,
        SharedRecord(
            basic_records.decoded(row.record), last_of(row.read_at, row.watched_read_at), row.revision, row.read_at
        ),
        search,
        row.changed_revision,
        row.search_changed_revision,
        row.propagated_to,
        row.document_version == DOCUMENT_VERSION,
        row.scoped_at,
    )


_STORED = text(
    "SELECT key, record, document_version, read_at, watched_read_at, revision, changed_revision, search, searched_at,"
    " watched_search_at, search_revision, search_changed_revision, propagated_to, scoped_at FROM basic_records"
    " WHERE key = :key"
)
_UPSERT = text(
    "INSERT INTO basic_records (key, basic_udi, record, document_version, read_at, watched_read_at, revision,"
    " changed_revision, propagated_to) VALUES (:key, :basic_udi, :record, :document_version, :read_at,"
    " :watched_read_at, :revision, :changed_revision, :propagated_to)"
    " ON CONFLICT (key) DO UPDATE SET basic_udi = excluded.basic_udi, record = excluded.record,"
    " document_version = excluded.document_version,"
    " read_at = excluded.read_at, watched_read_at = excluded.watched_read_at, revision = excluded.revision,"
    " changed_revision = excluded.changed_revision, propagated_to = excluded.propagated_to"
).bindparams(bindparam("propagated_to", type_=None))
_SEARCHED = text(
    "UPDATE basic_records SET search = :search, searched_at = :searched_at, watched_search_at = :watched_search_at,"
    " search_revision = :search_revision, search_changed_revision = :search_changed_revision,"
    " propagated_to = :propagated_to WHERE key = :key"
)
_CHANGED = text(
    "SELECT key, changed_revision, search_changed_revision FROM basic_records WHERE key IN :keys"
).bindparams(bindparam("keys", expanding=True))
_UNPROPAGATED = text("SELECT key FROM basic_records WHERE propagated_to IS NOT NULL ORDER BY key LIMIT :most")
_CHUNK = 1_000
_NOTE_SCOPED = text(
    "UPDATE basic_records SET propagated_to = '', scoped_at = :read_at WHERE basic_udi IN :basic_udis"
).bindparams(bindparam("basic_udis", expanding=True))
_NOTE_PROPAGATED = text("UPDATE basic_records SET propagated_to = :after WHERE key = :key")
