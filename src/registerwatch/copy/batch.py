"""The writes of storing a batch of readings, and the observations for watches. Pure: readings and rows in, rows out."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from registerwatch.copy.basic_records import StoredBasicRecord, last_of
from registerwatch.copy.certificates.delisted_certificates import (
    CertificateList,
    as_in_list,
    as_shared,
    without_lacking,
)
from registerwatch.copy.certificates.device_certificates import OwnCertificates
from registerwatch.copy.certificates.scoped_certificates import (
    READ_NOW,
    DeviceScopes,
    JoinedCertificates,
    LostCertificate,
    StoredCertificates,
    encoded_lost,
    with_scoped,
)
from registerwatch.copy.history.changed_fields import device_changes
from registerwatch.copy.history.history import RecordChange
from registerwatch.platform.structs import replace
from registerwatch.register.basic_records import SharedSearch, contradicts, together, with_record
from registerwatch.register.codes import REGULATIONS, segment
from registerwatch.register.models import (
    DOCUMENT_VERSION,
    LAG_SECONDS,
    Certificate,
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
from registerwatch.register.observation import DeviceObservation

Key = tuple[str, str]
"""UDI-DI and uuid, which together identify a record."""


class DeviceChange(msgspec.Struct, frozen=True, gc=False):
    """A record that was stored or changed; `old` is None for a new one."""

    old: Device | None
    new: Device
    is_current: bool


class StoredRow(msgspec.Struct, frozen=True, gc=False):
    """A row of `devices` before a batch is stored."""

    device_json: str
    precedence: RecordPrecedence
    is_current: bool
    detail_version: int | None
    revision: int
    read_at: int
    source: str
    """Name of the source that brought the document."""
    document_version: int
    delisted_at: int | None
    """The first read in which the register no longer listed the record, None while it does."""

    detail_read_at: int | None = None
    certs_read_at: int | None = None
    """When the read that brought the certificates began, None where they were never read in full."""
    certs_revision: int = 0
    """The revision of their storing."""
    lost: tuple[LostCertificate, ...] = ()

    basic_key: str = ""
    """The key of its Basic UDI-DI record, empty where unknown."""
    basic_read_at: int | None = None
    """The instant before the request for that record, None where it was never read."""
    own_revision: int = READ_NOW
    """The revision at which the record itself was read or seen in a list."""

    watched_read_at: int | None = None
    """A later `read_at`, of a read for watches that found nothing new; it is not public."""
    watched_certs_at: int | None = None
    """A later `certs_read_at`, likewise."""
    watched_basic_at: int | None = None
    """A later `basic_read_at`, likewise."""

    listed_as: "StoredRow | None" = None
    """The row before, where the record was delisted just now."""

    @property
    def is_altered(self) -> bool:
        """Whether the record was delisted just now."""
        return self.listed_as is not None

    @property
    def is_watched(self) -> bool:
        """Whether a part of it was read later for watches."""
        return not (self.watched_read_at is self.watched_certs_at is self.watched_basic_at is None)

    @property
    def last_read_at(self) -> int:
        """When it was last read, for any purpose."""
        return max(self.read_at, self.watched_read_at or 0)

    @property
    def is_full(self) -> bool:
        """Whether the register itself was read in full at the stored version, so that nothing lags in it."""
        return self.detail_version is not None and self.detail_version == self.precedence.version_number

    @property
    def is_answering(self) -> bool:
        """Whether the record answers for its UDI-DI, listed or not, and its details were read."""
        return self.is_current and self.detail_version is not None

    @property
    def is_of_older_version(self) -> bool:
        """Whether its document may lack fields of today's documents."""
        return self.document_version < DOCUMENT_VERSION

    def certificates_of(self, device: Device) -> StoredCertificates:
        """The certificates of the device in this row."""
        return StoredCertificates(device.certs, self.certs_revision, self.lost)

    def shown_as(self, before: "StoredRow") -> "StoredRow":
        """The same row after a read that is not public: it keeps the instants of the row `before`, and later ones
        become those of reads for watches.
        """
        return replace(
            self,
            read_at=before.read_at,
            certs_read_at=before.certs_read_at,
            basic_read_at=before.basic_read_at,
            watched_read_at=_if_later(self.last_read_at, before.read_at),
            watched_certs_at=_if_later(last_of(self.certs_read_at, self.watched_certs_at), before.certs_read_at),
            watched_basic_at=_if_later(last_of(self.basic_read_at, self.watched_basic_at), before.basic_read_at),
        )

    def delisted(self, read_at: int) -> "StoredRow":
        """The same row of a record that the register no longer listed at `read_at`."""
        if self.delisted_at is not None:
            return self
        precedence = replace(self.precedence, latest_version=False)
        return replace(self, precedence=precedence, delisted_at=read_at, own_revision=READ_NOW, listed_as=self)


