"""Certificates from the newest reads of a manufacturer's devices, to compare the register's list with. Each has one
row, however many devices list it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.certificates import certificate_statements as statements
from registerwatch.platform.clock import iso_utc
from registerwatch.platform.structs import replace
from registerwatch.register.certificate_identity import Identified, same_certificates
from registerwatch.register.certificate_reads import DeviceRead
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


class OwnCertificate(msgspec.Struct, frozen=True):
    """A certificate that the register lists for a device itself, once or more often, by the newest read."""

    key: Key
    udi: str
    read_at: int
    certificates: tuple[Certificate, ...]


class OwnCertificates:
    """Own certificates of the devices that one transaction stores: the newest read of each."""

    def __init__(self) -> None:
        self._found: dict[Key, OwnCertificate] = {}

    def add(self, device: Device, read_at: int | None) -> None:
        """Add a device's certificates, which were read at an instant, except those that only scopes name and those that
        no list can have.
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
            before = self._found.get(key)
            if before is None or before.read_at < read_at:
                self._found[key] = OwnCertificate(key, device.udi, read_at, tuple(alike))
            elif before.read_at == read_at:
                both = tuple(dict.fromkeys((*before.certificates, *alike)))
                self._found[key] = OwnCertificate(key, before.udi, read_at, both)

    async def write(self, connection: AsyncConnection, now: int) -> None:
        """Store them, but for those of which a newer read is stored, and beside those of another device that was read
        at the same instant.
        """
        if not self._found:
            return
        await self._add_stored(connection)
        rows = [
            {
                **dict(zip(statements.OF_READ, (*each.key, each.udi, each.read_at), strict=False)),
                "told": msgspec.json.encode(each.certificates).decode(),
                "latest": now + MAX_READ_SECONDS,
            }
            for _, each in sorted(self._found.items())
        ]
        await connection.execute(statements.NOTE_READ, rows)

    async def _add_stored(self, connection: AsyncConnection) -> None:
        """Add what is stored of other devices that were read at the same instants."""
        asked = {
            "srns": sorted({key[0] for key in self._found}),
            "numbers": sorted({key[1] for key in self._found}),
            "instants": sorted({each.read_at for each in self._found.values()}),
        }
        for row in (await connection.execute(statements.READS_AT, asked)).all():
            found = self._found.get((row.srn, row.number, row.revision, row.notified_body))
            if found is not None and found.read_at == row.read_at and found.udi != row.primary_di:
                both = tuple(dict.fromkeys((*found.certificates, *_certificates.decode(row.told))))
                self._found[found.key] = replace(found, certificates=both)


class StoredRead(msgspec.Struct, frozen=True):
    """The newest read of a certificate, with what identifies the certificate."""

    srn: str
    number: str
    revision: str
    notified_body: str
    read: DeviceRead

    @classmethod
    def of(cls, row: Sequence[Any]) -> "StoredRead":
        """A read from its columns, in the order of `certificate_statements.OF_READ`."""
        srn, number, revision, notified_body, udi, read_at, certificates = row
        return cls(
            srn, number, revision, notified_body, DeviceRead(iso_utc(read_at), _certificates.decode(certificates), udi)
        )


def newest_reads(listed: Sequence[Listed], reads: Iterable[StoredRead]) -> Mapping[str, DeviceRead]:
    """The newest read of each certificate that a device lists, by id. `listed` are all in the list with the numbers of
    the reads.
    """
    of_list: defaultdict[tuple[str, str], list[Listed]] = defaultdict(list)
    for each in listed:
        of_list[each.srn, each.number].append(each)
    of_devices: defaultdict[tuple[str, str], list[StoredRead]] = defaultdict(list)
    for read in reads:
        of_devices[read.srn, read.number].append(read)
    found: dict[str, DeviceRead] = {}
    for key, alike in of_devices.items():
        for one, same in zip(of_list[key], same_certificates(of_list[key], alike), strict=True):
            if same:
                found[one.id] = max((each.read for each in same), key=lambda each: each.as_of)
    return found


_certificates = msgspec.json.Decoder(tuple[Certificate, ...])
