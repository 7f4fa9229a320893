"""Stores what was read in the copy, and reads what is stored.

Every stored change, and every read in full even without news, takes the next number of one increasing revision. The row
with the last number is locked during a storing transaction. So a reader of the revisions in order misses none, and a
read that another one overtook is recognised.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from secrets import token_hex
from typing import Any

import msgspec
from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy import statements
from registerwatch.copy.basic_records import BasicRecordStore, changed_at, last_of, note_propagated, stored_record
from registerwatch.copy.batch import Batch, DeviceChange, Key, StoredRow, is_overtaken, without_outdated
from registerwatch.copy.certificates.delisted_certificates import CertificateList, list_for
from registerwatch.copy.certificates.other_records import other_certificates, with_others
from registerwatch.copy.certificates.scoped_certificates import (
    DeviceScopes,
    StoredCertificates,
    decoded_lost,
    device_scopes,
    with_scoped,
)
from registerwatch.copy.history.changed_fields import actor_changes
from registerwatch.copy.history.history import HistoryKind, RecordChange, note_changes
from registerwatch.copy.names import stored_names
from registerwatch.copy.standings import StoredStanding, stored_standings
from registerwatch.platform.clock import is_recent
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.listed_values import listed
from registerwatch.platform.structs import replace
from registerwatch.register.certificate_reads import CertificateRead, OtherCertificate
from registerwatch.register.models import (
    DOCUMENT_VERSION,
    LAG_SECONDS,
    Actor,
    Completeness,
    Device,
    DeviceReading,
    RecordPrecedence,
    from_document,
)
from registerwatch.register.observation import (
    ActorObservation,
    DeviceObservation,
    NullObserver,
    Observation,
    Observer,
    ReadContext,
    WatchedDevices,
)
from registerwatch.sources.source import KnownRecord

CHUNK = 5_000
"""Values of one statement."""
PROPAGATED_AT_ONCE = 200
"""UDI-DIs that one transaction updates with a Basic UDI-DI record."""
DETAIL_SECONDS = 7 * 24 * 3600
"""A stored detail is read again after this long: its dates can change without a new version."""


class CopyState(msgspec.Struct, frozen=True):
    """Size and age of the copy. Instants are unix seconds."""

    copy_id: str
    revision: int
    devices: int
    last_read_at: int | None
    filled_at: int | None
    """The end of the last load, None where there was none."""

    @property
    def updated_at(self) -> int | None:
        """When the copy was last brought up to date, None for never."""
        return max((moment for moment in (self.filled_at, self.last_read_at) if moment is not None), default=None)


class KnownActor(msgspec.Struct, frozen=True):
    """State of an actor for its next read: how often it was read and stored, the register's count of its devices (None
    where it was never asked), since when a count of none is doubted, and when it was last read.
    """

    reads: int = 0
    device_total: int | None = None
    doubted_at: int | None = None
    read_at: int | None = None


class LastRead(msgspec.Struct, frozen=True):
    """When a device and its certificates were last read for any purpose: shown only to its watchers."""

    read_at: int
    certs_at: int | None


class DelistedSubject(msgspec.Struct, frozen=True):
    """A stored device or actor that the register lists no more: when it was last read, and since when it is known to be
    gone.
    """

    observation: Observation
    read_at: int
    delisted_at: int


class RecordStore:
    """The copy in one database."""

    def __init__(
        self, database: Database, observer: Observer | None = None, watched: WatchedDevices | None = None
    ) -> None:
        """`watched` are the devices that become due where another one has a certificate of theirs otherwise."""
        self._database = database
        self._observer = observer or NullObserver()
        self._watched = watched
        self.basic_records = BasicRecordStore(database)

    async def state(self) -> CopyState:
        """Size, age and identity of the copy."""
        [row] = await self._database.rows(statements.STATE)
        return CopyState(*row)

    async def name_of(self, subject: str) -> str:
        """The name of a device or an actor; empty for one that the copy does not have."""
        return (await self.names_of([subject])).get(subject, "")

    async def names_of(self, subjects: Sequence[str]) -> dict[str, str]:
        """The names of those devices and actors that the copy has; empty where they have no name."""
        async with self._database.reading() as connection:
            return {subject: each.name for subject, each in (await stored_names(connection, subjects)).items()}

    async def standings(self, subjects: Collection[str]) -> dict[str, StoredStanding]:
        """The standings of those UDI-DIs and SRNs that the copy has."""
        async with self._database.reading() as connection:
            return await stored_standings(connection, subjects)

    async def other_certificates(self, udi: str) -> Sequence[OtherCertificate]:
        """The certificates of other listed records of a UDI-DI than the current one."""
        async with self._database.reading() as connection:
            return (await other_certificates(connection, [udi])).get(udi, ())

    async def last_read(self, udi: str) -> LastRead | None:
        """When the current record of a UDI-DI was last read, None where the copy has none."""
        async with self._database.reading() as connection:
            row = (await connection.execute(statements.LAST_READ, {"udi": udi})).one_or_none()
        if row is None:
            return None
        read_at = max(row.read_at, row.watched_read_at or 0)
        return LastRead(read_at, last_of(row.certs_read_at, row.watched_certs_at))

    async def known(self, udi: str, *, now: int = 0) -> dict[str, KnownRecord]:
        """The stored records of a UDI-DI, by uuid. A detail that is a week old, or of an older document version, has
        to be read.
        """
        async with self._database.reading() as connection:
            rows = (await connection.execute(statements.KNOWN, {"udi": udi})).all()
        return {
            row.uuid: KnownRecord(
                from_document(row.document),
                _known_detail(row, now),
                row.certs_revision,
                last_of(row.basic_read_at, row.watched_basic_at),
                row.basic_read_at,
                row.certs_read_at,
            )
            for row in rows
        }

    async def store(
        self,
        readings: Iterable[DeviceReading],
        *,
        read_at: int,
        now: int | None = None,
        lists_all: bool = False,
        context: ReadContext | None = None,
        since: int | None = None,
    ) -> list[DeviceChange] | None:
        """Store the readings of one read or one batch of one source, in one transaction with what observers make of it;
        None where another read overtook this one, so that nothing is stored.

        `lists_all` says that the readings are every record of their UDI-DIs: a stored one that is not among them is
        delisted, so it is not current. `since` is the copy's revision when the read began: a record that was stored
        after that may be newer than the read, so the read is not stored. `read_at` is the instant before the first
        request of the read, `now` the present where that differs. A read without `context` is public, as one for a
        stranger.
        """
        async with (context or ReadContext()).storing(), self._database.transaction() as connection:
            return await self.store_in(
                connection, readings, read_at=read_at, now=now, lists_all=lists_all, context=context, since=since
            )

    async def store_in(
        self,
        connection: AsyncConnection,
        readings: Iterable[DeviceReading],
        *,
        read_at: int,
        now: int | None = None,
        lists_all: bool = False,
        context: ReadContext | None = None,
        since: int | None = None,
    ) -> list[DeviceChange] | None:
        """Store readings inside an open transaction, as `store` does."""
        by_key = {_key(reading.device): reading for reading in readings}
        if not by_key:
            return []
        source = next(iter(by_key.values())).source
        revision = (await connection.execute(statements.LOCK[self._database.kind])).scalar_one()
        stored = await _stored(connection, {udi for udi, _ in by_key})
        is_late = lists_all and any(is_overtaken(row, since) for row in stored.values())
        if is_late or await _have_newer_basic_records(connection, by_key.values()):
            overtaken = list({udi for udi, _ in by_key})
            await self._observer.observe(
                connection, [], context or ReadContext(), unconfirmed=overtaken, now=now or read_at, read_at=read_at
            )
            return None
        if lists_all:
            stored = {key: row if key in by_key else row.delisted(read_at) for key, row in stored.items()}
        by_key = without_outdated(by_key, stored, since, read_at)
        scopes = await device_scopes(connection, _read_in_full(by_key.values()))
        batch = Batch(by_key, stored, revision, read_at, scopes, is_for_watches=_is_for_watches(context))
        await self._apply(connection, batch, source, context or ReadContext(), now=now or read_at)
        return batch.changes

    async def _apply(
        self,
        connection: AsyncConnection,
        batch: Batch,
        source: str,
        context: ReadContext,
        *,
        now: int,
        due: Sequence[str] = (),
    ) -> None:
        """Write a batch, and pass on what it proves to observers. Watches on `due` UDI-DIs become due, too, and those
        on other devices whose snapshots have a certificate otherwise.
        """
        reads = await self._write(connection, batch, source)
        others = await self._with_other(connection, batch, reads, now)
        await self._name_actors(connection, batch, source)
        await self._observer.observe(
            connection,
            batch.observations,
            context,
            unconfirmed=[*due, *others, *batch.unconfirmed],
            listed_again=batch.listed_again,
            now=now,
            read_at=batch.read_at,
        )

    async def _name_actors(self, connection: AsyncConnection, batch: Batch, source: str) -> None:
        """Store name and status of every manufacturer that a changed device names, for actors that were never read
        themselves.
        """
        devices = [change.new for change in batch.changes]
        named = {each.manufacturer_srn: each for each in devices if each.manufacturer_srn and each.manufacturer_name}
        actors = [_named_by(device) for _, device in sorted(named.items())]
        await _store_named(connection, actors, _Source(source, batch.read_at, batch.revision))

    async def _with_other(
        self, connection: AsyncConnection, batch: Batch, reads: Sequence[CertificateRead], now: int
    ) -> Sequence[str]:
        """Watched devices that have one of these certificates otherwise. Those under the Basic UDI-DIs of the batch are
        updated without a read.
        """
        if self._watched is None or not reads:
            return ()
        besides = {change.new.basic_udi for change in batch.changes if change.new.basic_udi}
        return await self._watched.with_other(connection, reads, besides=besides, now=now)

    async def propagate(
        self, key: str, *, source: str, now: int, context: ReadContext, most: int = PROPAGATED_AT_ONCE
    ) -> bool:
        """Update the next devices under a Basic UDI-DI with its stored record, and notify their watches.

        One transaction updates at most this many. False where none are left.
        """
        async with context.storing(), self._database.transaction() as connection:
            revision = (await connection.execute(statements.LOCK[self._database.kind])).scalar_one()
            basic = await stored_record(connection, key)
            if basic is None or basic.propagated_to is None:
                return False
            asked = {"key": key, "after": basic.propagated_to, "most": most}
            udis = list((await connection.execute(statements.UNDER, asked)).scalars())
            await note_propagated(connection, key, udis[-1] if len(udis) == most else None)
            stored = await _stored(connection, udis)
            devices = [from_document(row.device_json) for row in stored.values() if row.basic_key == key]
            read_at = max(basic.record.read_at or now, basic.scoped_at or 0)
            scopes, in_list = await device_scopes(connection, devices), await _list_for(connection, stored)
            batch = Batch({}, {}, revision, read_at, scopes, in_list=in_list)
            batch.renew_under(stored, basic)
            await self._apply(connection, batch, source, context, now=now)
        return len(udis) == most

    async def renew_scoped(
        self,
        connection: AsyncConnection,
        udis: Sequence[str],
        *,
        due: Sequence[str] = (),
        read_at: int,
        now: int,
        source: str,
    ) -> None:
        """Update the certificates of stored devices with the current scopes, those of delisted ones with the list of
        certificates too, and notify their watches.

        Nothing is read from the register: only certificates are compared. Watches on `due` devices are made due
        instead. `read_at` is the instant before the list of certificates was read.
        """
        revision = (await connection.execute(statements.LOCK[self._database.kind])).scalar_one()
        stored = await _stored(connection, udis)
        answering = {key: row for key, row in stored.items() if row.is_answering}
        devices = [from_document(row.device_json) for row in answering.values()]
        scopes, in_list = await device_scopes(connection, devices), await _list_for(connection, answering)
        batch = Batch({}, {}, revision, read_at, scopes, in_list=in_list)
        for _, row in sorted(answering.items(), key=lambda each: each[0]):
            batch.renew_scoped(row)
        await self._apply(connection, batch, source, ReadContext(), now=now, due=due)

    async def delist(
        self, udi: str, *, read_at: int, since: int, source: str | None = None, context: ReadContext | None = None
    ) -> None:
        """Note that the register lists no record of a UDI-DI, unless one was stored after the read began.

        The records stay stored, and the current one stays current; lists and the index leave it out. Its certificates
        are updated from the list of certificates. Watches on it are due where another read than one for watches found
        that first.
        """
        async with self._database.transaction() as connection:
            revision = (await connection.execute(statements.LOCK[self._database.kind])).scalar_one()
            stored = await _stored(connection, [udi])
            if not any(is_overtaken(row, since) for row in stored.values()):
                delisted = {key: row.delisted(read_at) for key, row in stored.items()}
                await self._write(connection, Batch({}, delisted, revision, read_at), source)
                if sum(row.delisted_at is None for row in stored.values()) > 1:
                    await self._end_others(connection, stored, read_at)
                await self.renew_scoped(connection, [udi], read_at=read_at, now=read_at, source=source or "")
                is_first = any(row.delisted_at is None for row in stored.values())
                if is_first and context is not None and not context.is_for_watches:
                    await self._observer.observe(
                        connection, [], context, unconfirmed=[udi], now=read_at, read_at=read_at
                    )

    async def _end_others(self, connection: AsyncConnection, stored: Mapping[Key, StoredRow], read_at: int) -> None:
        """Notify watches of a device whose other records are delisted with the current one: their certificates end."""
        current = [from_document(row.device_json) for row in stored.values() if row.is_answering]
        known = [Device(udi=each.udi, uuid=each.uuid, certs=each.certs) for each in current]
        alone = [DeviceObservation(each, certificates_read=True, searched=False, in_full=False) for each in known]
        await self._observer.observe(connection, alone, ReadContext(), now=read_at, read_at=read_at)

    async def _write(self, connection: AsyncConnection, batch: Batch, source: str | None) -> Sequence[CertificateRead]:
        """Write a batch. Returns the certificates that are new or changed in it and of which older reads differ."""
        reads: Sequence[CertificateRead] = ()
        if batch.rows:
            await connection.exec_driver_sql(statements.UPSERT[self._database.kind], batch.rows)
            if batch.watched:
                await connection.exec_driver_sql(statements.SET_WATCHED[self._database.kind], batch.watched)
            if batch.removed_codes:
                await connection.exec_driver_sql(statements.REMOVE_CODE[self._database.kind], batch.removed_codes)
            if batch.added_codes:
                await connection.exec_driver_sql(statements.ADD_CODE[self._database.kind], batch.added_codes)
            reads = await batch.certificates.write(connection, batch.read_at)
            read_at = batch.read_at if batch.is_read_in_full else None
            advanced = {"revision": batch.revision, "added": batch.added, "read_at": read_at}
            await connection.execute(statements.ADVANCE, advanced)
            await note_changes(connection, HistoryKind.DEVICE, batch.history, observed_at=batch.read_at, source=source)
        return reads

    async def newest_of(self, connection: AsyncConnection, readings: Sequence[DeviceReading]) -> int:
        """The last revision of the records of these UDI-DIs; 0 where none is stored."""
        asked = {"udis": list({reading.device.udi for reading in readings})}
        return (await connection.execute(statements.NEWEST, asked)).scalar_one() or 0

    async def store_actor(
        self,
        actor: Actor,
        *,
        read_at: int,
        source: str,
        now: int | None = None,
        context: ReadContext | None = None,
        since: int | None = None,
        doubted_at: int | None = None,
    ) -> bool | None:
        """Store an actor that was read, with what observers make of it. True when a field changed, None where another
        read overtook this one, so that nothing is stored.

        `read_at` and `now` are as for `store`. `since` is how often the actor had been read when this read began.
        `doubted_at` is since when counts of its devices are doubted; then the actor has the earlier count.
        """
        is_for_watches, context = _is_for_watches(context), context or ReadContext()
        async with context.storing(), self._database.transaction() as connection:
            revision = (await connection.execute(statements.LOCK[self._database.kind])).scalar_one()
            before = (await connection.execute(statements.ACTOR, {"srn": actor.srn})).one_or_none()
            if before is not None and since is not None and before.reads > since:
                await self._observer.observe(
                    connection, [], context, unconfirmed=[actor.srn], now=now or read_at, read_at=read_at
                )
                return None
            known_code = before.status_code if before is not None else ""
            kept = replace(actor, status_code=actor.status_code or known_code)
            is_back = before is not None and before.delisted_at is not None
            is_changed = before is None or is_back or _actor(before) != kept
            of = _Source(source, read_at, revision + 1)
            written = {**_actor_row(kept, of), "doubted_at": doubted_at, "watched_read_at": None}
            if is_for_watches and before is not None and not is_changed and before.doubted_at == doubted_at:
                written |= {"read_at": before.read_at, "watched_read_at": read_at}
            await connection.execute(statements.UPSERT_ACTOR, written)
            await connection.execute(statements.READ, {"read_at": read_at})
            if before is None:
                await _advance(connection, of.revision)
            if is_back:
                await _set_listing(connection, actor.srn, None, of.revision)
            if before is not None:
                changed = actor_changes(_actor(before), kept)
                old = {**changed, "delisted_at": before.delisted_at} if is_back else changed
                await _note_actors(connection, [RecordChange(actor.srn, old)], of)
            await self._observer.observe(
                connection, [ActorObservation(kept)], context, now=now or read_at, read_at=read_at
            )
        return is_changed

    async def delist_actor(
        self, srn: str, *, read_at: int, since: int, source: str, context: ReadContext | None = None
    ) -> None:
        """Note that the register has no actor with an SRN, unless one was stored after the read began: `since` is how
        often it had been read then. What is stored of it stays. Watches on it are due as in `delist`.
        """
        async with self._database.transaction() as connection:
            revision = (await connection.execute(statements.LOCK[self._database.kind])).scalar_one()
            stored = (await connection.execute(statements.ACTOR, {"srn": srn})).one_or_none()
            if stored is None or stored.reads > since or stored.delisted_at is not None:
                return
            await _set_listing(connection, srn, read_at, revision + 1)
            change = RecordChange(srn, {"delisted_at": None})
            await _note_actors(connection, [change], _Source(source, read_at, revision + 1))
            if context is not None and not context.is_for_watches:
                await self._observer.observe(connection, [], context, unconfirmed=[srn], now=read_at, read_at=read_at)

    async def renew_identity(self) -> None:
        """Take another identity, so that every index of this copy is rebuilt."""
        async with self._database.transaction() as connection:
            await connection.execute(statements.IDENTIFY, {"copy_id": token_hex(8)})

    async def revision(self) -> int:
        """The last number given: a read that begins now sees nothing older."""
        return (await self.state()).revision

    async def known_actor(self, srn: str) -> KnownActor:
        """The state of an actor before it is read."""
        async with self._database.reading() as connection:
            row = (await connection.execute(statements.ACTOR, {"srn": srn})).one_or_none()
        if row is None:
            return KnownActor()
        return KnownActor(row.reads, row.device_total, row.doubted_at, last_of(row.read_at, row.watched_read_at))

    async def fresh(
        self, connection: AsyncConnection, subjects: Sequence[str], *, since: int
    ) -> list[tuple[Observation, int]]:
        """The stored observations of subjects that were read with their details after an instant, and when.

        Where a device's certificates could not be read then, the known ones are marked as such: certificates that a
        search finds later need not be new.
        """
        if not subjects:
            return []
        asked = {"subjects": list(subjects), "since": since}
        full = {**asked, "document_version": DOCUMENT_VERSION}
        devices = (await connection.execute(statements.FRESH_DEVICES, full)).all()
        actors = (await connection.execute(statements.FRESH_ACTORS, asked)).all()
        scopes = await device_scopes(connection, [from_document(row.document) for row in devices])
        of_devices = await with_others(connection, [_known_device(row, since, scopes) for row in devices])
        return [
            *((each, row.read_at) for each, row in zip(of_devices, devices, strict=True)),
            *((ActorObservation(_actor(row)), row.read_at) for row in actors),
        ]

    async def delisted(self, connection: AsyncConnection, subjects: Sequence[str]) -> list[DelistedSubject]:
        """The stored observations of those among these that the register listed once and lists no more."""
        found: list[DelistedSubject] = []
        for start in range(0, len(subjects), CHUNK):
            asked = {"subjects": list(subjects[start : start + CHUNK])}
            of_devices = {**asked, "document_version": DOCUMENT_VERSION}
            found += map(_delisted_device, await connection.execute(statements.DELISTED_DEVICES, of_devices))
            found += map(_delisted_actor, await connection.execute(statements.DELISTED_ACTORS, asked))
        return found

    async def listed(self, connection: AsyncConnection, udis: Sequence[str]) -> set[str]:
        """The UDI-DIs among these that the copy has a record of."""
        return set((await connection.execute(statements.LISTED, {"udis": list(udis)})).scalars()) if udis else set()

    async def coded(self, connection: AsyncConnection, codes: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The devices that have one of these as another code: for each code one UDI-DI, or two where several have it.

        A code that is the UDI-DI of a stored device means that one, and is left out. Delisted devices are included only
        for codes that no listed one has.
        """
        found: dict[str, tuple[str, ...]] = {}
        for start in range(0, len(codes), CHUNK):
            asked = {"codes": list(codes[start : start + CHUNK])}
            for row in await connection.execute(statements.CODED, asked):  # listed ones come last
                found[row.code] = tuple(dict.fromkeys((row.first, row.last)))
        return found

    async def store_bulk_actors(
        self, connection: AsyncConnection, actors: Sequence[Actor], *, read_at: int, source: str
    ) -> None:
        """Store actors of a bulk source. An actor that was read from the register itself only gets a missing status.

        One that the register has denied is listed again if that was more than a day ago, as devices are; its watches
        no longer say that it is gone, and are due.
        """
        if not actors:
            return
        revision = (await connection.execute(statements.LOCK[self._database.kind])).scalar_one()
        of = _Source(source, read_at, revision + 1)
        before = await _store_named(connection, sorted(actors, key=lambda actor: actor.srn), of)
        if len(before) < len({actor.srn for actor in actors}):
            await _advance(connection, of.revision)
        delisted = [each for each in before if each.delisted_at is not None]
        back = [each for each in delisted if each.delisted_at < read_at - LAG_SECONDS]
        for row in back:
            await _set_listing(connection, row.srn, None, of.revision)
        await _note_actors(connection, [RecordChange(each.srn, {"delisted_at": each.delisted_at}) for each in back], of)
        srns = [each.srn for each in back]
        await self._observer.observe(
            connection, [], ReadContext(), unconfirmed=srns, listed_again=srns, now=read_at, read_at=read_at
        )


