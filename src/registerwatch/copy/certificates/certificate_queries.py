"""Queries of the stored certificates, refused applications and notified bodies of the whole register."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import msgspec
from sqlalchemy import (
    ColumnElement,
    FromClause,
    Integer,
    Select,
    Text,
    bindparam,
    exists,
    func,
    literal_column,
    or_,
    select,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.certificates.certificate_numbers import plain_number
from registerwatch.copy.certificates.certificate_statements import OF_READ
from registerwatch.copy.certificates.device_certificates import Listed, ListedCertificate, read_of, reads_of_listed
from registerwatch.copy.certificates.naming_records import NamingRecord, named_certificates, naming_records
from registerwatch.copy.history.history import HistoryKind
from registerwatch.copy.history.history_reader import HistoryReader
from registerwatch.copy.history.record_history import StoredChange
from registerwatch.copy.tables import (
    certificate_scopes,
    certificates,
    device_certificates,
    notified_bodies,
    record_history,
    refusals,
    walks,
)
from registerwatch.platform.clock import iso_utc
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.row_pages import RowPage
from registerwatch.platform.db.statements import PreparedSelect
from registerwatch.platform.structs import replace
from registerwatch.register.certificate_reads import (
    CertificateRead,
    DeviceRead,
    ListedStanding,
    ListRead,
    NamedCertificate,
    listed_standing,
)
from registerwatch.register.certificate_states import ShownCertificate, shown_certificate
from registerwatch.register.certificates import MAX_NAMED
from registerwatch.register.models import Certificate


class StoredCertificate(msgspec.Struct, frozen=True):
    """A certificate as stored. Instants are unix seconds, dates as the register has them; `named` counts the Basic
    UDI-DIs that its scopes name.
    """

    id: str
    uuid: str
    srn: str
    actor_name: str
    notified_body: str
    number: str
    revision: str
    type_code: str
    status_code: str
    issue_date: str | None
    valid_from: str | None
    expiry: str | None
    is_latest: bool
    first_seen_at: int
    seen_at: int
    unlisted_at: int | None
    scopes_read_at: int | None
    notified_body_name: str
    named: int
    read: DeviceRead | None = None
    """Its state in the newest read of a device that lists it itself."""
    possible: tuple[DeviceRead, ...] = ()
    """Reads of devices that list it or another one with its number."""

    def standing(self, today: date, own: DeviceRead | None = None) -> ListedStanding:
        """Its standing on a day. `own` is the read of the device that a page is about."""
        listed_at = self.seen_at if self.unlisted_at is None else self.unlisted_at
        return listed_standing(self._listed(today), iso_utc(listed_at), today, self.read, own, self.possible)

    def _listed(self, today: date) -> ShownCertificate:
        """Its state on a day, by the list."""
        certificate = Certificate(
            self.number,
            revision=self.revision,
            expiry=self.expiry,
            valid_from=self.valid_from,
            status_code=self.status_code,
            notified_body=self.notified_body,
        )
        return shown_certificate(certificate, today, is_listed=self.unlisted_at is None)

    @property
    def may_name_more(self) -> bool:
        """Whether it names so many devices that not all may be stored."""
        return self.named >= MAX_NAMED


class FoundCertificate(msgspec.Struct, frozen=True):
    """A certificate with its scopes and the rest of its record as JSON, None where these were never read.

    `last_change` is the id of the last change in its history, 0 where it has none. A later one is not in the
    certificate yet.
    """

    certificate: StoredCertificate
    scopes: str | None
    facts: str | None
    last_change: int


class StoredRefusal(msgspec.Struct, frozen=True):
    """A refused application as stored."""

    id: str
    srn: str
    actor_name: str
    notified_body: str
    reference: str
    procedure_code: str
    refused_on: str | None
    first_seen_at: int
    unlisted_at: int | None
    notified_body_name: str


class StoredWalk(msgspec.Struct, frozen=True):
    """The last read of one of the register's lists: `complete_at` is None before it was first read completely."""

    complete_at: int | None
    problem: str


