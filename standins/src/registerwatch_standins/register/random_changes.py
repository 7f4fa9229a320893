"""Random changes of the kinds that the live register shows, each written into the world's change log."""

import uuid as uuids
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from random import Random

from msgspec.structs import replace

from registerwatch_standins.register.certificate_world import PROCEDURES
from registerwatch_standins.register.changes import Change
from registerwatch_standins.register.filters import CertificateFilter
from registerwatch_standins.register.generation.certification import NOTIFIED_BODIES
from registerwatch_standins.register.identifiers import sibling_udi_di
from registerwatch_standins.register.records import (
    ACTOR_STATUSES,
    DEVICE_STATUSES,
    DIRECTIVES,
    MEASURED_STATUSES,
    Certificate,
    CertificateListing,
    Registration,
)
from registerwatch_standins.register.world import World

_NEXT_RISK_CLASS = {
    "class-i": "class-iia",
    "class-iia": "class-iib",
    "class-iib": "class-iii",
    "class-a": "class-b",
    "class-b": "class-c",
}
_VANISHING = ("trade_names", "reference", "status_date", "model", "emdn")
_TRIES = 30

Fields = dict[str, object]
Step = Callable[[World, Random, Registration], Fields]
"""The fields of the registration that change; none where the step has changed something else."""


def make_random_changes(world: World, rng: Random, n: int, among: Sequence[str] = ()) -> list[Change]:
    """Make `n` random changes and return what they wrote into the change log.

    `among` (uuids or UDI-DIs) restricts them to some registrations; besides, only new registrations, certificates and
    refusals of the same manufacturers come, which their fields in the change log tell (`registration`, `certificate`,
    `certificate_status`, …, `application`), and Basic UDI-DI records change for all registrations under them. The same
    world, generator and arguments make the same changes.
    """
    written = world.change_log.written
    for _ in range(n):
        if world.withheld and rng.random() < 0.3:
            uuid, field = rng.choice(sorted(world.withheld))
            world.change(uuid, new_version=None, **{field: world.withheld.pop((uuid, field))})
            continue
        step = rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
        record = _pick(world, rng, among)
        if fields := step(world, rng, record):
            world.change(record.uuid, new_version=None, **fields)
    return world.change_log.since(written)


def register_sibling(world: World, rng: Random, record: Registration) -> Registration:
    """Register a new device of the same manufacturer."""
    siblings = (sibling_udi_di(record.primary_di, ordinal) for ordinal in range(1, 10_000))
    now = world.now()
    new = replace(
        record,
        primary_di=next(each for each in siblings if not world.by_primary_di(each)),
        uuid=str(uuids.UUID(int=rng.getrandbits(128), version=4)),
        status="on-the-market",
        status_date=now[:10],
        version_number=1,
        latest_version=True,
        version_date=now,
        registered=now,
        legacy_twin=None,
    )
    return world.register(new)


def _pick(world: World, rng: Random, among: Sequence[str]) -> Registration:
    """A random registration; of several of one UDI-DI a random one."""
    for _ in range(_TRIES if among else 0):
        wanted = rng.choice(among)
        found = world.by_uuid(wanted)
        records = [found] if found else world.by_primary_di(wanted)
        if records:
            return rng.choice(records)
    return world.oldest(rng.randrange(world.count), 1)[0]


def _status(world: World, rng: Random, record: Registration) -> Fields:
    return {"status": _other(rng, DEVICE_STATUSES, record.status), "status_date": world.now()[:10]}


def _status_date(world: World, rng: Random, record: Registration) -> Fields:
    return {"status_date": _later(record.status_date or world.now()[:10], rng.randint(1, 90))}


def _trade_name(world: World, rng: Random, record: Registration) -> Fields:
    names = dict(record.trade_names or {"en": f"{record.manufacturer.name.split()[0]} device"})
    language = rng.choice(sorted(names))
    names[language] = f"{names[language]} {rng.choice(('Plus', 'II', 'neo', 'XT', '(neu)', '2.0', '®'))}"
    return {"trade_names": names}


def _risk_class(world: World, rng: Random, record: Registration) -> Fields:
    return {"risk_class": _NEXT_RISK_CLASS.get(record.risk_class, "class-i")}


def _reference(world: World, rng: Random, record: Registration) -> Fields:
    return {"reference": f"{(record.reference or 'REF')[:24]}-{rng.randint(1, 99):02d}"}


def _version(world: World, rng: Random, record: Registration) -> Fields:
    return {"version_number": record.version_number + 1}


def _manufacturer_status(world: World, rng: Random, record: Registration) -> Fields:
    new = next(status for status in ACTOR_STATUSES if status != record.manufacturer.status)
    world.change_actor(record.manufacturer.srn, status=new)
    return {}


def _add_certificate(world: World, rng: Random, record: Registration) -> Fields:
    directive = record.legislation in DIRECTIVES
    body, name = rng.choice(NOTIFIED_BODIES)
    today = world.now()[:10]
    kind = "II_EX_4" if directive else "QUALITY_MANAGEMENT_SYSTEM"
    added = Certificate(
        number=f"{'D' if directive else 'Z'}-{rng.randrange(10**6):06d}",
        revision=rng.choice((None, "00", "04")) if directive else None,
        expiry=_later(today, 5 * 365),
        starting_validity=today,
        issue_date=today,
        notified_body=body,
        notified_body_name=name,
        type=f"{record.legislation.upper()}_{kind}",
        status="issued",
        listed_in="basic-udi-record" if directive else "certificate-search",
    )
    return {"certificates": (*record.certificates, added)}