def _is_for_watches(context: ReadContext | None) -> bool:
    """Whether a read is for watches, so that it stays hidden from others where it brings nothing new."""
    return context is not None and context.is_for_watches


def _read_in_full(readings: Iterable[DeviceReading]) -> list[Device]:
    return [each.device for each in readings if each.completeness is not Completeness.SOME]


async def _have_newer_basic_records(connection: AsyncConnection, readings: Iterable[DeviceReading]) -> bool:
    """Whether another Basic UDI-DI record or search was stored than the one of a reading."""
    used = [each for each in readings if each.basic_key and each.completeness is not Completeness.SOME]
    changed = await changed_at(connection, {each.basic_key for each in used})
    return any(
        each.basic_revision < changed[each.basic_key][0]
        or (each.search_revision and each.search_revision < changed[each.basic_key][1])
        for each in used
        if each.basic_key in changed and each.basic_revision
    )


async def _list_for(connection: AsyncConnection, stored: Mapping[Key, StoredRow]) -> CertificateList:
    """The list of certificates for the delisted ones of these records."""
    delisted = [row for row in stored.values() if row.delisted_at is not None]
    return await list_for(connection, [from_document(row.device_json) for row in delisted])


async def _stored(connection: AsyncConnection, udis: Collection[str]) -> dict[Key, StoredRow]:
    """Every stored record of these UDI-DIs."""
    by_udi = statements.BY_UDI[connection.dialect.name]
    rows = (await connection.execute(by_udi, {"listed": listed(udis)})).all()
    return {(row.primary_di, row.uuid): _row(row) for row in rows}


