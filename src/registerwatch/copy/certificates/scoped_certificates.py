"""Certificates whose own scope names a device, joined with those that are found by its Basic UDI-DI.

The record's own list and the search say more about the device, so they come first. A certificate that an earlier search
found and a scope names counts once. It is shown as in the list of all certificates if the list was read after the
search: revisions of the copy prove that, clocks do not. A certificate of another manufacturer names nothing: any scope
can have any Basic UDI-DI.
"""

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.certificates import certificate_statements as statements
from registerwatch.platform.structs import replace
from registerwatch.register.certificate_identity import has_same_number, is_alike, same_certificates
from registerwatch.register.codes import label
from registerwatch.register.models import Certificate, Device

READ_NOW = sys.maxsize
"""Stands for the revision that is being stored now."""
MAX_LOST = 20
"""Remembered certificates that a device had: the last ones."""


class DeviceScopes(msgspec.Struct, frozen=True):
    """The scopes that name some devices: certificates by manufacturer and Basic UDI-DI, each with the revision of the
    copy before its list was read. `known` are manufacturers whose scopes were all read.
    """

    certificates: Mapping[tuple[str, str], Mapping[Certificate, int]] = msgspec.field(default_factory=dict)
    known: Collection[str] = frozenset()

    def of(self, device: Device) -> Mapping[Certificate, int]:
        """The listed certificates of its manufacturer whose scope names the device, and from when the list is."""
        return self.certificates.get((device.manufacturer_srn, device.basic_udi), {})

    def are_known(self, device: Device) -> bool:
        """Whether the scopes of all certificates of its manufacturer were read."""
        return device.manufacturer_srn in self.known


class LostCertificate(msgspec.Struct, frozen=True, array_like=True):
    """A certificate that a device had of its own until a read that was stored at the revision `since`."""

    number: str
    revision: str
    notified_body: str
    since: int


class StoredCertificates(msgspec.Struct, frozen=True, gc=False):
    """A device's stored certificates, and those that it had of its own before. `searched_at` is the revision of the
    search that they are from, 0 where there was none.
    """

    certificates: Sequence[Certificate] = ()
    searched_at: int = 0
    lost: Sequence[LostCertificate] = ()


class JoinedCertificates(msgspec.Struct, frozen=True):
    """The certificates of a device with those whose scope names it, and its own ones that it no longer has.

    `has_all_scoped` says that all whose scope names it are included, `is_doubtful` that the list differs in one or has
    one more, without being proven to be younger.
    """

    certificates: tuple[Certificate, ...]
    lost: tuple[LostCertificate, ...]
    has_all_scoped: bool
    is_doubtful: bool


def with_scoped(
    certificates: tuple[Certificate, ...],
    scoped: Mapping[Certificate, int],
    before: StoredCertificates,
    *,
    is_searched: bool,
    is_delisted: bool = False,
) -> JoinedCertificates:
    """The certificates of a device, which may be searched for now (`is_searched`), with those whose scope names it.

    A list that is not proven to be younger than the search replaces none that the search found. It does not bring back
    an own certificate of the device unless it is proven to be younger than the read that lost it. Certificates that the
    device's own record lists follow the list only where the register lists the device no more (`is_delisted`).
    """
    found = _with_names([each for each in certificates if not each.scoped], [*before.certificates, *scoped])
    lost = [*before.lost, *_lost_now(before.certificates, found)]
    searched_at = READ_NOW if is_searched else before.searched_at
    own = _as_listed(found, scoped, searched_at, is_delisted=is_delisted) if scoped else found
    others = [each for each, same in zip(scoped, same_certificates(list(scoped), own), strict=True) if not same]
    further = [
        each
        for each, gone in zip(others, same_certificates(others, lost), strict=True)
        if (scoped[each] >= searched_at or not any(has_same_number(each, other) for other in own))
        and not any(scoped[each] < of.since for of in gone)
    ]
    joined = tuple(sorted([*own, *further], key=lambda each: each.order)) if scoped else tuple(own)
    has_all = len(further) == len(others)
    as_listed = _as_listed(found, scoped, 0, is_delisted=is_delisted)
    back = same_certificates(lost, joined)
    return JoinedCertificates(
        joined,
        tuple(gone for gone, same in zip(lost, back, strict=True) if not same)[-MAX_LOST:],
        has_all_scoped=has_all,
        is_doubtful=not has_all
        or any(_compared(one) != _compared(other) for one, other in zip(own, as_listed, strict=True)),
    )