class _Merged(msgspec.Struct, frozen=True, gc=False):
    """A record after a reading: `text` is the device as a document, `before` the row that it had."""

    reading: DeviceReading
    device: Device
    text: str
    precedence: RecordPrecedence
    delisted_at: int | None
    before: StoredRow | None
    old: Device | None
    """The device in that row."""
    is_stored: bool
    """Whether the device equals the stored one. Fields that an older document lacks count as empty."""
    changed: Mapping[str, Any]
    """Old values of the fields of the stored device that changed; empty where the device is new."""
    joined: JoinedCertificates | None
    """The certificates, with those whose scope names the device; None where only a part was read."""

    @property
    def is_part(self) -> bool:
        """Whether the reading had only a part of the record."""
        return self.reading.completeness is Completeness.SOME

    @property
    def proves_its_part(self) -> bool:
        """Whether a reading of a part is proof, where the UDI-DI has no other known record.

        It is for a current record that was read in full at this version. It is not where an unread record may have
        displaced this one: one that is not the latest version, or not under a regulation.
        """
        row = self.before
        return (
            row is not None
            and row.is_current
            and row.is_full
            and not self.reading.lags
            and self.precedence.latest_version
            and segment(self.precedence.legislation_code) in REGULATIONS
        )

    def row(self, is_current: bool, read_at: int) -> StoredRow:
        """The row to store. A part makes no whole record fresh, brings no detail and keeps its document version."""
        reading, before = self.reading, self.before
        kept = before if self.is_part else None
        row = StoredRow(
            device_json=self.text,
            precedence=self.precedence,
            is_current=is_current,
            detail_version=before.detail_version
            if before and reading.detail_version is None
            else reading.detail_version,
            revision=0,
            read_at=kept.read_at if kept else read_at,
            source=kept.source if kept and self.is_stored else reading.source,
            document_version=kept.document_version if kept else DOCUMENT_VERSION,
            delisted_at=self.delisted_at,
            detail_read_at=read_at if reading.brings_detail else before.detail_read_at if before else None,
            certs_read_at=before.certs_read_at if before else None,
            lost=self.joined.lost if self.joined else before.lost if before else (),
            certs_revision=reading.search_revision or READ_NOW
            if reading.brings_certificates
            else max(before.certs_revision if before else 0, reading.kept_revision),
            basic_key=reading.basic_key or (before.basic_key if before else ""),
            basic_read_at=before.basic_read_at if before else None,
            watched_read_at=kept.watched_read_at if kept else None,
            watched_certs_at=before.watched_certs_at if before else None,
            watched_basic_at=before.watched_basic_at if before else None,
        )
        return row if self.is_part else _with_instants(row, reading, read_at)


def _with_instants(row: StoredRow, reading: DeviceReading, read_at: int) -> StoredRow:
    """A row with the instants of a reading in full."""
    basic_at = read_at if reading.basic_read_at is None else reading.basic_read_at
    shown_at = basic_at if reading.basic_shown_at is None else reading.basic_shown_at
    row = replace(row, basic_read_at=shown_at, watched_basic_at=_if_later(basic_at, shown_at))
    if not reading.brings_certificates:
        return row
    certs_at, shown_at = reading.certificates_at(read_at), reading.certificates_shown_at(read_at)
    return replace(row, certs_read_at=shown_at, watched_certs_at=_if_later(certs_at, shown_at))


