"""Certificates of devices that the register lists no more.

Their own records are not read again. What goes on being read is the Basic UDI-DI record that they shared and the list
of all certificates: the certificates that such a device has follow the newer one of them. None comes to it so, and one
that a search found goes where the list has it for the device no more.
"""

from collections.abc import Collection, Sequence

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.basic_records import StoredBasicRecord
from registerwatch.copy.certificates import certificate_statements as statements
from registerwatch.copy.certificates.scoped_certificates import StoredCertificates, certificate_of, meant_by
from registerwatch.copy.walks import CERTIFICATES, walks
from registerwatch.platform.structs import replace
from registerwatch.register.basic_records import together
from registerwatch.register.certificate_identity import has_same_number, same_certificates
from registerwatch.register.models import Certificate, Device


class CertificateOfList(msgspec.Struct, frozen=True):
    """A certificate of the list, and the revision of the copy before the list was read that showed it last."""

    srn: str
    certificate: Certificate
    revision: int
    is_latest: bool
    names_devices: bool
    """Whether its scope names any Basic UDI-DI."""
    scopes_read_at: int | None


class CertificateList(msgspec.Struct, frozen=True):
    """The certificates of the list that have the numbers of those of some devices, also of other manufacturers.

    `complete_at` is the instant before the last read of the whole list, None where there was none or a certificate of
    it could not be read: then one that is missing may be listed.
    """

    certificates: Sequence[CertificateOfList] = ()
    complete_at: int | None = None

    def lacks(self, certificate: Certificate, named: Collection[Certificate], read_at: int) -> bool:
        """Whether the list says that a certificate is not one of a device, for which it was found at `read_at`: it has
        no such number, or none but what other devices are named by. `named` are those whose scope names the device.
        """
        found = [each for each in self.certificates if has_same_number(certificate, each.certificate)]
        if not found:
            return bool(certificate.number) and (self.complete_at or 0) > read_at
        is_named = any(has_same_number(certificate, each) for each in named)
        return not is_named and all(each.names_devices and (each.scopes_read_at or 0) > read_at for each in found)


async def list_for(connection: AsyncConnection, devices: Sequence[Device]) -> CertificateList:
    """The part of the list that is about the certificates of these devices."""
    numbers = {each.number for device in devices for each in device.certs if each.number}
    if not numbers:
        return CertificateList()
    rows = await connection.execute(statements.WITH_NUMBERS, {"numbers": list(numbers)})
    certificates = [
        CertificateOfList(
            row.srn,
            certificate_of(row),
            row.listed_revision,
            is_latest=bool(row.is_latest),
            names_devices=bool(row.names_devices),
            scopes_read_at=row.scopes_read_at,
        )
        for row in rows
    ]
    walk = (await walks(connection)).get(CERTIFICATES)
    return CertificateList(certificates, walk.complete_at if walk and not walk.unread else None)


def as_shared(stored: StoredCertificates, basic: StoredBasicRecord) -> StoredCertificates:
    """The certificates of a device as a younger Basic UDI-DI record, or a younger search for it, has them."""
    is_younger = basic.record.revision > stored.searched_at
    searched = basic.search if basic.search and basic.search.revision > stored.searched_at else None
    if not is_younger and not searched:
        return stored
    shared = together(basic.record.record.certs if is_younger else (), searched.certificates if searched else ())
    revision = max(basic.record.revision, searched.revision if searched else 0)
    return replace(stored, certificates=_followed(stored.certificates, shared), searched_at=revision)


def as_in_list(stored: StoredCertificates, in_list: CertificateList, srn: str) -> StoredCertificates:
    """The certificates of a device of a manufacturer as a younger list has them."""
    younger = [
        each.certificate
        for each in in_list.certificates
        if each.srn == srn and each.is_latest and each.revision >= stored.searched_at
    ]
    return replace(stored, certificates=_followed(stored.certificates, younger))


def without_lacking(
    stored: StoredCertificates, in_list: CertificateList, named: Collection[Certificate], read_at: int
) -> StoredCertificates:
    """The certificates of a device without those that a search found until `read_at` and that a later read of the list
    has for it no more. `named` are those whose scope names the device.
    """
    kept = [
        each
        for each in stored.certificates
        if each.listed_in != "search" or each.scoped or not in_list.lacks(each, named, read_at)
    ]
    return replace(stored, certificates=kept)


def _followed(own: Sequence[Certificate], newer: Sequence[Certificate]) -> list[Certificate]:
    """Certificates as the newer ones that they are, else their next revisions, have them; those of scopes unchanged."""
    same_as = same_certificates(own, newer)
    meant = [None if each.scoped else meant_by(each, same, own, newer) for each, same in zip(own, same_as, strict=True)]
    return [each if of is None else _following(each, of) for each, of in zip(own, meant, strict=True)]


def _following(certificate: Certificate, newer: Certificate) -> Certificate:
    """A certificate with the status and the end of a newer one."""
    return replace(
        certificate,
        revision=newer.revision or certificate.revision,
        expiry=newer.expiry,
        status=newer.status,
        status_code=newer.status_code,
    )
