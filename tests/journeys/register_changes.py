"""What changes in the register in a simulated year, beside the stand-in's own random changes."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from uuid import UUID

from msgspec.structs import replace

from registerwatch_standins.register.random_changes import make_random_changes
from registerwatch_standins.register.records import DIRECTIVES, Certificate, Registration
from registerwatch_standins.register.world import World

MAX_RECORDS = 4


class RegisterChanges:
    """Changes the world by a seed."""

    def __init__(self, world: World, rng: Random) -> None:
        self._world, self._rng = world, rng
        self._removed: dict[str, Certificate] = {}
        self._twins: set[str] = set()
        """Keys of records that came beside others, and may go."""
        self.made: Counter[str] = Counter()
        """Changes by their kind."""

    def make(self, times: int, devices: Sequence[str]) -> None:
        """Make some changes of these devices."""
        kinds = {
            self._change_any: 16,
            self._change_records: 6,
            self._change_twins: 4,
            self._change_certificates: 4,
            self._change_alike: 4,
            self._rename_actor: 1,
            self._hold_detail: 3,
            self._release_details: 2,
        }
        for _ in range(times):
            change = self._rng.choices(list(kinds), list(kinds.values()))[0]
            self.made[change.__name__.strip("_").replace("_", " ")] += 1
            change(devices)

    def _change_any(self, devices: Sequence[str]) -> None:
        make_random_changes(self._world, self._rng, 1, devices)

    def _change_records(self, devices: Sequence[str]) -> None:
        """Another record of a UDI-DI comes, or steps back or forward; or a UDI-DI that was not there is registered."""
        udi = self._rng.choice(devices)
        records = self._world.by_primary_di(udi)
        if not records:
            self._world.register(replace(self._world.newest(0, 1)[0], uuid=self._uuid(), primary_di=udi))
        elif len(records) < MAX_RECORDS and self._rng.random() < 0.5:
            self._add_record(self._rng.choice(records))
        elif len(records) > 1:
            record = self._rng.choice(records)
            self._world.change(record.uuid, latest_version=not record.latest_version, new_version=False)

    def _change_twins(self, devices: Sequence[str]) -> None:
        """A record beside others is deleted, and they stay as they are, latest versions or not; else one comes."""
        records = self._world.by_primary_di(self._rng.choice(devices))
        twins = [each for each in records if each.uuid in self._twins]
        if twins and len(records) > 1:
            self._world.remove(self._rng.choice(twins).uuid)
        elif records and len(records) < MAX_RECORDS:
            self._add_record(self._rng.choice(records))

    def _add_record(self, record: Registration) -> None:
        uuid = self._uuid()
        self._twins.add(uuid)
        if self._rng.random() < 0.5:
            other = "mdr" if record.legislation in DIRECTIVES else "mdd"
            self._world.register(replace(record, uuid=uuid, legislation=other))
            return
        newer = replace(record, uuid=uuid, version_number=record.version_number + 1, latest_version=True)
        self._world.register(newer)
        self._world.change(record.uuid, latest_version=False, new_version=False)

    def _change_certificates(self, devices: Sequence[str]) -> None:
        """A certificate goes, comes back, gets another number, another revision, no expiry, a revision beside it."""
        rng = self._rng
        records = self._world.by_primary_di(rng.choice(devices))
        if not records:
            return
        record = rng.choice(records)
        listed, removed = list(record.certificates), self._removed.pop(record.uuid, None)
        if removed is not None:
            listed = [each for each in listed if (each.number, each.revision) != (removed.number, removed.revision)]
            listed.append(removed)
        elif listed:
            old = listed.pop(rng.randrange(len(listed)))
            what = rng.randrange(5)
            if what == 0:
                self._removed[record.uuid] = old
            if what in (1, 4):
                listed.append(replace(old, revision=f"R{rng.randrange(10**6)}"))
            if what == 2:
                listed.append(replace(old, number=f"N-{rng.randrange(10**6)}"))
            if what == 3:
                listed.append(replace(old, expiry=None))
            if what == 4:
                listed.append(old)
        self._world.change(record.uuid, certificates=tuple(listed))

    def _change_alike(self, devices: Sequence[str]) -> None:
        """Two certificates with one number and no revision come; then their order changes, and mostly one of them."""
        records = self._world.by_primary_di(self._rng.choice(devices))
        if not records:
            return
        record = self._rng.choice(records)
        listed = list(record.certificates)
        names = Counter((each.number, each.revision) for each in listed if each.listed_in == "basic-udi-record")
        alike = [each for each in listed if names[each.number, each.revision] > 1]
        if not alike:
            one = self._certificate()
            listed += [one, replace(one, expiry=self._day())]
        elif self._rng.random() < 0.7:
            chosen = self._rng.choice(alike)
            listed.remove(chosen)
            listed.append(replace(chosen, expiry=self._day()))
        self._rng.shuffle(listed)
        self._world.change(record.uuid, certificates=tuple(listed))

    def _certificate(self) -> Certificate:
        return Certificate(
            number=f"A-{self._rng.randrange(10**6)}",
            revision=None,
            expiry=self._day(),
            starting_validity=None,
            issue_date=None,
            notified_body="0123",
            notified_body_name="A notified body",
            type="MDD_II_EX_4",
            status="issued",
            listed_in="basic-udi-record",
        )

    def _day(self) -> str:
        return f"{self._rng.randint(2024, 2031)}-{self._rng.randint(1, 12):02d}-{self._rng.randint(1, 28):02d}"

    def _hold_detail(self, devices: Sequence[str]) -> None:
        """The detail of a record falls behind its row, for a while."""
        for record in self._world.by_primary_di(self._rng.choice(devices)):
            self._world.hold_detail(record.uuid)
            self._change_any([record.uuid])

    def _release_details(self, devices: Sequence[str]) -> None:
        self._world.release_details()

    def _rename_actor(self, devices: Sequence[str]) -> None:
        records = self._world.by_primary_di(self._rng.choice(devices))
        if records:
            srn = records[0].manufacturer.srn
            name = (self._world.actor(srn) or records[0].manufacturer).name
            self._world.change_actor(srn, name=f"{name.split(' No.')[0]} No. {self._rng.randrange(1_000)}")

    def _uuid(self) -> str:
        return str(UUID(int=self._rng.getrandbits(128), version=4))