def _as_news(row: StoredRow, reading: DeviceReading) -> StoredRow:
    """A row with public news, and so with public instants of the parts that the reading brought: by an earlier instant
    they would seem older than what contradicts them.
    """
    row = replace(row, basic_read_at=row.watched_basic_at or row.basic_read_at, watched_basic_at=None)
    if not reading.brings_certificates:
        return row
    return replace(row, certs_read_at=row.watched_certs_at or row.certs_read_at, watched_certs_at=None)


def _if_later(instant: int | None, other: int | None) -> int | None:
    return instant if instant is not None and (other is None or instant > other) else None


class _Renewed(msgspec.Struct, frozen=True, gc=False):
    """A stored record after the Basic UDI-DI record that it shares was read for another device."""

    old: Device
    device: Device
    row: StoredRow
    is_doubtful: bool
    searched: bool = False
    """Whether its certificates are from a later search, too."""


class Batch:
    """The writes of one storing transaction: `rows` in the order of `statements.WRITTEN`, up to `revision`."""

    def __init__(
        self,
        readings: Mapping[Key, DeviceReading],
        stored: Mapping[Key, StoredRow],
        revision: int,
        read_at: int,
        scopes: DeviceScopes | None = None,
        *,
        is_for_watches: bool = False,
        in_list: CertificateList | None = None,
    ) -> None:
        """`in_list` is the list of certificates for delisted devices."""
        self.revision, self.read_at = revision, read_at
        self._in_list = in_list or CertificateList()
        self._is_for_watches = is_for_watches
        self._scopes = scopes or DeviceScopes()
        self.rows: list[tuple[Any, ...]] = []
        self.watched: list[tuple[Any, ...]] = []
        """Instants of reads for watches, of the rows that have any, in the order of `statements.WATCHED`."""
        self.changes: list[DeviceChange] = []
        self.history: list[RecordChange] = []
        """Old values of changed records."""
        self.added_codes: list[tuple[str, str, str]] = []
        """Other codes that records have gained: code, UDI-DI, uuid."""
        self.removed_codes: list[tuple[str, str, str]] = []
        """Other codes that records have lost."""
        self.observations: list[DeviceObservation] = []
        self.unconfirmed: list[str] = []
        """UDI-DIs that may have changed, without proof."""
        self.listed_again: list[str] = []
        """UDI-DIs of which no record was listed, until a reading of a part of one."""
        self.certificates = OwnCertificates()
        """The certificates of current records."""
        self.added = 0
        self.is_read_in_full = any(reading.completeness is not Completeness.SOME for reading in readings.values())
        listed = {udi for (udi, _), row in stored.items() if row.delisted_at is None}
        results = {
            key: _merged(reading, stored.get(key), self._scopes, is_denied=key[0] not in listed)
            for key, reading in readings.items()
        }
        merged = {key: result for key, result in results.items() if result is not None}
        present: dict[Key, StoredRow | _Merged] = {**stored, **merged}
        current = _current_keys(present)
        records = Counter(udi for (udi, _), record in present.items() if record.delisted_at is None)
        for key, result in merged.items():
            self._add_read(result, key in current)
            if key in current:
                is_found = key[0] not in listed and result.delisted_at is None
                self._add_observation(result, is_alone=records[key[0]] == 1, is_found=is_found)
        for key, row in stored.items():
            if key not in merged and (row.is_altered or row.is_current != (key in current)):
                self._add_unread(row, key in current)

    def renew_scoped(self, row: StoredRow, basic: StoredBasicRecord | None = None) -> None:
        """Update the certificates of a stored record, which was not read now, with the current scopes. Those of a
        delisted one are updated with the list of all certificates, too, and with `basic`, the Basic UDI-DI record that
        it shared.
        """
        old = from_document(row.device_json)
        is_delisted, stored = row.delisted_at is not None, row.certificates_of(old)
        if is_delisted and basic is not None and not contradicts(old, basic.record.record):
            stored = as_shared(stored, basic)
        if is_delisted:
            searched_at = last_of(row.certs_read_at, row.watched_certs_at) or 0
            stored = without_lacking(stored, self._in_list, self._scopes.of(old), searched_at)
            stored = as_in_list(stored, self._in_list, old.manufacturer_srn)
        joined = with_scoped(
            tuple(stored.certificates), self._scopes.of(old), stored, is_searched=False, is_delisted=is_delisted
        )
        if joined.is_doubtful and not is_delisted:  # no read would settle it
            self.unconfirmed.append(old.udi)
        row = replace(row, certs_revision=stored.searched_at)
        device = replace(old, certs=joined.certificates)
        if device == old:
            return
        text = document(device).decode()
        changed = device_changes(old, device, version=row.document_version)
        self._add_row(device, replace(row, device_json=text, lost=joined.lost, own_revision=READ_NOW), row, changed)
        self.changes.append(DeviceChange(old, device, row.is_current))
        shown = Device(udi=device.udi, uuid=device.uuid, certs=device.certs)
        is_fewer = len(stored.certificates) < len(old.certs)
        self.observations.append(DeviceObservation(shown, certificates_read=True, searched=is_fewer, in_full=False))

    def renew_under(self, stored: Mapping[Key, StoredRow], basic: StoredBasicRecord) -> None:
        """Update stored records with the Basic UDI-DI record that they share. No request was sent for them.

        `stored` are all records of their UDI-DIs; in delisted ones only the certificates that they have are updated,
        and those of scopes. Watches are notified of certificates where the record is current and was read in full
        before. Else the device is due for a read, as is one whose own fields the record contradicts, and one of which
        another record than the current one has other certificates.
        """
        renewed = {
            key: each
            for key, row in stored.items()
            if row.basic_key == basic.key
            and row.delisted_at is None
            and (each := _renewed(row, basic, self._scopes)) is not None
        }
        present = {**stored, **{key: each.row for key, each in renewed.items()}}
        current = _current_keys(present)
        for key, each in sorted(renewed.items(), key=lambda pair: pair[0]):
            is_current = key in current
            is_of_other = not is_current and each.device.certs != each.old.certs
            if each.is_doubtful or is_of_other or (is_current and not each.row.is_current):
                self.unconfirmed.append(key[0])
            if each.device == each.old and is_current == each.row.is_current:
                continue
            row = replace(each.row, is_current=is_current)
            changed = device_changes(each.old, each.device, version=row.document_version)
            self._add_row(each.device, row, stored[key], changed)
            self.changes.append(DeviceChange(each.old, each.device, is_current))
            if is_current:
                self._add_renewed(each)
        for key, row in stored.items():
            if key not in renewed and row.is_current != (key in current):
                self._add_unread(row, key in current)
            elif row.basic_key == basic.key and row.delisted_at is not None and row.is_answering:
                self.renew_scoped(row, basic)

    def _add_renewed(self, renewed: "_Renewed") -> None:
        """Add the new certificates of a current record."""
        row, device = renewed.row, renewed.device
        if row.detail_version is None:
            self.unconfirmed.append(device.udi)
        elif device.certs != renewed.old.certs:
            shown = Device(udi=device.udi, uuid=device.uuid, certs=device.certs)
            self.observations.append(
                DeviceObservation(shown, certificates_read=True, searched=renewed.searched, in_full=False)
            )

    def _add_read(self, result: _Merged, is_current: bool) -> None:
        """Add a record that was read. A part of it that brings nothing new is not written."""
        row = result.before
        is_same = (
            row is not None
            and row.precedence == result.precedence
            and row.delisted_at == result.delisted_at
            and row.is_current == is_current
            and result.is_stored
        )
        if is_same and result.is_part:
            return
        if row is None:
            self.added += 1
        self._note_codes(result)
        written = result.row(is_current, self.read_at)
        is_shown = not (self._is_for_watches and is_same and row is not None and not _changes_beside(row, written))
        if self._is_for_watches and is_shown and not result.is_part:
            written = _as_news(written, result.reading)
        self._add_row(result.device, written, row, result.changed, is_shown=is_shown)
        if not is_same:
            self.changes.append(DeviceChange(result.old, result.device, is_current))

    def _add_observation(self, result: _Merged, *, is_alone: bool, is_found: bool) -> None:
        """Add what a reading proves about the current record of its UDI-DI. `is_found` says that no record of it was
        listed until this reading.
        """
        if not result.is_part:
            has_all = result.reading.completeness is Completeness.EVERYTHING
            self.observations.append(
                DeviceObservation(
                    result.device,
                    has_all,
                    has_all and result.reading.searched,
                    scoped=result.joined is not None
                    and result.joined.has_all_scoped
                    and self._scopes.are_known(result.device),
                    oldest_at=result.reading.certificates_at(self.read_at),
                )
            )
            return
        row, is_proof = result.before, is_alone and result.proves_its_part
        if is_found:
            self.listed_again.append(result.device.udi)
        if is_found or (not is_proof and (row is None or not row.is_current or result.changed)):
            self.unconfirmed.append(result.device.udi)
        if is_proof and not result.is_stored:
            self.observations.append(DeviceObservation(result.device, in_full=False))

    def _add_unread(self, row: StoredRow, is_current: bool) -> None:
        """Add a record that was not read now, but displaced by another one or made current again."""
        device = from_document(row.device_json)
        if is_current:
            self.unconfirmed.append(device.udi)
        unread = replace(row, is_current=is_current, own_revision=READ_NOW)
        self._add_row(device, unread, row.listed_as or row, {})

    def _add_row(
        self,
        device: Device,
        row: StoredRow,
        before: StoredRow | None,
        changed: Mapping[str, Any],
        *,
        is_shown: bool = True,
    ) -> None:
        """Add a row to write; `changed` are old values of the stored device's fields that differ. A read that is not
        public leaves the public instants and the revision.
        """
        self.revision += 1
        revision = self.revision
        if before is not None and not is_shown:
            row, revision = row.shown_as(before), before.revision
        if row.is_current and row.delisted_at is None:
            self.certificates.add(device, row.certs_read_at or row.basic_read_at, _known(device, before, changed))
        if before is not None:
            old = {**changed, **_changes_beside(before, row)}
            if old:
                self.history.append(RecordChange(device.udi, old, device.uuid, self.revision))
        if row.is_watched:
            instants = row.watched_read_at, row.watched_certs_at, row.watched_basic_at
            self.watched.append((*instants, device.udi, device.uuid))
        self.rows.append(
            (
                device.udi,
                device.uuid,
                row.is_current,
                row.precedence.latest_version,
                row.precedence.version_number,
                row.precedence.legislation_code,
                row.detail_version,
                revision,
                row.read_at,
                row.device_json,
                row.source,
                row.document_version,
                row.delisted_at,
                row.detail_read_at,
                row.certs_read_at,
                min(row.certs_revision, self.revision),
                encoded_lost(row.lost, self.revision),
                row.basic_key or None,
                row.basic_read_at,
                min(row.own_revision, self.revision),
                self.read_at,
            )
        )

    def _note_codes(self, result: _Merged) -> None:
        """Note the changes of a record's other codes."""
        device = result.device
        reported, stored = device.other_codes or (), (result.old.other_codes or ()) if result.old is not None else ()
        if reported == stored:
            return
        codes, known = {each.code for each in reported}, {each.code for each in stored}
        self.added_codes += [(each, device.udi, device.uuid) for each in sorted(codes - known)]
        self.removed_codes += [(each, device.udi, device.uuid) for each in sorted(known - codes)]