def _row(row: Row[Any]) -> StoredRow:
    precedence = RecordPrecedence(row.uuid, bool(row.latest_version), row.legislation_code, row.version_number)
    return StoredRow(
        row.document,
        precedence,
        bool(row.is_current),
        row.detail_version,
        row.revision,
        row.read_at,
        row.source,
        row.document_version,
        row.delisted_at,
        row.detail_read_at,
        row.certs_read_at,
        row.certs_revision,
        decoded_lost(row.lost_certs),
        row.basic_key or "",
        row.basic_read_at,
        row.own_revision,
        row.watched_read_at,
        row.watched_certs_at,
        row.watched_basic_at,
    )


def _known_detail(row: Row[Any], now: int) -> int | None:
    """The version whose detail is stored with every field of today's documents, if it was read lately."""
    is_due = row.detail_read_at is None or not is_recent(row.detail_read_at, now, DETAIL_SECONDS)
    is_older = row.document_version < DOCUMENT_VERSION
    return None if is_due or is_older else row.detail_version


def _known_device(row: Row[Any], since: int, scopes: DeviceScopes) -> DeviceObservation:
    """A stored device with the current scopes, which may be newer than its document."""
    were_searched = row.certs_read_at is not None and row.certs_read_at > since
    device = from_document(row.document)
    stored = StoredCertificates(device.certs, row.certs_revision, decoded_lost(row.lost_certs))
    joined = with_scoped(device.certs, scopes.of(device), stored, is_searched=False)
    return DeviceObservation(
        replace(device, certs=joined.certificates),
        certificates_read=True,
        searched=were_searched,
        scoped=joined.has_all_scoped and scopes.are_known(device),
    )