def _certificate_status(world: World, rng: Random, record: Registration) -> Fields:
    return _change_certificate(
        world, rng, record, lambda old: replace(old, status=_other(rng, MEASURED_STATUSES, old.status))
    )


def _certificate_expired(world: World, rng: Random, record: Registration) -> Fields:
    yesterday = _later(world.now()[:10], -1)
    return _change_certificate(world, rng, record, lambda old: replace(old, expiry=yesterday))


def _certificate_extended(world: World, rng: Random, record: Registration) -> Fields:
    def extended(old: Certificate) -> Certificate:
        return replace(old, expiry=_later(old.expiry or world.now()[:10], rng.choice((365, 730, 1826))))

    return _change_certificate(world, rng, record, extended)


def _change_certificate(
    world: World, rng: Random, record: Registration, change: Callable[[Certificate], Certificate]
) -> Fields:
    """One certificate of the registration changes; where it has none, it gets one."""
    if not record.certificates:
        return _add_certificate(world, rng, record)
    chosen = rng.choice(record.certificates)
    return {"certificates": tuple(change(each) if each is chosen else each for each in record.certificates)}


def _list_certificate(world: World, rng: Random, record: Registration) -> Fields:
    """A certificate of the manufacturer is listed; one in four covers the device and names it in its scopes."""
    body, name = rng.choice(NOTIFIED_BODIES)
    covers = record.basic_udi is not None and rng.random() < 0.25
    world.list_certificate(
        record.manufacturer.srn,
        basic_udis=(record.basic_udi,) if covers and record.basic_udi else (),
        number=f"Z-{body}-{rng.randrange(10**6):06d}",
        notified_body=body,
        notified_body_name=name,
        expiry=None if rng.random() < 0.05 else _later(world.now()[:10], 5 * 365),
    )
    return {}


def _listed_status(world: World, rng: Random, record: Registration) -> Fields:
    """A listed certificate of the manufacturer is suspended, withdrawn, reinstated, …"""
    row = _listed(world, rng, record)
    if row is None:
        return _list_certificate(world, rng, record)
    world.change_certificate(row.uuid, status=_other(rng, MEASURED_STATUSES, row.certificate.status))
    return {}


def _listed_revision(world: World, rng: Random, record: Registration) -> Fields:
    """A listed certificate of the manufacturer gets another revision, as a version of its row or as a row beside it."""
    row = _listed(world, rng, record)
    if row is None:
        return _list_certificate(world, rng, record)
    revision, today = f"Rev. {rng.randrange(2, 1000)}", world.now()[:10]
    if rng.random() < 0.5:
        world.change_certificate(row.uuid, revision=revision, issue_date=today, expiry=_later(today, 5 * 365))
        return {}
    old = row.certificate
    world.list_certificate(
        row.manufacturer.srn,
        basic_udis=row.basic_udis,
        names_devices=bool(world.scope(row)),
        number=old.number,
        revision=revision,
        notified_body=old.notified_body,
        notified_body_name=old.notified_body_name,
        type=old.type,
    )
    return {}


def _refuse(world: World, rng: Random, record: Registration) -> Fields:
    """An application of the manufacturer is refused."""
    world.refuse_application(
        record.manufacturer.srn, procedure=rng.choice(PROCEDURES), notified_body=rng.choice(NOTIFIED_BODIES)[0]
    )
    return {}


def _listed(world: World, rng: Random, record: Registration) -> CertificateListing | None:
    """A certificate of the manufacturer that the search lists."""
    mine = CertificateFilter(actor_srn=record.manufacturer.srn)
    rows = [row for row in world.search_certificates(mine, 0, 300)[1] if row.latest_version]
    return rng.choice(rows) if rows else None


def _vanish(world: World, rng: Random, record: Registration) -> Fields:
    """A field is empty for a while, as if it had been forgotten in a new version."""
    fields = [field for field in _VANISHING if getattr(record, field) and (record.uuid, field) not in world.withheld]
    if not fields:
        return _version(world, rng, record)
    field = rng.choice(fields)
    world.withheld[(record.uuid, field)] = getattr(record, field)
    return {field: () if field == "emdn" else None}


def _registration(world: World, rng: Random, record: Registration) -> Fields:
    register_sibling(world, rng, record)
    return {}


def _later(day: str, days: int) -> str:
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()


def _other(rng: Random, values: Sequence[str], present: str) -> str:
    return rng.choice([value for value in values if value != present])


_WEIGHTS: dict[Step, int] = {
    _status: 12,
    _status_date: 6,
    _trade_name: 14,
    _risk_class: 4,
    _reference: 8,
    _version: 12,
    _manufacturer_status: 2,
    _add_certificate: 6,
    _certificate_status: 8,
    _certificate_expired: 4,
    _certificate_extended: 8,
    _list_certificate: 3,
    _listed_status: 3,
    _listed_revision: 2,
    _refuse: 1,
    _vanish: 6,
    _registration: 10,
}