def is_overtaken(row: StoredRow | None, since: int | None) -> bool:
    """Whether a record itself was stored after another read of it began, where that is known."""
    return row is not None and since is not None and row.own_revision > since


def without_outdated(
    readings: Mapping[Key, DeviceReading], stored: Mapping[Key, StoredRow], since: int | None, read_at: int
) -> dict[Key, DeviceReading]:
    """The readings, without rows that were requested before a record was stored, and without those of a source that
    lags about UDI-DIs that were read from the register itself lately.
    """
    day_ago = read_at - LAG_SECONDS
    lately = {udi for (udi, _), row in stored.items() if _was_asked_for(row, day_ago)}
    return {
        key: reading
        for key, reading in readings.items()
        if (key[0] not in lately or not may_be_outdated(_precedence(stored.get(key)), reading))
        and (reading.completeness is not Completeness.SOME or not is_overtaken(stored.get(key), since))
    }


def _merged(reading: DeviceReading, row: StoredRow | None, scopes: DeviceScopes, *, is_denied: bool) -> _Merged | None:
    """The record after a reading, None when the reading changes nothing.

    `is_denied` says that no stored record of its UDI-DI is listed.
    """
    before = from_document(row.device_json) if row else None
    delisted_at = _delisted_at(row, reading, is_denied=is_denied)
    device = merge(before, reading, stored_detail_version=row.detail_version if row else None)
    if device is None and row is not None and delisted_at != row.delisted_at:
        device = before  # the only news is that the record is listed
    if device is None:
        return None
    joined = None
    if reading.completeness is not Completeness.SOME:
        stored = row.certificates_of(before) if row and before else StoredCertificates()
        stored = replace(stored, searched_at=max(stored.searched_at, reading.kept_revision))
        if reading.brings_certificates and reading.search_revision:
            stored = replace(stored, searched_at=reading.search_revision)
        is_searched = reading.brings_certificates and not reading.search_revision
        joined = with_scoped(device.certs, scopes.of(device), stored, is_searched=is_searched)
        device = replace(device, certs=joined.certificates)
    latest = is_latest(_precedence(row), reading)
    precedence = RecordPrecedence(device.uuid, latest, device.legislation_code, device.version or 0)
    text = document(device).decode()
    is_stored = row is not None and (row.device_json == text or (row.is_of_older_version and before == device))
    changed = device_changes(before, device, version=row.document_version) if row and before and not is_stored else {}
    return _Merged(reading, device, text, precedence, delisted_at, row, before, is_stored, changed, joined)