class CertificatesWithNumber(msgspec.Struct, frozen=True):
    """The stored certificates with a number: those that the register's list has, or had, and those that only records of
    devices name. `walk` is the last read of that list, None before the first.
    """

    listed: Sequence[StoredCertificate]
    of_devices: Sequence[NamedCertificate]
    walk: StoredWalk | None

    @property
    def is_empty(self) -> bool:
        """Whether there is none."""
        return not self.listed and not self.of_devices


class CertificateSelection(msgspec.Struct, frozen=True):
    """A selection of certificates; None for any. `number` is a plain one, `expires_before` a date."""

    number: str | None = None
    srn: str | None = None
    notified_body: str | None = None
    status_codes: tuple[str, ...] = ()
    expires_before: str | None = None


class CertificateCounts(msgspec.Struct, frozen=True):
    """Counts of a selection: its certificates, and those beside them without a date of expiry.

    Without `expires_before` the undated ones are among them.
    """

    total: int
    undated: int


class CertificateQueries:
    """Reads of one database. Lists begin with the certificates that were registered last."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._histories = HistoryReader(database)

    async def walks(self) -> Mapping[str, StoredWalk]:
        """The last read of each list, by its name."""
        rows = await self._database.rows(_WALKS)
        return {name: StoredWalk(complete_at, problem) for name, complete_at, problem in rows}

    async def newest_of(self, srn: str, limit: int) -> tuple[Sequence[StoredCertificate], int]:
        """The newest certificates of a manufacturer, at most `limit`, and how many it has."""
        asked = {"srn": srn, "most": limit, "skipped": 0}
        found: Sequence[StoredCertificate] = _certificates(await self._database.rows(_NEWEST_OF, **asked))
        if found:
            found = _with_reads(found, found, await self._database.rows(_READS_OF_NEWEST, **asked))
            found = await self._without_former_reads(found)
        if len(found) < limit:
            return found, len(found)
        ((total,),) = await self._database.rows(_COUNT_OF, srn=srn)
        return found, max(total, len(found))  # some may have gone in between

    async def with_number(self, number: str, limit: int) -> Sequence[StoredCertificate]:
        """Certificates with this number, whatever its spaces and capitals, at most `limit`."""
        asked = {"number": plain_number(number)}
        found = _certificates(await self._database.rows(_WITH_NUMBER, **asked, most=limit, skipped=0))
        if not found:
            return []
        found = _with_reads(found, found, await self._database.rows(_READS_WITH_NUMBER, **asked))
        return await self._without_former_reads(found)

    async def of_devices_alone(
        self, number: str, limit: int, *, srn: str | None = None, notified_body: str | None = None
    ) -> Sequence[NamedCertificate]:
        """Certificates with this plain number that records of devices name and the list does not have and never had,
        the last read first; of a manufacturer and a notified body where these are given.
        """
        asked = {"number": number, "srn": srn, "notified_body": notified_body}
        rows = await self._database.rows(_OF_DEVICES_ALONE, **asked, most=limit, skipped=0)
        reads = [read_of(row) for row in rows]
        return named_certificates(reads, await self._records({each.read.udi for each in reads}))

    async def numbered(self, number: str, limit: int) -> CertificatesWithNumber:
        """Everything with this number, whatever its spaces and capitals, at most `limit` of each kind."""
        listed, of_devices, walks = await asyncio.gather(
            self.with_number(number, limit), self.of_devices_alone(plain_number(number), limit), self.walks()
        )
        return CertificatesWithNumber(listed, of_devices, walks.get("certificates"))

    async def reads_and_lists(
        self, srn: str, numbers: Collection[str]
    ) -> tuple[Sequence[CertificateRead], Sequence[ListRead]]:
        """The newest reads by devices of a manufacturer's certificates with these numbers, and what the list has."""
        asked = {"srn": srn, "numbers": sorted(numbers)}
        async with self._database.reading() as connection:
            reads = (await connection.execute(_READS_OF_NUMBERS, asked)).all()
            listed = (await connection.execute(_LISTED_WITH_NUMBERS, asked)).all()
        return [read_of(row) for row in reads], [_list_read(row) for row in listed]

    async def with_id(self, ids: Sequence[str]) -> FoundCertificate | None:
        """The certificate with one of these ids; the latest of several versions."""
        statement = (
            _LIST.add_columns(certificates.c.scopes, certificates.c.facts, _LAST_CHANGE)
            .where(or_(certificates.c.id.in_(ids), certificates.c.uuid.in_(ids)))
            .order_by(certificates.c.is_latest.desc(), certificates.c.id.desc())
        )
        async with self._database.reading() as connection:
            row = (await connection.execute(statement.limit(1))).first()
            if row is None:
                return None
            *own, scopes, facts, last_change = row
            found = await _as_read(connection, [_certificate(own)])
        [certificate] = await self._without_former_reads(found)
        return FoundCertificate(certificate, scopes, facts, last_change or 0)

    async def page(
        self, selection: CertificateSelection, limit: int, after: str | None = None
    ) -> RowPage[StoredCertificate]:
        """Certificates of a selection that follow the one with the id `after`."""
        statement = _LIST.where(*_conditions(selection)).order_by(certificates.c.id.desc()).limit(limit + 1)
        if selection.expires_before is not None:
            statement = statement.where(certificates.c.expiry < selection.expires_before)
        if after is not None:
            statement = statement.where(certificates.c.id < after)
        async with self._database.reading() as connection:
            page = RowPage.cut(_certificates((await connection.execute(statement)).all()), limit)
            found = await _as_read(connection, page.rows)
        return replace(page, rows=await self._without_former_reads(found))

    async def counts(self, selection: CertificateSelection) -> CertificateCounts:
        """How many certificates a selection has."""
        before = selection.expires_before
        counted = func.count() if before is None else func.count().filter(certificates.c.expiry < before)
        undated = func.count().filter(certificates.c.expiry.is_(None))
        statement = select(counted, undated).select_from(certificates).where(*_conditions(selection))
        async with self._database.reading() as connection:
            return CertificateCounts(*(await connection.execute(statement)).one())

    async def basic_udis(self, certificate_id: str, limit: int) -> Sequence[str]:
        """Basic UDI-DIs that the scopes of a certificate name, in their order, at most `limit`."""
        rows = await self._database.rows(_BASIC_UDIS, certificate_id=certificate_id, most=limit, skipped=0)
        return [basic_udi for (basic_udi,) in rows]

    async def body_names(self, numbers: Sequence[str]) -> Mapping[str, str]:
        """The names of these notified bodies, where they have one."""
        if not numbers:
            return {}
        statement = select(notified_bodies.c.number, notified_bodies.c.name).where(
            notified_bodies.c.number.in_(list(numbers))
        )
        async with self._database.reading() as connection:
            return {row.number: row.name for row in (await connection.execute(statement)).all() if row.name}

    async def history(self, found: FoundCertificate, limit: int) -> RowPage[StoredChange]:
        """The changes of a certificate up to the found state, the last change first."""
        stored = await self._histories.changes(HistoryKind.CERTIFICATE, found.certificate.id)
        changes = [each for each in stored if each.id <= found.last_change]
        return RowPage.cut(changes, limit)

    async def naming(self, basic_udi: str, certificate_ids: Iterable[str]) -> frozenset[str]:
        """The certificates among these whose scopes name a Basic UDI-DI."""
        rows = await self._database.rows(_NAMING, basic_udi=basic_udi)
        return frozenset(certificate_id for (certificate_id,) in rows).intersection(certificate_ids)

    async def _without_former_reads(self, found: Sequence[StoredCertificate]) -> Sequence[StoredCertificate]:
        """Certificates without later reads of devices, where neither the list nor the device has one any more. A
        certificate that is listed has the newer read of the list soon.
        """
        records = await self._records(_udis_of_unlisted(found))
        return _without_former_reads(found, records)

    async def _records(self, udis: Collection[str]) -> Mapping[str, NamingRecord]:
        """The current records of these UDI-DIs."""
        if not udis:
            return {}
        async with self._database.reading() as connection:
            return await naming_records(connection, udis)

    async def refusals_of(self, srn: str, limit: int) -> RowPage[StoredRefusal]:
        """Refused applications of a manufacturer, the last registered ones first."""
        rows = await self._database.rows(_REFUSALS_OF, srn=srn, most=limit + 1, skipped=0)
        return RowPage.cut([_refusal(row) for row in rows], limit)


