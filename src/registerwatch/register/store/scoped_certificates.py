"""Certificates whose own scope names a device, beside those that are found by its Basic UDI-DI.

The record's own list and a search that was just read say more about the device, so they go before. A certificate that
an earlier search found and a scope names is one, and as the list of all certificates has it. A certificate of another
manufacturer names nothing: anybody's scope can have any Basic UDI-DI.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.register.codes import label
from registerwatch.register.models import Certificate, Device
from registerwatch.register.store import certificate_statements as statements


@dataclass(frozen=True, slots=True)
class DeviceScopes:
    """What scopes say of some devices: certificates by manufacturer and Basic UDI-DI. `known` are manufacturers whose
    scopes were all read.
    """

    certificates: Mapping[tuple[str, str], Sequence[Certificate]] = field(default_factory=dict)
    known: Collection[str] = frozenset()

    def of(self, device: Device) -> Sequence[Certificate]:
        """The listed certificates of its manufacturer whose scope names the device."""
        return self.certificates.get((device.manufacturer_srn, device.basic_udi), ())


def with_scoped(
    certificates: tuple[Certificate, ...], scoped: Sequence[Certificate], *, are_newer: bool = False
) -> tuple[Certificate, ...]:
    """The certificates of a device with those whose scope names it, which `are_newer` where the device was not read."""
    if not scoped and not any(each.scoped for each in certificates):
        return certificates
    own = [_as_listed(each, scoped, is_newer=are_newer) for each in certificates if not each.scoped]
    further = [each for each in scoped if not any(each.is_like(other) for other in own)]
    return tuple(sorted([*own, *further], key=lambda each: each.order))


async def device_scopes(connection: AsyncConnection, devices: Sequence[Device]) -> DeviceScopes:
    """What the stored scopes say of devices."""
    codes = {device.basic_udi for device in devices if device.basic_udi}
    srns = {device.manufacturer_srn for device in devices if device.manufacturer_srn}
    if not codes or not srns:
        return DeviceScopes()
    found: dict[tuple[str, str], list[Certificate]] = {}
    for row in (await connection.execute(statements.NAMING, {"basic_udis": list(codes), "srns": list(srns)})).all():
        found.setdefault((row.srn, row.basic_udi), []).append(_certificate(row))
    unknown = set((await connection.execute(statements.UNREAD_SCOPES, {"srns": list(srns)})).scalars())
    has_list = (await connection.execute(statements.HAS_LIST)).first() is not None
    certificates = {named: list(dict.fromkeys(each)) for named, each in found.items()}
    return DeviceScopes(certificates, frozenset(srns - unknown) if has_list else frozenset())


async def named_by(connection: AsyncConnection, ids: Sequence[str]) -> set[str]:
    """The Basic UDI-DIs that the scopes of these certificates name."""
    found: set[str] = set()
    for start in range(0, len(ids), statements.BATCH):
        asked = {"ids": list(ids[start : start + statements.BATCH])}
        found.update((await connection.execute(statements.NAMED, asked)).scalars())
    return found


def _as_listed(certificate: Certificate, scoped: Sequence[Certificate], *, is_newer: bool) -> Certificate:
    """A certificate that an earlier search found, as the list of all certificates has it now."""
    alike = [each for each in scoped if each.is_like(certificate)]
    if certificate.listed_in == "record" or len(alike) != 1 or (certificate.confirmed and not is_newer):
        return certificate
    name = alike[0].notified_body_name or certificate.notified_body_name
    return msgspec.structs.replace(alike[0], listed_in="search", scoped=False, notified_body_name=name)


def _certificate(row: Row[Any]) -> Certificate:
    return Certificate(
        number=row.number,
        revision=row.revision,
        expiry=row.expiry,
        valid_from=row.valid_from or row.issue_date,
        status=label(row.status_code),
        status_code=row.status_code,
        type_code=row.type_code,
        notified_body=row.notified_body,
        notified_body_name=row.name or "",
        listed_in="search",
        scoped=True,
    )