def _renewed(row: StoredRow, basic: StoredBasicRecord, scopes: DeviceScopes) -> _Renewed | None:
    """A stored record with the Basic UDI-DI record that it shares, None where it shows that record already.

    For a document of an older version, only certificates are renewed: it is read in full when it is next due. None are
    renewed for a record whose own fields contradict.
    """
    old, shared = from_document(row.device_json), basic.record
    if contradicts(old, shared.record):
        return _Renewed(old, old, row, is_doubtful=True)
    device = with_record(old, shared.record) if row.document_version == DOCUMENT_VERSION else old
    if old.updated is None:  # a row showed another version, whose date only its detail has
        device = replace(device, updated=None)
    search = basic.search if basic.search and basic.search.revision > row.certs_revision else None
    if not shared.record.has_all_certificates:
        search, certificates = None, old.certs
    else:
        certificates = together(*_around_record(old.certs, shared.record.certs, search))
    searched_at = search.revision if search else row.certs_revision
    before = StoredCertificates(old.certs, searched_at, row.lost)
    joined = with_scoped(certificates, scopes.of(device), before, is_searched=False)
    device = replace(device, certs=joined.certificates)
    precedence = replace(row.precedence, legislation_code=device.legislation_code)
    if device == old and precedence == row.precedence:
        return None
    renewed = replace(
        row,
        device_json=document(device).decode(),
        precedence=precedence,
        lost=joined.lost,
        basic_read_at=shared.read_at,
        watched_basic_at=None,
        certs_revision=searched_at,
    )
    if search:
        renewed = replace(renewed, certs_read_at=_earlier(shared.read_at, search.read_at), watched_certs_at=None)
    return _Renewed(old, device, renewed, joined.is_doubtful, search is not None)