async def certificates_as_read(connection: AsyncConnection, ids: Sequence[str]) -> Sequence[StoredCertificate]:
    """Certificates by their ids, in any order, with the newest reads of devices that list them."""
    found: list[StoredCertificate] = []
    for start in range(0, len(ids), _CHUNK):
        rows = await connection.execute(_LIST.where(certificates.c.id.in_(ids[start : start + _CHUNK])))
        found += await _as_read(connection, _certificates(rows))
    udis = _udis_of_unlisted(found)
    return _without_former_reads(found, await naming_records(connection, udis)) if udis else found


def _conditions(selection: CertificateSelection) -> list[ColumnElement[bool]]:
    """All conditions but the date."""
    column = certificates.c
    wanted = (
        (column.plain_number, selection.number),
        (column.srn, selection.srn),
        (column.notified_body, selection.notified_body),
    )
    conditions = [each == value for each, value in wanted if value is not None]
    if selection.status_codes:
        conditions.append(column.status_code.in_(selection.status_codes))
    return conditions


def _certificates(rows: Iterable[Sequence[Any]]) -> list[StoredCertificate]:
    return [_certificate(row) for row in rows]


def _certificate(row: Sequence[Any]) -> StoredCertificate:
    """A certificate from its columns, as in `_LIST`."""
    values = list(row)
    values[_IS_LATEST] = bool(values[_IS_LATEST])
    values[_BODY_NAME] = values[_BODY_NAME] or ""
    return StoredCertificate(*values)


