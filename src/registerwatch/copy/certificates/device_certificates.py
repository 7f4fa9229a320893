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
    def unlisted_at(self) -> int | None:
        """When the list had it no more; None while it has."""


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


def newest_reads(listed: Sequence[Listed], reads: Iterable[CertificateRead]) -> Mapping[str, DeviceRead]:
    """The newest read of each certificate that a device lists, by id. `listed` are all in the list with the numbers of
    the reads.
    """
    of_list: defaultdict[tuple[str, str], list[Listed]] = defaultdict(list)
    for each in listed:
        of_list[each.srn, each.number].append(each)
    of_devices: defaultdict[tuple[str, str], list[CertificateRead]] = defaultdict(list)
    for read in reads:
        of_devices[read.srn, read.number].append(read)
    until = replaced(listed)
    found: dict[str, DeviceRead] = {}
    for key, alike in of_devices.items():
        for one, same in zip(of_list[key], same_certificates(of_list[key], alike), strict=True):
            about = [each.read for each in same if each.read.as_of <= until.get(one.id, each.read.as_of)]
            if about:
                found[one.id] = max(about, key=lambda each: each.as_of)
    return found


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
