"""Certificates from the newest reads of a manufacturer's devices, to compare the register's list with. Each has one
row, however many devices list it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.certificates import certificate_statements as statements
from registerwatch.copy.certificates.certificate_numbers import plain_number
from registerwatch.platform.clock import iso_utc
from registerwatch.platform.structs import replace
from registerwatch.register.certificate_identity import Identified, may_be_same, same_certificates
from registerwatch.register.certificate_reads import CertificateRead, DeviceRead
from registerwatch.register.certificates import is_long
from registerwatch.register.models import Certificate, Device

MAX_READ_SECONDS = 24 * 3600
"""No read takes this long: a read observed still later is from before the clock was put back."""
Key = tuple[str, str, str, str]
"""SRN of the manufacturer, number, revision, notified body."""


class Listed(Identified, Protocol):
    """A certificate of the register's list."""

    @property
    def id(self) -> str:
        """Its id in the register."""

    @property
    def srn(self) -> str:
        """Its manufacturer's SRN."""

    @property
    def expiry(self) -> str | None:
        """Date of expiry."""

    @property
    def status_code(self) -> str:
        """The register's code of its status."""

    @property
    def unlisted_at(self) -> int | None:
        """When the list had it no more; None while it has."""


class ListedCertificate(msgspec.Struct, frozen=True):
    """What of a certificate of the register's list is compared with reads of devices."""

    id: str
    srn: str
    number: str
    revision: str
    notified_body: str
    expiry: str | None
    status_code: str
    unlisted_at: int | None


class ReadsOfListed(msgspec.Struct, frozen=True):
    """Reads of a listed certificate by devices: the newest that is of no other one, and those that are of it or of
    another one with its number, as far as their revisions and notified bodies tell.
    """

    newest: DeviceRead | None = None
    possible: tuple[DeviceRead, ...] = ()


class OwnCertificate(msgspec.Struct, frozen=True):
    """A certificate that the register lists for a device itself, once or more often, by the newest read."""

    key: Key
    udi: str
    read_at: int
    certificates: tuple[Certificate, ...]

    @property
    def as_read(self) -> CertificateRead:
        """The read with its instant as text."""
        return CertificateRead(*self.key, DeviceRead(iso_utc(self.read_at), self.certificates, self.udi))


class OwnCertificates:
    """Own certificates of the devices that one transaction stores: the newest read of each."""

    def __init__(self) -> None:
        self._found: dict[Key, OwnCertificate] = {}
        self._news: set[Key] = set()
        """Keys of certificates that a device did not have, or had otherwise, at the read before."""

    def add(self, device: Device, read_at: int | None, known: Collection[Certificate] = ()) -> None:
        """Add a device's certificates, which were read at an instant, except those that only scopes name and those that
        no list can have. `known` are those of the read before.
        """
        if read_at is None or not device.manufacturer_srn:
            return
        of_device: dict[Key, list[Certificate]] = {}
        for each in device.certs:
            is_listable = each.number and not is_long(each.number, each.notified_body, each.revision)
            if is_listable and not each.scoped and each.confirmed:
                key = device.manufacturer_srn, each.number, each.revision, each.notified_body
                of_device.setdefault(key, []).append(each)
        for key, alike in of_device.items():
            if any(each not in known for each in alike):
                self._news.add(key)
            before = self._found.get(key)
            if before is None or before.read_at < read_at:
                self._found[key] = OwnCertificate(key, device.udi, read_at, tuple(alike))
            elif before.read_at == read_at:
                both = tuple(dict.fromkeys((*before.certificates, *alike)))
                self._found[key] = OwnCertificate(key, before.udi, read_at, both)

    async def write(self, connection: AsyncConnection, now: int) -> Sequence[CertificateRead]:
        """Store them, but for those of which a newer read is stored, and beside those of another device that was read
        at the same instant. Returns those that are news for their device and of which an older stored read differs.
        """
        if not self._found:
            return ()
        stored = await self._stored(connection)
        self._add_simultaneous(stored)
        rows = [
            {
                **dict(zip(statements.OF_READ, (*each.key, each.udi, each.read_at), strict=False)),
                "told": msgspec.json.encode(each.certificates).decode(),
                "plain_number": plain_number(each.key[1]),
                "latest": now + MAX_READ_SECONDS,
            }
            for _, each in sorted(self._found.items())
        ]
        await connection.execute(statements.NOTE_READ, rows)
        news = [self._found[key] for key in sorted(self._news)]
        return [each.as_read for each in news if any(_has_otherwise(row, each) for row in stored)]

    async def _stored(self, connection: AsyncConnection) -> Sequence[Row[Any]]:
        """The stored reads of certificates with these numbers."""
        asked = {
            "srns": sorted({key[0] for key in self._found}),
            "numbers": sorted({key[1] for key in self._found}),
        }
        return (await connection.execute(statements.READS_OF, asked)).all()

    def _add_simultaneous(self, stored: Iterable[Row[Any]]) -> None:
        """Add what is stored of other devices that were read at the same instants."""
        for row in stored:
            found = self._found.get((row.srn, row.number, row.revision, row.notified_body))
            if found is not None and found.read_at == row.read_at and found.udi != row.primary_di:
                both = tuple(dict.fromkeys((*found.certificates, *_certificates.decode(row.told))))
                self._found[found.key] = replace(found, certificates=both)


