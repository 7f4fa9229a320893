"""What changes in the register in a simulated year, beside the stand-in's own random changes."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from random import Random
from uuid import UUID

from registerwatch.platform.structs import replace
from registerwatch_standins.register.certificate_world import CertificateFields
from registerwatch_standins.register.filters import CertificateFilter, DeviceFilter
from registerwatch_standins.register.random_changes import make_random_changes
from registerwatch_standins.register.records import (
    ACTOR_STATUSES,
    CERTIFICATE_STATUSES,
    DIRECTIVES,
    Certificate,
    CertificateListing,
    Registration,
)
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
        self.manufacturers: Sequence[str] = ()
        """Those whose devices and certificates change; none leaves that out."""

    def make(self, times: int, devices: Sequence[str]) -> None:
        """Make some changes of these devices."""
        kinds: dict[Callable[[Sequence[str]], None], int] = {
            self._change_any: 16,
            self._change_records: 6,
            self._change_twins: 4,
            self._change_certificates: 4,
            self._change_alike: 4,
            self._rename_actor: 1,
            self._hold_detail: 3,
            self._release_details: 2,
        }
        if self.manufacturers:
            kinds |= self._kinds_of_manufacturers()
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
        """A certificate goes, comes back, gets another number, another revision, no expiry, a revision beside it; or
        one of another notified body or kind takes its place.
        """
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
            what = rng.randrange(7)
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
            other = replace(old, number=f"B-{rng.randrange(10**6)}", expiry=self._day()) if what > 4 else old
            if what == 5:
                listed.append(replace(other, notified_body="0482" if old.notified_body != "0482" else "0123"))
            if what == 6:
                listed.append(replace(other, type="IVDD_IV" if old.type != "IVDD_IV" else "MDD_II"))
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

    # What is listed of manufacturers

    def _kinds_of_manufacturers(self) -> dict[Callable[[Sequence[str]], None], int]:
        return {
            self._register_device: 5,
            self._change_market: 4,
            self._change_one_record: 4,
            self._list_certificate: 2,
            self._change_listed: 4,
            self._twin_certificate: 1,
            self._unlist_certificate: 1,
            self._refuse_application: 1,
            self._change_version_keys: 1,
        }

    def change_markets(self, srn: str) -> None:
        """Some devices of a manufacturer leave the market, others come back."""
        for record in self._world.search(DeviceFilter(srn=srn), 0, 1_000)[1]:
            if self._rng.random() < 0.7:
                other = "no-longer-on-the-market" if record.status == "on-the-market" else "on-the-market"
                self._world.change(record.uuid, status=other)

    def change_status(self, srn: str) -> None:
        """A manufacturer gets another status, which rows of its devices show without a new version."""
        if (actor := self._world.actor(srn)) is not None:
            status = self._rng.choice([each for each in ACTOR_STATUSES if each != actor.status])
            self._world.change_actor(srn, status=status)

    def change_certificates(self) -> None:
        """Some listed certificates change."""
        for _ in range(3):
            self._change_listed(())

    def _register_device(self, devices: Sequence[str]) -> None:
        """A new device of a manufacturer, under a new UDI-DI."""
        rows = self._world.search(DeviceFilter(srn=self._rng.choice(self.manufacturers)), 0, 1)[1]
        if rows:
            udi = f"{self._rng.randrange(10**14):014d}"
            new = replace(rows[0], uuid=self._uuid(), primary_di=udi, version_number=1, latest_version=True)
            self._world.register(new)

    def _change_market(self, devices: Sequence[str]) -> None:
        """A device of a manufacturer leaves the market or comes back, all its latest records or one of them."""
        rows = self._world.search(DeviceFilter(srn=self._rng.choice(self.manufacturers)), 0, 1_000)[1]
        if rows:
            udi = self._rng.choice(rows).primary_di
            status = self._rng.choice(("on-the-market", "no-longer-on-the-market"))
            records = self._world.by_primary_di(udi)
            for record in records if self._rng.random() < 0.7 else records[:1]:
                self._world.change(record.uuid, status=status)

    def _change_one_record(self, devices: Sequence[str]) -> None:
        """One of several records of a device leaves the market or comes back; else a second one comes."""
        rows = self._world.search(DeviceFilter(srn=self._rng.choice(self.manufacturers)), 0, 1_000)[1]
        times = Counter(each.primary_di for each in rows)
        several = [each for each in rows if times[each.primary_di] > 1]
        if several:
            record = self._rng.choice(several)
            other = "no-longer-on-the-market" if record.status == "on-the-market" else "on-the-market"
            self._world.change(record.uuid, status=other)
        elif rows:
            self._add_record(self._rng.choice(rows))

    def _list_certificate(self, devices: Sequence[str]) -> None:
        """A new certificate of a manufacturer, sometimes of a device; sometimes the next revision of another one."""
        srn, rng = self._rng.choice(self.manufacturers), self._rng
        records = self._world.search(DeviceFilter(srn=srn), 0, 50)[1]
        covered = [each.basic_udi for each in rng.sample(records, 1) if each.basic_udi] if rng.random() < 0.3 else []
        expiry = rng.choice((self._day(), self._soon(), None))
        row = self._any_listed(srn)
        if row is not None and rng.random() < 0.3:
            old = row.certificate
            self._world.list_certificate(
                srn,
                number=old.number,
                revision=f"R{rng.randrange(10**6)}",
                notified_body=old.notified_body,
                expiry=expiry,
            )
        else:
            self._world.list_certificate(srn, basic_udis=covered, number=f"L-{rng.randrange(10**9)}", expiry=expiry)

    def _change_listed(self, devices: Sequence[str]) -> None:
        """A listed certificate gets another status, another end, another revision, or loses its end."""
        row, rng = self._any_listed(), self._rng
        if row is not None:
            changes: list[CertificateFields] = [
                {"status": rng.choice(CERTIFICATE_STATUSES)},
                {"status": rng.choice(CERTIFICATE_STATUSES)},
                {"expiry": self._day()},
                {"expiry": self._soon()},
                {"revision": f"R{rng.randrange(10**6)}"},
                {"expiry": None},
            ]
            self._world.change_certificate(row.uuid, **rng.choice(changes))

    def _twin_certificate(self, devices: Sequence[str]) -> None:
        """A certificate is listed once more."""
        row = self._any_listed()
        if row is not None:
            self._world.twin_certificate(row.uuid)

    def _unlist_certificate(self, devices: Sequence[str]) -> None:
        """A certificate is listed no more."""
        row = self._any_listed()
        if row is not None:
            self._world.unlist_certificate(row.uuid)

    def _refuse_application(self, devices: Sequence[str]) -> None:
        """An application of a manufacturer is refused."""
        srn = self._rng.choice(self.manufacturers)
        self._world.refuse_application(srn)

    def _change_version_keys(self, devices: Sequence[str]) -> None:
        """From now on a new version of a certificate keeps its uuid, or comes under another one."""
        self._world.certificate_versions = self._rng.choice(("same-uuid", "new-uuid", "new-uuid-beside-old"))

    def _any_listed(self, srn: str | None = None) -> CertificateListing | None:
        wanted = CertificateFilter(actor_srn=srn or self._rng.choice(self.manufacturers))
        rows = [row for row in self._world.search_certificates(wanted, 0, 1_000)[1] if row.latest_version]
        return self._rng.choice(rows) if rows else None

    def _soon(self) -> str:
        """A day of the next months."""
        today = date.fromisoformat(self._world.now()[:10])
        return (today + timedelta(days=self._rng.randint(0, 150))).isoformat()

    def _uuid(self) -> str:
        return str(UUID(int=self._rng.getrandbits(128), version=4))