def _around_record(
    own: Collection[Certificate], of_record: Collection[Certificate], search: SharedSearch | None
) -> tuple[Collection[Certificate], ...]:
    """The lists of certificates of a device, of which a later one counts: those that no search confirms any more, those
    of the record, those of the last search, as in a full read. `own` are its stored ones.
    """
    if search is not None:
        return of_record, search.certificates
    searched = [each for each in own if each.listed_in != "record" and not each.scoped]
    confirmed = [each for each in searched if each.confirmed]
    return [each for each in searched if not each.confirmed], of_record, confirmed


def _earlier(one: int | None, other: int | None) -> int | None:
    return min((each for each in (one, other) if each is not None), default=None)


def _known(device: Device, before: StoredRow | None, changed: Mapping[str, Any]) -> tuple[Certificate, ...]:
    """The certificates of a device at the read before; `changed` are old values of its fields that differ."""
    if before is None or (before.certs_read_at or before.basic_read_at) is None:
        return ()
    certificates: tuple[Certificate, ...] = changed.get("certs", device.certs)
    return certificates


BESIDE_DEVICE = ("is_current", "latest_version", "delisted_at", "has_detail", "has_old_detail", "has_certificates")
"""Fields of history beside the device itself: which record is current, which parts were read, and whether the detail is
of an older version."""