async def _as_read(
    connection: AsyncConnection, certificates: Sequence[StoredCertificate]
) -> Sequence[StoredCertificate]:
    """Certificates with the newest reads of devices that list them."""
    reads = (await connection.execute(_READS, {"ids": [each.id for each in certificates]})).all()
    if not reads:
        return certificates
    alike = await connection.execute(_LISTED, {"ids": [each.id for each in certificates]})
    listed = [ListedCertificate(*row) for row in alike]
    return _with_reads(certificates, listed, reads)


def _with_reads(
    certificates: Sequence[StoredCertificate], listed: Sequence[Listed], reads: Sequence[Sequence[Any]]
) -> list[StoredCertificate]:
    """Certificates with the newest reads of devices. `listed` are all that the list has with the numbers of reads."""
    found = reads_of_listed(listed, map(read_of, reads))
    return [
        replace(each, read=found[each.id].newest, possible=found[each.id].possible) if each.id in found else each
        for each in certificates
    ]


def _udis_of_unlisted(found: Iterable[StoredCertificate]) -> Collection[str]:
    """The devices whose reads certificates have that the list has no more."""
    return {each.read.udi for each in found if each.read is not None and each.unlisted_at is not None}


def _without_former_reads(
    found: Sequence[StoredCertificate], records: Mapping[str, NamingRecord]
) -> Sequence[StoredCertificate]:
    """Certificates without reads by devices whose `records`, by UDI-DI, do not name them any more."""
    return [
        replace(each, read=None)
        if each.read is not None and each.unlisted_at is not None and _is_former(each, records.get(each.read.udi))
        else each
        for each in found
    ]


