"""Records of devices as they are now, for certificates that they named at an earlier read: a record that names a
certificate no more does not end the stored read of it.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import bindparam, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.certificates.certificate_numbers import plain_number
from registerwatch.copy.certificates.other_records import other_certificates
from registerwatch.copy.tables import devices
from registerwatch.platform.clock import iso_utc
from registerwatch.platform.structs import replace
from registerwatch.register.certificate_identity import Identified, may_be_same
from registerwatch.register.certificate_reads import CertificateRead, DeviceRead, NamedCertificate, OtherCertificate
from registerwatch.register.models import Certificate, from_document


class NamingRecord(msgspec.Struct, frozen=True):
    """The current record of a UDI-DI: its certificates, known as of an instant (0 if they were never read), and when
    the register no longer listed it, None while it does. Instants are unix seconds.
    """

    certificates: tuple[Certificate, ...]
    as_of: int
    delisted_at: int | None
    others: tuple[OtherCertificate, ...] = ()
    """Certificates that other listed records of the UDI-DI name."""

    def alike(self, certificate: Identified) -> Sequence[Certificate]:
        """Its certificates that may be this one, whatever the spaces and capitals of their numbers."""
        return _alike(certificate, self.certificates)

    def of_other(self, read: CertificateRead) -> DeviceRead | None:
        """The last read of another record of the UDI-DI that alone names a certificate; None where there is none."""
        alike = self._of_others(read)
        if self.alike(read) or not alike:
            return None
        as_of = iso_utc(max(each.as_of for each in alike))
        return DeviceRead(as_of, [each.certificate for each in alike], read.read.udi)

    def dropped_at(self, certificate: Identified, read_at: str) -> str | None:
        """When it was known not to name a certificate that it named at `read_at`; None where it does, or may."""
        known_at = iso_utc(max(self.as_of, self.delisted_at or 0))
        is_named = self.alike(certificate) or self._of_others(certificate)
        return known_at if known_at > read_at and not is_named else None

    def _of_others(self, certificate: Identified) -> Sequence[OtherCertificate]:
        return [each for each in self.others if _alike(certificate, [each.certificate])]

    def has_otherwise_named(self, read: CertificateRead) -> bool:
        """Whether it names the certificate of an earlier read of it with another number, revision or notified body: a
        later read has that one.
        """
        own = [each for each in self.alike(read) if each.confirmed and not each.scoped]
        key = read.number, read.revision, read.notified_body
        return iso_utc(self.as_of) > read.read.as_of and bool(own) and key not in map(_key, own)


def named_certificates(
    reads: Sequence[CertificateRead], records: Mapping[str, NamingRecord]
) -> Sequence[NamedCertificate]:
    """The certificates of reads of devices, with what their records, by UDI-DI, have of them now."""
    found = []
    for read in reads:
        record = records.get(read.read.udi)
        values = read.srn, *_key(read), read.read
        if record is None:
            found.append(NamedCertificate(*values))
        elif not record.has_otherwise_named(read):
            delisted_at = None if record.delisted_at is None else iso_utc(record.delisted_at)
            if (of_other := record.of_other(read)) is not None:
                of_record = read.srn, *_key(read), of_other
                found.append(NamedCertificate(*of_record, None, delisted_at, is_of_other=True))
            else:
                found.append(NamedCertificate(*values, record.dropped_at(read, read.read.as_of), delisted_at))
    return found


async def naming_records(connection: AsyncConnection, udis: Collection[str]) -> Mapping[str, NamingRecord]:
    """The current records of these UDI-DIs."""
    rows = await connection.execute(_RECORDS, {"udis": sorted(udis)})
    others = await other_certificates(connection, udis)
    return {row.primary_di: _record(row, others.get(row.primary_di, ())) for row in rows}


def _record(row: Any, others: Sequence[OtherCertificate]) -> NamingRecord:
    as_of = max(row.certs_read_at or 0, row.basic_read_at or 0)
    return NamingRecord(from_document(row.document).certs, as_of, row.delisted_at, tuple(others))


def _alike(certificate: Identified, certificates: Sequence[Certificate]) -> Sequence[Certificate]:
    number = plain_number(certificate.number)
    wanted = Certificate(number, revision=certificate.revision, notified_body=certificate.notified_body)
    return [each for each in certificates if may_be_same(wanted, replace(each, number=plain_number(each.number)))]


def _key(certificate: Identified) -> tuple[str, str, str]:
    return certificate.number, certificate.revision, certificate.notified_body


_RECORDS = select(
    devices.c.primary_di, devices.c.document, devices.c.certs_read_at, devices.c.basic_read_at, devices.c.delisted_at
).where(devices.c.primary_di.in_(bindparam("udis", expanding=True)), devices.c.is_current)
