"""Certificates of records beside the one that answers for their UDI-DI, such as one under the MDD beside one under the
MDR: the register lists them, and nobody reads them any more.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy import statements
from registerwatch.platform.db.listed_values import listed
from registerwatch.platform.structs import replace
from registerwatch.register.certificate_identity import same_certificates
from registerwatch.register.certificate_reads import OtherCertificate
from registerwatch.register.models import Certificate, Device, from_document
from registerwatch.register.observation import DeviceObservation, Observation


async def other_certificates(
    connection: AsyncConnection, udis: Collection[str]
) -> Mapping[str, Sequence[OtherCertificate]]:
    """Certificates of the other listed records of these UDI-DIs, as they were read last, that the one that answers does
    not name. Records under one Basic UDI-DI share theirs, and one of an earlier version counts no more.
    """
    found: defaultdict[str, list[OtherCertificate]] = defaultdict(list)
    for row in await connection.execute(statements.OTHERS[connection.dialect.name], {"listed": listed(udis)}):
        current, other = from_document(row.answering), from_document(row.document)
        if row.as_of is not None and not _is_shared(current, other):
            known = [*current.certs, *(each.certificate for each in found[row.primary_di])]
            found[row.primary_di] += _further(other, known, row.as_of)
    return found


async def with_others(connection: AsyncConnection, observations: Sequence[Observation]) -> Sequence[Observation]:
    """The observations, those of devices with the certificates of other records of their UDI-DIs."""
    udis = {each.subject for each in observations if isinstance(each, DeviceObservation)}
    others = await other_certificates(connection, udis) if udis else {}
    return [
        replace(each, others=tuple(others[each.subject]))
        if isinstance(each, DeviceObservation) and each.subject in others
        else each
        for each in observations
    ]


def _is_shared(one: Device, other: Device) -> bool:
    return bool(one.basic_udi) and one.basic_udi == other.basic_udi


def _further(other: Device, known: Sequence[Certificate], as_of: int) -> Sequence[OtherCertificate]:
    same = same_certificates(other.certs, known)
    return [OtherCertificate(each, as_of) for each, of in zip(other.certs, same, strict=True) if not of]