async def stored_reads(
    connection: AsyncConnection, srns: Collection[str], numbers: Collection[str]
) -> Sequence[CertificateRead]:
    """The newest reads of these manufacturers' certificates with these numbers by their devices."""
    asked = {"srns": sorted(srns), "numbers": sorted(numbers)}
    return [read_of(row) for row in await connection.execute(statements.READS_OF, asked)]


def read_of(row: Sequence[Any]) -> CertificateRead:
    """A read from its columns, in the order of `certificate_statements.OF_READ`."""
    srn, number, revision, notified_body, udi, read_at, certificates = row
    read = DeviceRead(iso_utc(read_at), _certificates.decode(certificates), udi)
    return CertificateRead(srn, number, revision, notified_body, read)


def reads_of_listed(listed: Sequence[Listed], reads: Iterable[CertificateRead]) -> Mapping[str, ReadsOfListed]:
    """The reads of each certificate that devices list, by id; numbers are the same whatever their spaces and capitals.
    `listed` are all in the list with the numbers of the reads.
    """
    of_list: defaultdict[tuple[str, str], list[ListedCertificate]] = defaultdict(list)
    for each in map(_with_plain_number, listed):
        of_list[each.srn, each.number].append(each)
    of_devices: defaultdict[tuple[str, str], list[CertificateRead]] = defaultdict(list)
    for read in reads:
        plain = replace(read, number=plain_number(read.number))
        of_devices[plain.srn, plain.number].append(plain)
    found: dict[str, ReadsOfListed] = {}
    for key, alike in of_devices.items():
        found |= _reads_of_number(of_list[key], alike)
    return found


def _with_plain_number(listed: Listed) -> ListedCertificate:
    values = [getattr(listed, name) for name in ListedCertificate.__struct_fields__]
    return replace(ListedCertificate(*values), number=plain_number(listed.number))


def _reads_of_number(listed: Sequence[ListedCertificate], reads: Sequence[CertificateRead]) -> dict[str, ReadsOfListed]:
    """The reads of a manufacturer's certificates with one number, by id."""
    until = replaced(listed)
    about = {
        one.id: [each for each in same if _is_until(each, until.get(one.id))]
        for one, same in zip(listed, same_certificates(listed, reads), strict=True)
    }
    certain = [each for found in about.values() for each in found]
    possible: defaultdict[str, list[DeviceRead]] = defaultdict(list)
    for read in reads:
        current = [one for one in listed if _is_until(read, until.get(one.id))]
        for one in (_may_be(read, current) or _may_be(read, listed)) if read not in certain else ():
            possible[one.id].append(read.read)
    newest = {
        key: max((each.read for each in found), key=lambda each: each.as_of) for key, found in about.items() if found
    }
    return {key: ReadsOfListed(newest.get(key), tuple(possible[key])) for key in (*newest, *possible)}


def _is_until(read: CertificateRead, until: str | None) -> bool:
    return until is None or read.read.as_of <= until


def _may_be(read: CertificateRead, listed: Sequence[ListedCertificate]) -> Sequence[ListedCertificate]:
    """The listed certificates that a read may be of: those with its end, if any has it. None where the list has one of
    them as the read has it: then it is that one.
    """
    may_be = [each for each in listed if may_be_same(each, read)]
    if any(_has_alike(each, read) for each in may_be):
        return ()
    ends = {each.expiry for each in read.read.certificates}
    return [each for each in may_be if each.expiry in ends] or may_be


def _has_alike(listed: ListedCertificate, read: CertificateRead) -> bool:
    """Whether the list has a certificate as a read of a device has it; a status that one of them lacks is none."""
    return all(
        each.expiry == listed.expiry and len({each.status_code, listed.status_code} - {""}) < 2
        for each in read.read.certificates
    )


def _has_otherwise(row: Row[Any], own: OwnCertificate) -> bool:
    """Whether a stored read is older than that of a device, may be of the same certificate and has it otherwise."""
    is_older = row.srn == own.key[0] and row.read_at < own.read_at
    return is_older and may_be_same(row, own.as_read) and _certificates.decode(row.told) != own.certificates


def replaced(listed: Sequence[Listed]) -> Mapping[str, str]:
    """When the list had certificates no more of which another record is listed (ISO 8601 in UTC), by id. A read of a
    device that began later is about the other record.
    """
    present: defaultdict[tuple[str, str], list[Listed]] = defaultdict(list)
    for each in listed:
        if each.unlisted_at is None:
            present[each.srn, each.number].append(each)
    return {
        each.id: iso_utc(each.unlisted_at)
        for each in listed
        if each.unlisted_at is not None and any(may_be_same(each, other) for other in present[each.srn, each.number])
    }


_certificates = msgspec.json.Decoder(tuple[Certificate, ...])