def _delisted_device(row: Row[Any]) -> DelistedSubject:
    """A stored device that is no longer listed, with the certificates that it had then."""
    observation = DeviceObservation(
        from_document(row.document),
        certificates_read=bool(row.has_detail),
        searched=row.certs_read_at is not None,
        in_full=bool(row.is_in_full),
    )
    return DelistedSubject(observation, row.read_at, row.delisted_at)


def _delisted_actor(row: Row[Any]) -> DelistedSubject:
    return DelistedSubject(ActorObservation(_actor(row)), row.read_at, row.delisted_at)


def _key(device: Device) -> Key:
    return device.udi, device.uuid


class _Source(msgspec.Struct, frozen=True):
    """Where values of actors come from: the source, the instant before its request, and the number of the change."""

    name: str
    read_at: int
    revision: int


async def _store_named(connection: AsyncConnection, actors: Sequence[Actor], of: _Source) -> Sequence[Row[Any]]:
    """Store actors that others name. Returns the rows of those that were stored before. The copy is locked."""
    if not actors:
        return ()
    rows = (await connection.execute(statements.ACTORS, {"srns": [actor.srn for actor in actors]})).all()
    known = {row.srn: _actor(row) for row in rows}
    pairs = [(known.get(srn), actor) for srn, actor in {actor.srn: actor for actor in actors}.items()]
    changed = [(old, _renamed(old, new)) for old, new in pairs if old is not None]
    changed = [(old, new) for old, new in changed if old != new]
    written = [*(new for old, new in pairs if old is None), *(new for _, new in changed)]
    if written:
        await connection.execute(statements.NAME_ACTOR, [_actor_row(actor, of) for actor in written])
        await _note_actors(connection, [RecordChange(old.srn, actor_changes(old, new)) for old, new in changed], of)
    return rows


