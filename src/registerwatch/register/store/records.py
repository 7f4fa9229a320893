"""The stored copy: writing what was read, telling what is stored. All SQL that writes the copy is here.

Every stored change, and every read in full even if it brought nothing new, takes the next number of one increasing
revision. The row that holds the last number is locked for the length of a storing transaction, so whoever follows the
revisions in order misses none, and a read that another one overtook can be told.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any

import msgspec
from sqlalchemy import Row, bindparam, text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.db.engine import Database
from registerwatch.register.models import (
    LAG_SECONDS,
    Actor,
    Completeness,
    Device,
    DeviceReading,
    RecordPrecedence,
    document,
    from_document,
    is_latest,
    may_be_outdated,
    merge,
)
from registerwatch.register.observation import (
    ActorObservation,
    DeviceObservation,
    NullObserver,
    Observation,
    Observer,
    ReadContext,
)
from registerwatch.register.sources.source import KnownRecord


@dataclass(frozen=True, slots=True)
class DeviceChange:
    """A record that storing made or altered; `old` is None for a new one."""

    old: Device | None
    new: Device
    is_current: bool


@dataclass(frozen=True, slots=True)
class CopyState:
    """Size and age of the copy. Instants are unix seconds."""

    copy_id: str
    revision: int
    devices: int
    last_read_at: int | None


@dataclass(frozen=True, slots=True)
class _Stored:
    """A row as it stands before storing."""

    device_json: str
    precedence_of: RecordPrecedence
    is_current: bool
    detail_version: int | None
    revision: int
    read_at: int

    is_altered: bool = False
    """Whether the standing differs from what is stored."""

    @property
    def is_full(self) -> bool:
        """Whether the register itself was read in full at the version that is stored, so that nothing lags in it."""
        return self.detail_version is not None and self.detail_version == self.precedence_of.version_number

    def superseded(self) -> "_Stored":
        """The same row, no latest version any more."""
        precedence = msgspec.structs.replace(self.precedence_of, latest_version=False)
        return replace(self, precedence_of=precedence, is_altered=self.precedence_of.latest_version)


Key = tuple[str, str]
"""UDI-DI and uuid, which together tell a record."""


class RecordStore:
    """The copy in one database."""

    def __init__(self, database: Database, observer: Observer | None = None) -> None:
        self._database = database
        self._observer = observer or NullObserver()

    async def state(self) -> CopyState:
        """Size, age and identity of the copy."""
        async with self._database.reading() as connection:
            row = (await connection.execute(_STATE)).one()
        return CopyState(row.copy_id, row.revision, row.devices, row.last_read_at)

    async def known(self, udi: str) -> dict[str, KnownRecord]:
        """The stored records of a UDI-DI, by uuid."""
        async with self._database.reading() as connection:
            rows = (await connection.execute(_KNOWN, {"udi": udi})).all()
        return {row.uuid: KnownRecord(from_document(row.document), row.detail_version) for row in rows}

    async def store(
        self,
        readings: Iterable[DeviceReading],
        *,
        read_at: int,
        lists_all: bool = False,
        context: ReadContext | None = None,
        since: int | None = None,
    ) -> list[DeviceChange]:
        """Store what one read or one page of a source told, in one transaction with what observers make of it.

        `lists_all` tells that the readings are every record of their UDI-DIs: a stored one that is not among them is
        no latest version any more, so it does not answer for its UDI-DI. `since` is the copy's revision when the read
        began: what was stored of a record after that is newer than what the read may have seen, so the read is left.
        """
        context = context or ReadContext()
        async with context.storing(), self._database.transaction() as connection:
            return await self.store_in(
                connection, readings, read_at=read_at, lists_all=lists_all, context=context, since=since
            )

    async def store_in(
        self,
        connection: AsyncConnection,
        readings: Iterable[DeviceReading],
        *,
        read_at: int,
        lists_all: bool = False,
        context: ReadContext | None = None,
        since: int | None = None,
    ) -> list[DeviceChange]:
        """The same inside a transaction that the caller has open."""
        told = {_key(reading.device): reading for reading in readings}
        if not told:
            return []
        revision = (await connection.execute(_LOCK[self._database.kind])).scalar_one()
        stored = await _stored(connection, told)
        if lists_all and any(_is_overtaken(row, since) for row in stored.values()):
            overtaken = list({udi for udi, _ in told})
            await self._observer.observe(connection, [], context or ReadContext(), unconfirmed=overtaken, now=read_at)
            return []
        if lists_all:
            stored = {key: row if key in told else row.superseded() for key, row in stored.items()}
        told = _without_outdated(told, stored, since, read_at)
        batch = _Batch(told, stored, revision, read_at)
        if batch.rows:
            await connection.exec_driver_sql(_UPSERT[self._database.kind], batch.rows)
            await connection.execute(
                _ADVANCE,
                {"revision": batch.revision, "added": batch.added, "read_at": read_at if batch.live else None},
            )
        await _name_actors(connection, [change.new for change in batch.changes], read_at)
        await self._observer.observe(
            connection, batch.observations, context or ReadContext(), unconfirmed=batch.unconfirmed, now=read_at
        )
        return batch.changes

    async def newest_of(self, connection: AsyncConnection, readings: Sequence[DeviceReading]) -> int:
        """The last revision of the records of these UDI-DIs; 0 where none is stored."""
        asked = {"udis": list({reading.device.udi for reading in readings})}
        return (await connection.execute(_NEWEST, asked)).scalar_one() or 0

    async def store_actor(
        self, actor: Actor, *, read_at: int, context: ReadContext | None = None, since: int | None = None
    ) -> bool:
        """Store an actor that was read, with what observers make of it. True when a field changed.

        `since` is how often the actor had been read when this read began.
        """
        context = context or ReadContext()
        async with context.storing(), self._database.transaction() as connection:
            await connection.execute(_LOCK[self._database.kind])
            before = (await connection.execute(_ACTOR, {"srn": actor.srn})).one_or_none()
            if before is not None and since is not None and before.reads > since:
                await self._observer.observe(connection, [], context, unconfirmed=[actor.srn], now=read_at)
                return False
            known_code = before.status_code if before is not None else ""
            kept = msgspec.structs.replace(actor, status_code=actor.status_code or known_code)
            is_changed = before is None or _actor(before) != kept
            await connection.execute(_UPSERT_ACTOR, {**_actor_row(kept), "read_at": read_at})
            await connection.execute(_READ, {"read_at": read_at})
            await self._observer.observe(connection, [ActorObservation(kept)], context, now=read_at)
        return is_changed

    async def become_another(self) -> None:
        """Take another identity, so that every index of this copy is built anew."""
        async with self._database.transaction() as connection:
            await connection.execute(_IDENTIFY, {"copy_id": token_hex(8)})

    async def revision(self) -> int:
        """The number that was given last: a read that begins now sees nothing older."""
        return (await self.state()).revision

    async def actor_reads(self, srn: str) -> int:
        """How often the actor was read and stored, 0 when there is none."""
        async with self._database.reading() as connection:
            row = (await connection.execute(_ACTOR, {"srn": srn})).one_or_none()
        return 0 if row is None else row.reads

    async def fresh(
        self, connection: AsyncConnection, subjects: Sequence[str], *, since: int
    ) -> list[tuple[Observation, int]]:
        """What the copy has of subjects that were read in full after an instant, and when; without certificates, since
        the copy does not tell whether they could be read.
        """
        if not subjects:
            return []
        asked = {"subjects": list(subjects), "since": since}
        devices = (await connection.execute(_FRESH_DEVICES, asked)).all()
        actors = (await connection.execute(_FRESH_ACTORS, asked)).all()
        return [
            *((DeviceObservation(from_document(row.document)), row.read_at) for row in devices),
            *((ActorObservation(_actor(row)), row.read_at) for row in actors),
        ]

    async def store_bulk_actors(self, actors: Sequence[Actor], *, read_at: int) -> None:
        """Store actors of a bulk source; one that was read from the register itself stays as it is."""
        if actors:
            async with self._database.transaction() as connection:
                rows = [{**_actor_row(actor), "read_at": read_at} for actor in actors]
                await connection.execute(_NAME_ACTOR, sorted(rows, key=lambda row: str(row["srn"])))


class _Batch:
    """What one storing transaction has to write, worked out in memory."""

    def __init__(
        self, told: Mapping[Key, DeviceReading], stored: Mapping[Key, _Stored], revision: int, read_at: int
    ) -> None:
        self.revision, self._read_at = revision, read_at
        self.rows: list[tuple[Any, ...]] = []
        self.changes: list[DeviceChange] = []
        self.observations: list[DeviceObservation] = []
        self.unconfirmed: list[str] = []
        """UDI-DIs of which something says, without proof, that they changed."""
        self.added = 0
        self.live = any(reading.completeness is not Completeness.SOME for reading in told.values())
        merged = {key: news for key, reading in told.items() if (news := _merged(reading, stored.get(key))) is not None}
        precedences = {key: row.precedence_of for key, row in stored.items()} | {
            key: news[1] for key, news in merged.items()
        }
        current, records = _current_keys(precedences), Counter(udi for udi, _ in precedences)
        for key, (device, precedence) in merged.items():
            self._put(told[key], device, precedence, stored.get(key), key in current)
            if key in current:
                self._see(told[key], device, stored.get(key), is_alone=records[device.udi] == 1)
        for key, row in stored.items():
            if key not in merged and (row.is_altered or row.is_current != (key in current)):
                self._flag(row, key in current)

    def _put(
        self,
        reading: DeviceReading,
        device: Device,
        precedence: RecordPrecedence,
        row: _Stored | None,
        is_current: bool,
    ) -> None:
        detail_version = reading.detail_version
        if detail_version is None and row is not None:
            detail_version = row.detail_version
        text_form = document(device).decode()
        is_same = (
            row and row.device_json == text_form and row.precedence_of == precedence and row.is_current == is_current
        )
        if is_same and reading.completeness is Completeness.SOME:
            return
        if row is None:
            self.added += 1
        in_part = (
            row is not None and reading.completeness is Completeness.SOME
        )  # that does not make the whole record fresh
        read_at = row.read_at if row is not None and in_part else self._read_at
        self._write(device, text_form, precedence, is_current, detail_version, read_at)
        if not is_same:
            self.changes.append(DeviceChange(from_document(row.device_json) if row else None, device, is_current))

    def _see(self, reading: DeviceReading, device: Device, row: _Stored | None, *, is_alone: bool) -> None:
        """What a reading tells of the record that answers for its UDI-DI.

        A part of it proves something only about a record that was read in full at this version and answered then, too;
        and not where the UDI-DI has another one, since a part does not tell all that decides which of them answers.
        """
        if reading.completeness is not Completeness.SOME:
            has_all = reading.completeness is Completeness.EVERYTHING
            self.observations.append(DeviceObservation(device, has_all, has_all and reading.searched))
        elif row is None or not row.is_current or not row.is_full or reading.lags or not is_alone:
            if row is None or not row.is_current or row.device_json != document(device).decode():
                self.unconfirmed.append(device.udi)
        elif row.device_json != document(device).decode():
            self.observations.append(DeviceObservation(device, in_full=False))

    def _flag(self, row: _Stored, is_current: bool) -> None:
        """A record that another one displaced, or that stands again. It was not read now."""
        device = from_document(row.device_json)
        if is_current:
            self.unconfirmed.append(device.udi)
        self._write(device, row.device_json, row.precedence_of, is_current, row.detail_version, row.read_at)

    def _write(
        self,
        device: Device,
        text_form: str,
        precedence: RecordPrecedence,
        is_current: bool,
        detail_version: int | None,
        read_at: int,
    ) -> None:
        self.revision += 1
        self.rows.append(
            (
                device.udi,
                device.uuid,
                is_current,
                precedence.latest_version,
                precedence.version_number,
                precedence.legislation_code,
                detail_version,
                self.revision,
                read_at,
                text_form,
            )
        )


def _merged(reading: DeviceReading, row: _Stored | None) -> tuple[Device, RecordPrecedence] | None:
    """The device after a reading and its standing, None when the reading changes nothing."""
    before = from_document(row.device_json) if row else None
    device = merge(before, reading, stored_detail_version=row.detail_version if row else None)
    if device is None:
        return None
    latest = is_latest(_precedence_of(row), reading)
    return device, RecordPrecedence(device.uuid, latest, device.legislation_code, device.version or 0)


def _is_overtaken(row: _Stored | None, since: int | None) -> bool:
    """Whether the record was stored after a read of it began, where that is known."""
    return row is not None and since is not None and row.revision > since


def _without_outdated(
    told: Mapping[Key, DeviceReading], stored: Mapping[Key, _Stored], since: int | None, read_at: int
) -> dict[Key, DeviceReading]:
    """The readings without rows that were asked for before a record was stored, and without those of a source that lags
    about UDI-DIs that the register itself told of lately.
    """
    day_ago = read_at - LAG_SECONDS
    lately = {udi for (udi, _), row in stored.items() if row.detail_version is not None and row.read_at > day_ago}
    return {
        key: reading
        for key, reading in told.items()
        if (key[0] not in lately or not may_be_outdated(_precedence_of(stored.get(key)), reading))
        and (reading.completeness is not Completeness.SOME or not _is_overtaken(stored.get(key), since))
    }


def _precedence_of(row: _Stored | None) -> RecordPrecedence | None:
    return row.precedence_of if row else None


def _current_keys(precedences: Mapping[Key, RecordPrecedence]) -> set[Key]:
    """Of every UDI-DI in sight, the record that answers for it."""
    best: dict[str, RecordPrecedence] = {}
    for (udi, _), precedence in precedences.items():
        other = best.get(udi)
        if other is None or precedence.rank < other.rank:
            best[udi] = precedence
    return {(udi, precedence.uuid) for udi, precedence in best.items()}


async def _stored(connection: AsyncConnection, told: Mapping[Key, DeviceReading]) -> dict[Key, _Stored]:
    """Rows of the same records, and of every other record with the same UDI-DIs."""
    rows = (await connection.execute(_BY_UDI, {"udis": list({udi for udi, _ in told})})).all()
    return {(row.primary_di, row.uuid): _row(row) for row in rows}


def _row(row: Row[Any]) -> _Stored:
    precedence = RecordPrecedence(row.uuid, bool(row.latest_version), row.legislation_code, row.version_number)
    return _Stored(row.document, precedence, bool(row.is_current), row.detail_version, row.revision, row.read_at)


def _key(device: Device) -> Key:
    return device.udi, device.uuid


async def _name_actors(connection: AsyncConnection, devices: Iterable[Device], read_at: int) -> None:
    """Keep a thin record of every manufacturer that a device names, for actors that were never read themselves."""
    named = {
        device.manufacturer_srn: device for device in devices if device.manufacturer_srn and device.manufacturer_name
    }
    rows = [
        {
            "srn": srn,
            "name": device.manufacturer_name,
            "country": srn[:2],
            "status_code": device.manufacturer_status_code,
            "device_total": None,
            "complete": False,
            "read_at": read_at,
        }
        for srn, device in sorted(named.items())
    ]
    if rows:
        await connection.execute(_NAME_ACTOR, rows)


def _actor_row(actor: Actor) -> dict[str, Any]:
    return {name: getattr(actor, name) for name in Actor.__struct_fields__}


def _actor(row: Row[Any]) -> Actor:
    return Actor(
        srn=row.srn,
        name=row.name,
        country=row.country,
        status_code=row.status_code,
        device_total=row.device_total,
        complete=bool(row.complete),
    )


_STATE = text("SELECT copy_id, revision, devices, last_read_at FROM copy_state WHERE id = 1")
_LOCK = {
    "sqlite": text("SELECT revision FROM copy_state WHERE id = 1"),
    "postgresql": text("SELECT revision FROM copy_state WHERE id = 1 FOR UPDATE"),
}
_ADVANCE = text(
    "UPDATE copy_state SET revision = :revision, devices = devices + :added,"
    " last_read_at = COALESCE(:read_at, last_read_at) WHERE id = 1"
).bindparams(bindparam("read_at", type_=None))
_IDENTIFY = text("UPDATE copy_state SET copy_id = :copy_id WHERE id = 1")
_READ = text("UPDATE copy_state SET last_read_at = :read_at WHERE id = 1")
_COLUMNS = (
    "primary_di, uuid, is_current, latest_version, version_number, legislation_code, detail_version,"
    " revision, read_at, document"
)
_BY_UDI = text(f"SELECT {_COLUMNS} FROM devices WHERE primary_di IN :udis").bindparams(
    bindparam("udis", expanding=True)
)
_NEWEST = text("SELECT max(revision) FROM devices WHERE primary_di IN :udis").bindparams(
    bindparam("udis", expanding=True)
)
_KNOWN = text("SELECT uuid, document, detail_version FROM devices WHERE primary_di = :udi")
_OF_ACTOR = "srn, name, country, status_code, device_total, complete, read_at, reads"
_FRESH_DEVICES = text(
    "SELECT document, read_at FROM devices WHERE primary_di IN :subjects AND is_current"
    " AND detail_version = version_number AND read_at > :since"
).bindparams(bindparam("subjects", expanding=True))
_FRESH_ACTORS = text(
    f"SELECT {_OF_ACTOR} FROM actors WHERE srn IN :subjects AND complete AND read_at > :since"
).bindparams(bindparam("subjects", expanding=True))
_WRITTEN = (
    "primary_di",
    "uuid",
    "is_current",
    "latest_version",
    "version_number",
    "legislation_code",
    "detail_version",
    "revision",
    "read_at",
    "document",
)


def _upsert(placeholder: str) -> str:
    """In the driver's own form: bulk fills spend a third of their time in the translation of named parameters."""
    return (
        f"INSERT INTO devices ({', '.join(_WRITTEN)}) VALUES ({', '.join([placeholder] * len(_WRITTEN))})"
        " ON CONFLICT (primary_di, uuid) DO UPDATE SET "
        + ", ".join(f"{column} = excluded.{column}" for column in _WRITTEN[2:])
    )


