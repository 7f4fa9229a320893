"""Random changes of the kinds that the live register shows, each written into the world's change log."""

import uuid as uuids
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from random import Random

from msgspec.structs import replace

from registerwatch_standins.register.changes import Change
from registerwatch_standins.register.generation.certification import NOTIFIED_BODIES
from registerwatch_standins.register.identifiers import sibling_udi_di
from registerwatch_standins.register.records import (
    ACTOR_STATUSES,
    CERTIFICATE_STATUSES,
    DEVICE_STATUSES,
    DIRECTIVES,
    Certificate,
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

Step = Callable[[World, Random, Registration], None]


def make_random_changes(world: World, rng: Random, n: int, among: Sequence[str] = ()) -> list[Change]:
    """Make `n` random changes and return what they wrote into the change log.

    `among` (uuids or UDI-DIs) restricts them to some registrations; besides, only new registrations of the same
    manufacturers come. The same world, generator and arguments make the same changes.
    """
    written = world.change_log.written
    for _ in range(n):
        if world.withheld and rng.random() < 0.3:
            _bring_back(world, rng)
            continue
        step: Step = rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
        step(world, rng, _pick(world, rng, among))
    return world.change_log.since(written)


def _pick(world: World, rng: Random, among: Sequence[str]) -> Registration:
    """A random registration; of several of one UDI-DI a random one."""
    for _ in range(_TRIES if among else 0):
        wanted = rng.choice(among)
        found = world.by_uuid(wanted)
        records = [found] if found else world.by_primary_di(wanted)
        if records:
            return rng.choice(records)
    return world.oldest(rng.randrange(world.count), 1)[0]


def _status(world: World, rng: Random, record: Registration) -> None:
    world.change(record.uuid, status=_other(rng, DEVICE_STATUSES, record.status), status_date=_today(world).isoformat())


def _status_date(world: World, rng: Random, record: Registration) -> None:
    day = date.fromisoformat(record.status_date) if record.status_date else _today(world)
    world.change(record.uuid, status_date=(day + timedelta(days=rng.randint(1, 90))).isoformat())


def _trade_name(world: World, rng: Random, record: Registration) -> None:
    names = dict(record.trade_names or {"en": f"{record.manufacturer.name.split()[0]} device"})
    language = rng.choice(sorted(names))
    names[language] = f"{names[language]} {rng.choice(('Plus', 'II', 'neo', 'XT', '(neu)', '2.0', '®'))}"
    world.change(record.uuid, trade_names=names)


def _risk_class(world: World, rng: Random, record: Registration) -> None:
    world.change(record.uuid, risk_class=_NEXT_RISK_CLASS.get(record.risk_class, "class-i"))


def _reference(world: World, rng: Random, record: Registration) -> None:
    world.change(record.uuid, reference=f"{(record.reference or 'REF')[:24]}-{rng.randint(1, 99):02d}")


def _version(world: World, rng: Random, record: Registration) -> None:
    world.change(record.uuid, version_number=record.version_number + 1)


def _manufacturer_status(world: World, rng: Random, record: Registration) -> None:
    new = next(status for status in ACTOR_STATUSES if status != record.manufacturer.status)
    world.change_actor(record.manufacturer.srn, status=new)


def _add_certificate(world: World, rng: Random, record: Registration) -> None:
    directive = record.legislation in DIRECTIVES
    body, name = rng.choice(NOTIFIED_BODIES)
    start = _today(world)
    kind = "II_EX_4" if directive else "QUALITY_MANAGEMENT_SYSTEM"
    added = Certificate(
        number=f"{'D' if directive else 'Z'}-{rng.randrange(10**6):06d}",
        revision=rng.choice((None, "00", "Rev. 1")),
        expiry=(start + timedelta(days=5 * 365)).isoformat(),
        starting_validity=start.isoformat(),
        issue_date=start.isoformat(),
        notified_body=body,
        notified_body_name=name,
        type=f"{record.legislation.upper()}_{kind}",
        status="issued",
        listed_in="basic-udi-record" if directive else "certificate-search",
    )
    world.change(record.uuid, certificates=(*record.certificates, added))


def _certificate_status(world: World, rng: Random, record: Registration) -> None:
    _change_certificate(
        world, rng, record, lambda old: replace(old, status=_other(rng, CERTIFICATE_STATUSES, old.status))
    )


def _certificate_expired(world: World, rng: Random, record: Registration) -> None:
    yesterday = (_today(world) - timedelta(days=1)).isoformat()
    _change_certificate(world, rng, record, lambda old: replace(old, status="expired", expiry=yesterday))


def _certificate_extended(world: World, rng: Random, record: Registration) -> None:
    def extended(old: Certificate) -> Certificate:
        expiry = date.fromisoformat(old.expiry) if old.expiry else _today(world)
        return replace(old, expiry=(expiry + timedelta(days=rng.choice((365, 730, 1826)))).isoformat())

    _change_certificate(world, rng, record, extended)


def _change_certificate(
    world: World, rng: Random, record: Registration, change: Callable[[Certificate], Certificate]
) -> None:
    """Change one certificate of the registration; where it has none, it gets one."""
    if not record.certificates:
        _add_certificate(world, rng, record)
        return
    chosen = rng.choice(record.certificates)
    changed = tuple(change(each) if each is chosen else each for each in record.certificates)
    world.change(record.uuid, certificates=changed)


def _vanish(world: World, rng: Random, record: Registration) -> None:
    """A field is empty for a while, as if it had been forgotten in a new version."""
    fields = [field for field in _VANISHING if getattr(record, field) and (record.uuid, field) not in world.withheld]
    if not fields:
        _version(world, rng, record)
        return
    field = rng.choice(fields)
    world.withheld[(record.uuid, field)] = getattr(record, field)
    world.change(record.uuid, new_version=None, **{field: () if field == "emdn" else None})


def _bring_back(world: World, rng: Random) -> None:
    uuid, field = rng.choice(sorted(world.withheld))
    world.change(uuid, new_version=None, **{field: world.withheld.pop((uuid, field))})


def _registration(world: World, rng: Random, record: Registration) -> None:
    """A new device of the same manufacturer."""
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
        last_updated=now,
    )
    world.register(new)


def _today(world: World) -> date:
    return date.fromisoformat(world.now()[:10])


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
    _vanish: 6,
    _registration: 10,
}