def _renamed(old: Actor, named: Actor) -> Actor:
    """An actor after another record named it. One that was read itself keeps its name and its known status."""
    if old.complete:
        return replace(old, status_code=old.status_code or named.status_code)
    return replace(old, name=named.name, status_code=named.status_code or old.status_code)


async def _note_actors(connection: AsyncConnection, changes: Sequence[RecordChange], of: _Source) -> None:
    await note_changes(connection, HistoryKind.ACTOR, changes, observed_at=of.read_at, source=of.name)


async def _set_listing(connection: AsyncConnection, srn: str, delisted_at: int | None, revision: int) -> None:
    """Note whether the register has a stored actor, as a change of the copy with this number."""
    await connection.execute(statements.SET_LISTING, {"srn": srn, "delisted_at": delisted_at, "revision": revision})
    await _advance(connection, revision)


async def _advance(connection: AsyncConnection, revision: int) -> None:
    """Note the number of the copy's last change, which is one of actors."""
    await connection.execute(statements.ADVANCE, {"revision": revision, "added": 0, "read_at": None})


def _named_by(device: Device) -> Actor:
    srn = device.manufacturer_srn
    return Actor(srn=srn, name=device.manufacturer_name, country=srn[:2], status_code=device.manufacturer_status_code)


def _actor_row(actor: Actor, of: _Source) -> dict[str, Any]:
    return {**msgspec.structs.asdict(actor), "read_at": of.read_at, "source": of.name, "revision": of.revision}


def _actor(row: Row[Any]) -> Actor:
    return Actor(
        srn=row.srn,
        name=row.name,
        country=row.country,
        status_code=row.status_code,
        device_total=row.device_total,
        complete=bool(row.complete),
    )