_UPSERT = {"sqlite": _upsert("?"), "postgresql": _upsert("%s")}
_ACTOR = text(f"SELECT {_OF_ACTOR} FROM actors WHERE srn = :srn")
_UPSERT_ACTOR = text(
    "INSERT INTO actors (srn, name, country, status_code, device_total, complete, read_at, reads)"
    " VALUES (:srn, :name, :country, :status_code, :device_total, :complete, :read_at, 1)"
    " ON CONFLICT (srn) DO UPDATE SET name = excluded.name, country = excluded.country,"
    " status_code = excluded.status_code, device_total = excluded.device_total, complete = excluded.complete,"
    " read_at = excluded.read_at, reads = actors.reads + 1"
)
_NAME_ACTOR = text(
    "INSERT INTO actors (srn, name, country, status_code, device_total, complete, read_at)"
    " VALUES (:srn, :name, :country, :status_code, :device_total, :complete, :read_at)"
    " ON CONFLICT (srn) DO UPDATE SET name = excluded.name,"
    " status_code = CASE WHEN excluded.status_code = '' THEN actors.status_code ELSE excluded.status_code END"
    " WHERE NOT actors.complete AND (actors.name <> excluded.name"
    " OR (excluded.status_code <> '' AND actors.status_code <> excluded.status_code))"
)
