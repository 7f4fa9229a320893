"""The certificate search's rows as they stand now and as they stood: those of the archive, with what changed since."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from registerwatch_standins.register.archive import Archive
from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.records import Certificate, CertificateListing, Party, Registration
from registerwatch_standins.register.wire.codes import derived_ulid, derived_uuid

Key = tuple[str, str, str | None]
"""A manufacturer's SRN, a number and a revision. Twins share it."""
Pair = tuple[CertificateListing | None, CertificateListing | None]
VersionKeys = Literal["same-uuid", "new-uuid", "new-uuid-beside-old"]
"""What a new version of a certificate does to the uuid, and whether the old row stays (`latestVersion` false)."""


class _Index(Struct, frozen=True):
    """The archive's rows by ulid in their order, and their ulids by uuid, SRN and Basic UDI-DI."""

    rows: Mapping[str, CertificateListing]
    ranks: Mapping[str, int]
    by_uuid: Mapping[str, str]
    by_term: Mapping[str, list[str]]


class Listings:
    """A certificate of a registration may be a row here; a change of it holds for all registrations that share it."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._index_of_archive: _Index | None = None
        self._rows: dict[str, CertificateListing] = {}
        """Rows that were made or changed since, by ulid, as they are or last were."""
        self._gone: set[str] = set()
        self._made: dict[str, None] = {}
        self._ulids: dict[str, str] = {}
        self._old_versions: dict[str, list[CertificateListing]] = {}
        self._history: dict[str, list[tuple[str, CertificateListing | None]]] = {}
        self._replaced: dict[Key, Certificate | None] = {}
        """What certificates of registrations have become."""
        self._covering: dict[str, dict[str, None]] = {}
        """Rows that came to cover a Basic UDI-DI, by this."""
        self._changes = 0
        self._all: tuple[int, list[CertificateListing]] = (-1, [])
        """All rows, as they were after so many changes."""
        self.version_keys: VersionKeys = "same-uuid"

    # Reading

    def search(self, wanted: CertificateFilter) -> list[CertificateListing]:
        """The rows that pass this filter, newest first."""
        if wanted == CertificateFilter():
            changes, listed = self._all
            if changes != self._changes:
                changes = self._changes
                listed = list(self._listed([*reversed(list(self._made)), *self._index().rows]))
                self._all = changes, listed
            return listed
        return [row for row in self._listed(self._candidates(wanted)) if wanted.passes(row)]

    def row(self, uuid: str) -> CertificateListing | None:
        """The row with this uuid, if it is listed."""
        ulid = self._ulids.get(uuid) or self._index().by_uuid.get(uuid, "")
        return next((row for row in self._listed([ulid]) if row.uuid == uuid), None)

    def rows_of(self, srn: str) -> list[CertificateListing]:
        """A manufacturer's rows, newest first."""
        return self.search(CertificateFilter(actor_srn=srn))

    def as_of(self, ulid: str, stamp: str) -> CertificateListing | None:
        """The latest version of a row as it was listed at a moment."""
        for changed_at, before in self._history.get(ulid, []):
            if changed_at > stamp:
                return before
        return self._current(ulid)

    def search_as_of(self, wanted: CertificateFilter, stamp: str) -> list[CertificateListing]:
        """The latest versions that passed this filter at a moment."""
        rows = (self.as_of(ulid, stamp) for ulid in [*reversed(list(self._made)), *self._index().rows])
        return [row for row in rows if row is not None and wanted.passes(row)]

    def since(self) -> list[CertificateListing]:
        """The rows that were made or changed since, listed or not."""
        return list(self._rows.values())

    def present(self, record: Registration) -> tuple[Certificate, ...]:
        """A registration's certificates as they stand now: its own, and those that came to cover its Basic UDI-DI."""
        srn, certificates = record.manufacturer.srn, record.certificates
        if self._replaced:
            current = (self._become(srn, certificate) for certificate in certificates)
            certificates = tuple(certificate for certificate in current if certificate is not None)
        rows = (self._current(ulid) for ulid in self._covering.get(record.basic_udi or "", ()))
        more = [row.certificate for row in rows if row is not None and row.manufacturer.srn == srn]
        keys = {(each.number, each.revision) for each in certificates if each.listed_in == "certificate-search"}
        more = [each for each in more if (each.number, each.revision) not in keys]
        return (*certificates, *more) if more else certificates

    # Changing

    def add(self, row: CertificateListing, stamp: str) -> CertificateListing:
        """List a certificate as the newest one."""
        self._made[row.ulid] = None
        self._keep(row, None, stamp)
        return row

    def change(self, row: CertificateListing, after: CertificateListing, stamp: str) -> CertificateListing:
        """A row gets a new version; registrations follow where it is the first of those with its key."""
        *twins, first = self._of_key(_key(row))
        if first.ulid == row.ulid:
            self._replaced[_key(row)] = after.certificate
            for twin in twins:
                self._cover(twin, twin.basic_udis)
        return self._change(row, after, stamp)

    def unlist(self, row: CertificateListing, stamp: str) -> None:
        """A row goes; registrations no longer have the certificate where no twin of it is left."""
        if len(self._of_key(_key(row))) == 1:
            self._replaced[_key(row)] = None
        self._remove(row, stamp)

    def replace(self, record: Registration, old: Certificate, new: Certificate | None, stamp: str) -> list[Pair]:
        """A listed certificate of this registration becomes another, or is taken out, with all its twins."""
        key = (record.manufacturer.srn, old.number, old.revision)
        self._replaced[key] = new
        pairs: list[Pair] = []
        for row in self._of_key(key):
            if new is None:
                self._remove(row, stamp)
                pairs.append((row, None))
            else:
                pairs.append((row, self._change(row, replace(row, certificate=new), stamp)))
        return pairs

    def join(self, record: Registration, certificate: Certificate, stamp: str) -> list[Pair]:
        """A registration gets a listed certificate: one that is there covers it as well, else it is listed (again)."""
        key = (record.manufacturer.srn, certificate.number, certificate.revision)
        basic_udis = (record.basic_udi,) if record.basic_udi else ()
        rows = self._of_key(key)
        if not rows and self._replaced.get(key, certificate) is None:
            rows = [row for row in self._rows.values() if row.ulid in self._gone and _key(row) == key]
        if rows or self._replaced.get(key, certificate) is None:
            self._replaced[key] = certificate
        if rows:
            return [self._join(row, certificate, basic_udis, stamp) for row in rows]
        uuid = derived_uuid("listed", *map(str, key), str(len(self._made)))
        return [(None, self.add(listing(uuid, certificate, record.manufacturer, basic_udis), stamp))]

    # Inside

    def _join(self, row: CertificateListing, certificate: Certificate, basic_udis: tuple[str, ...], stamp: str) -> Pair:
        before = self._current(row.ulid)
        covered = tuple(dict.fromkeys((*row.basic_udis, *basic_udis)))
        self._cover(row, covered)
        return before, self._change(row, replace(row, certificate=certificate, basic_udis=covered), stamp)

    def _change(self, row: CertificateListing, after: CertificateListing, stamp: str) -> CertificateListing:
        """The next version of a row, unless nothing of it differs."""
        before = self._current(row.ulid)
        if before == after:
            return after
        after = replace(after, version_number=row.version_number + 1, version_date=stamp)
        if self.version_keys != "same-uuid":
            after = replace(after, uuid=derived_uuid(row.ulid, str(after.version_number)))
        if self.version_keys == "new-uuid-beside-old":
            self._old_versions.setdefault(row.ulid, []).insert(0, replace(row, latest_version=False))
        self._keep(after, before, stamp)
        return after

    def _remove(self, row: CertificateListing, stamp: str) -> None:
        self._keep(row, row, stamp)
        self._gone.add(row.ulid)
        self._changes += 1

    def _keep(self, row: CertificateListing, before: CertificateListing | None, stamp: str) -> None:
        self._history.setdefault(row.ulid, []).append((stamp, before))
        self._rows[row.ulid] = row
        self._gone.discard(row.ulid)
        self._ulids[row.uuid] = row.ulid
        archived = self._index().rows.get(row.ulid)
        self._cover(row, [each for each in row.basic_udis if archived is None or each not in archived.basic_udis])
        self._changes += 1

    def _cover(self, row: CertificateListing, basic_udis: Iterable[str]) -> None:
        """From now on registrations have this certificate though their own lists do not."""
        for basic_udi in basic_udis:
            self._covering.setdefault(basic_udi, {})[row.ulid] = None

    def _current(self, ulid: str) -> CertificateListing | None:
        """The latest version of a row, if it is listed."""
        return None if ulid in self._gone else self._rows.get(ulid) or self._index().rows.get(ulid)

    def _listed(self, ulids: Iterable[str]) -> Iterator[CertificateListing]:
        """These rows as far as they are listed, each followed by its old versions that are as well."""
        for ulid in ulids:
            row = self._current(ulid)
            if row is not None:
                yield row
                yield from self._old_versions.get(ulid, ())

    def _of_key(self, key: Key) -> list[CertificateListing]:
        """The latest versions that have this key, the first listed last."""
        return [row for row in self.rows_of(key[0]) if row.latest_version and _key(row) == key]

    def _candidates(self, wanted: CertificateFilter) -> list[str]:
        """Rows among which those that pass must be, newest first."""
        index = self._index()
        term = wanted.basic_udi or wanted.actor_srn
        if term is None:
            return [*reversed(list(self._made)), *index.rows]
        changed = (ulid for ulid in list(self._rows) if ulid in index.rows)
        archived = sorted({*index.by_term.get(term, ()), *changed}, key=index.ranks.__getitem__)
        return [*reversed(list(self._made)), *archived]

    def _index(self) -> _Index:
        if self._index_of_archive is None:
            rows = {row.ulid: row for row in self._archive.listings()}
            by_term: dict[str, list[str]] = {}
            for row in rows.values():
                for term in (row.manufacturer.srn, *row.basic_udis):
                    by_term.setdefault(term, []).append(row.ulid)
            ranks = {ulid: rank for rank, ulid in enumerate(rows)}
            by_uuid = {row.uuid: row.ulid for row in rows.values()}
            self._index_of_archive = _Index(rows, ranks, by_uuid, by_term)  # at once: several threads answer
        return self._index_of_archive

    def _become(self, srn: str, certificate: Certificate) -> Certificate | None:
        """What a certificate has become; a chain of changes of number or revision is followed to its end."""
        current: Certificate | None = certificate
        seen: set[Key] = set()
        while current is not None and current.listed_in == "certificate-search":
            key = (srn, current.number, current.revision)
            if key in seen or key not in self._replaced:
                break
            seen.add(key)
            current = self._replaced[key]
        return current


def listing(
    uuid: str, certificate: Certificate, manufacturer: Party, basic_udis: tuple[str, ...] = ()
) -> CertificateListing:
    """The first version of a row."""
    return CertificateListing(uuid, derived_ulid(uuid), certificate, manufacturer, basic_udis)


def _key(row: CertificateListing) -> Key:
    return row.manufacturer.srn, row.certificate.number, row.certificate.revision
