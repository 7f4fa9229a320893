"""Certificates of devices that the register lists no more.

Their own records are not read again. What goes on being read is the Basic UDI-DI record that they shared and the list
of all certificates: the certificates that such a device has follow the newer one of them, and none comes to it so.
"""

from collections.abc import Mapping, Sequence

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.basic_records import StoredBasicRecord
from registerwatch.copy.certificates import certificate_statements as statements
from registerwatch.copy.certificates.scoped_certificates import StoredCertificates, certificate_of, meant_by
from registerwatch.platform.structs import replace
from registerwatch.register.basic_records import together
from registerwatch.register.certificate_identity import same_certificates
from registerwatch.register.models import Certificate, Device


class ListedCertificate(msgspec.Struct, frozen=True):
    """A certificate of the list, and the revision of the copy before the list was read that showed it last."""

    certificate: Certificate
    revision: int


ListedByManufacturer = Mapping[str, Sequence[ListedCertificate]]
"""By SRN."""


async def listed_with_numbers(connection: AsyncConnection, devices: Sequence[Device]) -> ListedByManufacturer:
    """The certificates of the list that have the numbers of those of devices, for their manufacturers."""
    found: dict[str, list[ListedCertificate]] = {}
    numbers = {each.number for device in devices for each in device.certs if each.number}
    srns = {device.manufacturer_srn for device in devices if device.manufacturer_srn}
    if not numbers or not srns:
        return found
    for row in await connection.execute(statements.WITH_NUMBERS, {"numbers": list(numbers), "srns": list(srns)}):
        found.setdefault(row.srn, []).append(ListedCertificate(certificate_of(row), row.listed_revision))
    return found


def as_shared(stored: StoredCertificates, basic: StoredBasicRecord) -> StoredCertificates:
    """The certificates of a device as a younger Basic UDI-DI record, or a younger search for it, has them."""
    is_younger = basic.record.revision > stored.searched_at
    searched = basic.search if basic.search and basic.search.revision > stored.searched_at else None
    if not is_younger and not searched:
        return stored
    shared = together(basic.record.record.certs if is_younger else (), searched.certificates if searched else ())
    revision = max(basic.record.revision, searched.revision if searched else 0)
    return replace(stored, certificates=_followed(stored.certificates, shared), searched_at=revision)


def as_in_list(stored: StoredCertificates, listed: Sequence[ListedCertificate]) -> StoredCertificates:
    """The certificates of a device as a younger list has them."""
    younger = [each.certificate for each in listed if each.revision >= stored.searched_at]
    return replace(stored, certificates=_followed(stored.certificates, younger))


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