def _is_former(certificate: StoredCertificate, record: NamingRecord | None) -> bool:
    """Whether the record whose read a certificate has does not name it any more, or is not listed."""
    if record is None or certificate.read is None:
        return False
    return record.delisted_at is not None or record.dropped_at(certificate, certificate.read.as_of) is not None


def _list_read(row: Sequence[Any]) -> ListRead:
    number, revision, body, valid_from, expiry, status_code, seen_at, unlisted_at = row
    as_of = iso_utc(seen_at if unlisted_at is None else unlisted_at)
    return ListRead(number, revision, body, valid_from, expiry, status_code, unlisted_at is None, as_of)


def _refusal(row: Sequence[Any]) -> StoredRefusal:
    *own, body_name = row
    return StoredRefusal(**dict(zip(_OF_REFUSAL, own, strict=True)), notified_body_name=body_name or "")


_CHUNK = 1_000
"""Certificates that one statement asks for."""
_COLUMNS = (
    "id",
    "uuid",
    "srn",
    "actor_name",
    "notified_body",
    "number",
    "revision",
    "type_code",
    "status_code",
    "issue_date",
    "valid_from",
    "expiry",
    "is_latest",
    "first_seen_at",
    "seen_at",
    "unlisted_at",
    "scopes_read_at",
)
_IS_LATEST, _BODY_NAME = _COLUMNS.index("is_latest"), len(_COLUMNS)
"""Positions in a row of `_LIST`: SQLite has a number in the first, and a body without a name null in the second."""
_OF_REFUSAL = (
    "id",
    "srn",
    "actor_name",
    "notified_body",
    "reference",
    "procedure_code",
    "refused_on",
    "first_seen_at",
    "unlisted_at",
)
_NAMED = (
    select(func.count()).where(certificate_scopes.c.certificate_id == certificates.c.id).correlate(certificates)
).scalar_subquery()
_LIST: Select[Any] = select(*(certificates.c[name] for name in _COLUMNS), notified_bodies.c.name, _NAMED).select_from(
    certificates.outerjoin(notified_bodies, notified_bodies.c.number == certificates.c.notified_body)
)
_MOST, _SKIPPED = bindparam("most", type_=Integer), bindparam("skipped", type_=Integer)
"""The offset is always given, since SQLite's dialect would add one that has no name."""
_WALKS = PreparedSelect(select(walks.c.name, walks.c.complete_at, walks.c.problem))
_OF_SRN = certificates.c.srn == bindparam("srn", type_=Text)
_NEWEST_OF = PreparedSelect(_LIST.where(_OF_SRN).order_by(certificates.c.id.desc()).limit(_MOST).offset(_SKIPPED))
_COUNT_OF = PreparedSelect(select(func.count()).select_from(certificates).where(_OF_SRN))
_WITH_NUMBER = PreparedSelect(
    _LIST.where(certificates.c.plain_number == bindparam("number", type_=Text))
    .order_by(certificates.c.id.desc())
    .limit(_MOST)
    .offset(_SKIPPED)
)
_OF_READ: Select[Any] = select(*(device_certificates.c[name] for name in OF_READ))
_WITH_NUMBERS = bindparam("numbers", type_=Text, expanding=True)
_READS_OF_NUMBERS = _OF_READ.where(
    device_certificates.c.srn == bindparam("srn", type_=Text), device_certificates.c.number.in_(_WITH_NUMBERS)
)
_LISTED_WITH_NUMBERS = select(
    certificates.c.number,
    certificates.c.revision,
    certificates.c.notified_body,
    certificates.c.valid_from,
    certificates.c.expiry,
    certificates.c.status_code,
    certificates.c.seen_at,
    certificates.c.unlisted_at,
).where(_OF_SRN, certificates.c.number.in_(_WITH_NUMBERS))
_NEWEST_NUMBERS = (
    select(certificates.c.plain_number).where(_OF_SRN).order_by(certificates.c.id.desc()).limit(_MOST).offset(_SKIPPED)
)
_READS_OF_NEWEST = PreparedSelect(
    _OF_READ.where(
        device_certificates.c.srn == bindparam("srn", type_=Text),
        device_certificates.c.plain_number.in_(_NEWEST_NUMBERS),
    )
)