def encoded_lost(lost: Sequence[LostCertificate], revision: int) -> str | None:
    """JSON for storing at a revision."""
    if not lost:
        return None
    stored = [replace(each, since=min(each.since, revision)) for each in lost]
    return msgspec.json.encode(stored).decode()


def decoded_lost(text: str | None) -> tuple[LostCertificate, ...]:
    """Stored certificates."""
    return _lost.decode(text) if text else ()


async def device_scopes(connection: AsyncConnection, devices: Sequence[Device]) -> DeviceScopes:
    """The stored scopes that name devices."""
    codes = {device.basic_udi for device in devices if device.basic_udi}
    srns = {device.manufacturer_srn for device in devices if device.manufacturer_srn}
    if not codes or not srns:
        return DeviceScopes()
    found: dict[tuple[str, str], dict[Certificate, int]] = {}
    for row in (await connection.execute(statements.NAMING, {"basic_udis": list(codes), "srns": list(srns)})).all():
        named = found.setdefault((row.srn, row.basic_udi), {})
        certificate = certificate_of(row)
        named[certificate] = max(row.listed_revision, named.get(certificate, 0))
    unknown = set((await connection.execute(statements.UNREAD_SCOPES, {"srns": list(srns)})).scalars())
    has_list = (await connection.execute(statements.HAS_LIST)).first() is not None
    return DeviceScopes(found, frozenset(srns - unknown) if has_list else frozenset())


async def named_by(connection: AsyncConnection, ids: Sequence[str]) -> set[str]:
    """The Basic UDI-DIs that the scopes of these certificates name."""
    found: set[str] = set()
    for start in range(0, len(ids), statements.BATCH):
        asked = {"ids": list(ids[start : start + statements.BATCH])}
        found.update((await connection.execute(statements.NAMED, asked)).scalars())
    return found


def meant_by(
    certificate: Certificate, same: Sequence[Certificate], found: Sequence[Certificate], listed: Sequence[Certificate]
) -> Certificate | None:
    """The one listed certificate that is meant, None where there is none or it could be one of several."""
    candidates = same or [each for each in listed if has_same_number(certificate, each)]
    is_same = is_alike if same else has_same_number
    is_one = len(candidates) == 1 and sum(is_same(each, candidates[0]) for each in found) <= 1
    return candidates[0] if is_one else None


def certificate_of(row: Row[Any]) -> Certificate:
    """A row of the list of certificates."""
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


_lost = msgspec.json.Decoder(tuple[LostCertificate, ...])


def _with_names(found: Sequence[Certificate], known: Sequence[Certificate]) -> list[Certificate]:
    """Certificates with the known names of their notified bodies, which searches do not bring."""
    names = {(each.number, each.notified_body): each.notified_body_name for each in known if each.notified_body_name}
    return [
        replace(each, notified_body_name=names[each.number, each.notified_body])
        if each.notified_body and not each.notified_body_name and (each.number, each.notified_body) in names
        else each
        for each in found
    ]


def _as_listed(
    found: Sequence[Certificate], scoped: Mapping[Certificate, int], searched_at: int, *, is_delisted: bool
) -> list[Certificate]:
    """Certificates of an earlier search as a younger list has them: the same one, else its next revision. So have those
    of the own record of a delisted device.

    A certificate that several similar listed ones could be stays unchanged.
    """
    listed = list(scoped)
    same_as = same_certificates(found, listed)
    return [
        each
        if each.listed_in == "record" and not is_delisted
        else _replaced(each, meant_by(each, same, found, listed), scoped, searched_at)
        for each, same in zip(found, same_as, strict=True)
    ]


def _replaced(
    certificate: Certificate, listed: Certificate | None, scoped: Mapping[Certificate, int], searched_at: int
) -> Certificate:
    if listed is None or scoped[listed] < searched_at:
        return certificate
    is_same_body = listed.notified_body == certificate.notified_body  # searches do not bring its name, lists do
    return replace(
        listed,
        revision=listed.revision or certificate.revision,
        listed_in="record" if certificate.listed_in == "record" else "search",
        scoped=False,
        notified_body_name=certificate.notified_body_name if is_same_body else listed.notified_body_name,
    )


def _compared(certificate: Certificate) -> tuple[str, str | None, str]:
    return certificate.revision, certificate.expiry, certificate.status_code


def _lost_now(before: Sequence[Certificate], found: Sequence[Certificate]) -> list[LostCertificate]:
    """The own certificates that a device has lost."""
    own = [each for each in before if not each.scoped]
    return [
        LostCertificate(each.number, each.revision, each.notified_body, READ_NOW)
        for each, same in zip(own, same_certificates(own, found), strict=True)
        if not same
    ]