def _changes_beside(old: StoredRow, new: StoredRow) -> dict[str, Any]:
    """Old values of those that changed."""
    before, after = _beside_device(old), _beside_device(new)
    if before == after:
        return {}
    values = zip(BESIDE_DEVICE, before, after, strict=True)
    return {name: value for name, value, later in values if value != later}


def _beside_device(row: StoredRow) -> tuple[Any, ...]:
    has_detail, has_certificates = row.detail_version is not None, row.certs_read_at is not None
    has_old_detail = has_detail and not row.is_full
    latest_version = row.precedence.latest_version
    return row.is_current, latest_version, row.delisted_at, has_detail, has_old_detail, has_certificates


def _was_asked_for(row: StoredRow, since: int) -> bool:
    """Whether the register itself was read for this record after an instant, or found not to list it."""
    return (row.detail_version is not None and row.last_read_at > since) or (row.delisted_at or 0) > since


def _delisted_at(row: StoredRow | None, reading: DeviceReading, *, is_denied: bool) -> int | None:
    """Since when a record is not listed, after a reading.

    A source that lags lists it again by a newer version, or where the register has denied the whole UDI-DI (at least a
    day ago, since younger readings are left out before): so a passing fault of the register hides a device for no
    longer.
    """
    if row is None or not reading.lags or (reading.device.version or 0) > row.precedence.version_number:
        return None
    return None if is_denied and reading.latest_version else row.delisted_at


def _precedence(row: StoredRow | None) -> RecordPrecedence | None:
    return row.precedence if row else None


def _current_keys(records: Mapping[Key, StoredRow | _Merged]) -> set[Key]:
    """The current record of every UDI-DI among these records."""
    best: dict[str, Key] = {}
    for key, record in records.items():
        other = best.get(key[0])
        if other is None or _rank(record) < _rank(records[other]):
            best[key[0]] = key
    return set(best.values())


def _rank(record: StoredRow | _Merged) -> tuple[Any, ...]:
    """Sorts the current record first: a listed one, else the one that was listed last; then by precedence."""
    delisted_at = record.delisted_at
    return delisted_at is not None, -(delisted_at or 0), *record.precedence.rank