def _has_number_of(table: FromClause) -> ColumnElement[bool]:
    """Whether its rows have manufacturer and number of a listed certificate, whatever the number's spaces."""
    return (table.c.srn == certificates.c.srn) & (table.c.plain_number == certificates.c.plain_number)


def _is_wanted(column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    """Whether a column has the value of a parameter, any where that is null."""
    wanted = bindparam(name, type_=Text)
    return or_(wanted.is_(None), column == wanted)


_IS_LISTED = _has_number_of(device_certificates)
_OF_LISTED = _OF_READ.distinct().join_from(certificates, device_certificates, _IS_LISTED)
_READS_WITH_NUMBER = PreparedSelect(_OF_LISTED.where(certificates.c.plain_number == bindparam("number", type_=Text)))
_UNKNOWN: ColumnElement[str] = literal_column("''")
_MAY_BE_LISTED = exists().where(
    _IS_LISTED,
    *(
        or_(of_device == of_list, of_device == _UNKNOWN, of_list == _UNKNOWN)
        for of_device, of_list in (
            (device_certificates.c.revision, certificates.c.revision),
            (device_certificates.c.notified_body, certificates.c.notified_body),
        )
    ),
)
_OF_DEVICES_ALONE = PreparedSelect(
    _OF_READ.where(
        device_certificates.c.plain_number == bindparam("number", type_=Text),
        *(_is_wanted(device_certificates.c[name], name) for name in ("srn", "notified_body")),
        ~_MAY_BE_LISTED,
    )
    .order_by(device_certificates.c.read_at.desc(), *(device_certificates.c[name] for name in OF_READ[:4]))
    .limit(_MOST)
    .offset(_SKIPPED)
)
_READS = _OF_LISTED.where(certificates.c.id.in_(bindparam("ids", expanding=True)))
_ALIKE = certificates.alias()
_LISTED = (
    select(*(_ALIKE.c[name] for name in ListedCertificate.__struct_fields__))
    .distinct()
    .join_from(certificates, _ALIKE, _has_number_of(_ALIKE))
    .where(certificates.c.id.in_(bindparam("ids", expanding=True)))
)
_BASIC_UDIS = PreparedSelect(
    select(certificate_scopes.c.basic_udi)
    .where(certificate_scopes.c.certificate_id == bindparam("certificate_id", type_=Text))
    .order_by(certificate_scopes.c.basic_udi)
    .limit(_MOST)
    .offset(_SKIPPED)
)
_LAST_CHANGE = (
    select(func.max(record_history.c.id))
    .where(record_history.c.kind == HistoryKind.CERTIFICATE.value, record_history.c.subject == certificates.c.id)
    .correlate(certificates)
    .scalar_subquery()
)
_NAMING = PreparedSelect(
    select(certificate_scopes.c.certificate_id).where(
        certificate_scopes.c.basic_udi == bindparam("basic_udi", type_=Text)
    )
)
_REFUSALS_OF = PreparedSelect(
    select(*(refusals.c[name] for name in _OF_REFUSAL), notified_bodies.c.name)
    .select_from(refusals.outerjoin(notified_bodies, notified_bodies.c.number == refusals.c.notified_body))
    .where(refusals.c.srn == bindparam("srn", type_=Text))
    .order_by(refusals.c.id.desc())
    .limit(_MOST)
    .offset(_SKIPPED)
)
