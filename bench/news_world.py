"""What part `news` simulates: manufacturers that are watched, with some of their devices, and what changes of them.

Every change is one that a watch has to be told. It is noted with how its event is recognised.
"""

import random
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bench.simulation import SimulatedClock
from registerwatch.platform.structs import replace
from registerwatch_standins.register.filters import ActorFilter, CertificateFilter, DeviceFilter
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.identifiers import sibling_udi_di
from registerwatch_standins.register.records import Registration

DEVICES = 3_200_000
DEVICES_OF_EACH = 20
"""Watched devices of each manufacturer."""
DAY = 86_400.0

ChangeKind = Literal["row", "record certificate", "portfolio", "certificate"]
WEIGHTS: Mapping[ChangeKind, int] = {"row": 55, "portfolio": 20, "certificate": 15, "record certificate": 10}

Changes = Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class Change:
    """A change in the register that a watch has to be told; `is_told_by` recognises its event."""

    at: float
    kind: ChangeKind
    subject: str
    is_told_by: Callable[[Changes], bool]


class NewsWorld:
    """The register and what is watched of it: so many manufacturers, and devices of each."""

    def __init__(self, clock: SimulatedClock, manufacturers: int, seed: int) -> None:
        self._clock, self._rng = clock, random.Random(f"news {seed}")
        self.world = GeneratedWorld(DEVICES, seed, clock=clock.brussels)
        self.srns = self._chosen(manufacturers)
        self.devices = {srn: self._devices_of(srn) for srn in self.srns}
        self.changes: list[Change] = []
        """Those that were made."""
        self._due: list[float] = []
        self._made = 0

    def plan(self, changes_a_day: float, until: float) -> None:
        """Let so many changes happen from now on, at any instants."""
        now = self._clock.now()
        count = round(changes_a_day * (until - now) / DAY)
        self._due = sorted(self._rng.uniform(now, until) for _ in range(count))

    def catch_up(self) -> None:
        """Make the changes that were to happen until now."""
        while self._due and self._due[0] <= self._clock.now():
            self._make(self._due.pop(0))

    def records(self) -> Iterator[Registration]:
        """Every record of the watched UDI-DIs."""
        for udis in self.devices.values():
            for udi in udis:
                yield from self.world.by_primary_di(udi)

    def _chosen(self, manufacturers: int) -> list[str]:
        """Manufacturers that have enough devices, at random."""
        found: list[str] = []
        srns = [srn for srn in self.world.search_actors(ActorFilter(), 0, 10**6)[1] if srn.type == "MF"]
        self._rng.shuffle(srns)
        for actor in srns:
            if len(found) == manufacturers:
                break
            if self.world.search(DeviceFilter(srn=actor.srn), 0, 1)[0] >= 2 * DEVICES_OF_EACH:
                found.append(actor.srn)
        return found

    def _devices_of(self, srn: str) -> list[str]:
        total, _ = self.world.search(DeviceFilter(srn=srn), 0, 1)
        places = self._rng.sample(range(total), min(total, 2 * DEVICES_OF_EACH))
        udis = [self.world.search(DeviceFilter(srn=srn), place, 1)[1][0].primary_di for place in places]
        return sorted(set(udis))[:DEVICES_OF_EACH]

    def _make(self, at: float) -> None:
        kind = self._rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        make = {
            "row": self._change_row,
            "portfolio": self._register,
            "certificate": self._change_certificate,
            "record certificate": self._change_record_certificate,
        }[kind]
        subject, is_told_by = make(self._rng.choice(self.srns))
        self.changes.append(Change(at, kind, subject, is_told_by))

    def _device(self, srn: str) -> Registration:
        """A watched device: the record that answers for its UDI-DI, where it has one alone."""
        for udi in self._rng.sample(self.devices[srn], len(self.devices[srn])):
            records = self.world.by_primary_di(udi)
            if len(records) == 1:
                return records[0]
        raise LookupError(srn)

    def _next(self, stem: str) -> str:
        self._made += 1
        return f"{stem}-{self._made}"

    def _change_row(self, srn: str) -> tuple[str, Callable[[Changes], bool]]:
        device, name = self._device(srn), self._next("REF")
        self.world.change(device.uuid, reference=name)
        return device.primary_di, lambda changes: any(each["new"] == name for each in changes)

    def _register(self, srn: str) -> tuple[str, Callable[[Changes], bool]]:
        device = self._device(srn)
        siblings = (sibling_udi_di(device.primary_di, ordinal) for ordinal in range(1, 10_000))
        udi = next(each for each in siblings if not self.world.by_primary_di(each))
        now = self.world.now()
        new = replace(device, primary_di=udi, uuid=str(uuid.UUID(int=self._rng.getrandbits(128), version=4)))
        self.world.register(replace(new, version_number=1, latest_version=True, version_date=now, last_updated=now))
        return srn, lambda changes: any(each.get("device") == udi for each in changes)

    def _change_certificate(self, srn: str) -> tuple[str, Callable[[Changes], bool]]:
        rows = self.world.search_certificates(CertificateFilter(actor_srn=srn), 0, 100)[1]
        rows = [each for each in rows if each.latest_version]
        if not rows or self._rng.random() < 0.3:
            number = self._next("Z-0123")
            self.world.list_certificate(srn, number=number)
            return srn, lambda changes: any(each.get("certificate") == number for each in changes)
        row = self._rng.choice(rows)
        expiry = f"{2031 + self._made % 60}-{1 + self._made % 12:02d}-01"
        self._made += 1
        self.world.change_certificate(row.uuid, expiry=expiry)
        return srn, lambda changes: any(each["new"] == expiry for each in changes)

    def _change_record_certificate(self, srn: str) -> tuple[str, Callable[[Changes], bool]]:
        """A certificate that the Basic UDI-DI record lists: no row and no list shows it."""
        device, number = self._device(srn), self._next("L-0123")
        listed = next((each for each in device.certificates if each.listed_in == "basic-udi-record"), None)
        sample = listed or self.world.list_certificate(srn).certificate
        new = replace(sample, number=number, listed_in="basic-udi-record")
        self.world.change(device.uuid, certificates=(*device.certificates, new))
        return device.primary_di, lambda changes: any(each["new"] == number for each in changes)
