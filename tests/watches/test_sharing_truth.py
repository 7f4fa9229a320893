"""Whatever changes, is read and fails, in any order: each watch is told what is true, once, though reads are shared."""

from collections import defaultdict
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from sqlalchemy import text

from registerwatch.platform.structs import replace
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.records import Registration
from registerwatch_standins.register.world import World
from tests.register.builders import a_registered_certificate, a_udi
from tests.support.harness import NewAccount, ServiceHarness, ServiceStarter
from tests.support.long_forms import some_by_day

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

STEPS = 40
OF_EACH = 4
STATUSES = ("issued", "suspended", "restricted", "reissued")
FAULTS = ("search", "detail", "basic", "certificates")


def families(world: World) -> list[Registration]:
    """Two Basic UDI-DIs of different manufacturers, four devices under each, with a certificate in each place."""
    found: dict[str, Registration] = {}
    for each in world.newest(0, world.count):
        if each.legislation == "mdr" and each.basic_udi and "-MF-" in each.manufacturer.srn:
            found.setdefault(each.manufacturer.srn, each)
    made = []
    for number, like in enumerate(list(found.values())[:2]):
        like = replace(like, basic_udi=f"++FAMILY{number}", certificates=())
        under = [
            world.register(replace(like, uuid=f"00000000-0000-4000-8000-{place:012d}", primary_di=a_udi(place)))
            for place in range(number * OF_EACH, (number + 1) * OF_EACH)
        ]
        listed = a_registered_certificate(f"D-{number}"), a_registered_certificate(f"Z-{number}", "certificate-search")
        world.change(under[0].uuid, certificates=listed)
        made += under
    return made


class SharedRegister:
    """The register as it changes, and the ways in which it is read meanwhile."""

    def __init__(self, harness: ServiceHarness, owner: NewAccount, devices: list[Registration], seed: int) -> None:
        self._harness, self._owner, self._devices = harness, owner, devices
        self._rng = Random(f"sharing {seed}")
        self._made = 0

    async def step(self) -> None:
        """Something happens."""
        self._harness.clock.move(self._rng.choice((1, 60, 600, 3600, 4 * 3600)))
        happens = self._rng.choice(
            (self._change, self._change, self._fail, self._sync, self._recheck, self._refresh, self._stop)
        )
        await happens()

    async def _change(self) -> None:
        world, device = self._harness.world, self._rng.choice(self._devices)
        self._made += 1
        if self._rng.random() < 0.3:
            world.change(device.uuid, reference=f"R-{self._made}")
            return
        present = world.by_uuid(device.uuid)
        assert present is not None
        certificates = list(present.certificates)
        place = self._rng.randrange(len(certificates))
        changed: dict[str, Any] = {"expiry": f"{2030 + self._made}-01-01"}
        if self._rng.random() < 0.5:
            changed = {"status": self._rng.choice(STATUSES)}
        certificates[place] = replace(certificates[place], **changed)
        world.change(device.uuid, certificates=tuple(certificates))

    async def _fail(self) -> None:
        kind: Any = self._rng.choice(FAULTS)
        self._harness.faults.fail(kind, "http-500", times=self._rng.choice((1, 2, 4)))

    async def _sync(self) -> None:
        await self._harness.post_sync(self._owner.api_key)

    async def _recheck(self) -> None:
        await self._harness.service.watches.recheck.run()

    async def _refresh(self) -> None:
        await self._harness.service.refresher.refresh(self._rng.choice(self._devices).primary_di)

    async def _stop(self) -> None:
        """A reader was killed before devices had what it has found."""
        async with self._harness.database.transaction() as connection:
            await connection.execute(text("UPDATE basic_records SET propagated_to = ''"))


def told_of(events: list[dict[str, Any]]) -> dict[tuple[str, str, str], list[tuple[str, str]]]:
    """The changes of each field, oldest first, by subject, certificate and field."""
    told = defaultdict[tuple[str, str, str], list[tuple[str, str]]](list)
    for event in events:
        for change in event["changes"]:
            told[event["subject"], change.get("certificate", ""), change["field"]].append(
                (change["old"], change["new"])
            )
    return told


@pytest.mark.parametrize("seed", some_by_day(range(12), (2, 9)))
async def test_every_watch_is_told_each_change_once_and_ends_with_the_truth(
    start_service: ServiceStarter, seed: int
) -> None:
    world = GeneratedWorld(400, seed=5)
    async with start_service(world=world, recheck_watches_per_run=2) as harness:
        devices = families(world)
        owner = await harness.sign_up()
        await harness.service.accounts.admin.set_period(owner.email, None, harness.now + 10**8)
        await harness.post("/v1/import", owner.api_key, csv="\n".join(each.primary_di for each in devices))
        await harness.post_sync(owner.api_key)
        before = {each.uuid: world.by_uuid(each.uuid) for each in devices}
        register = SharedRegister(harness, owner, devices, seed)
        for _ in range(STEPS):
            await register.step()
        harness.faults.clear()
        harness.clock.move(600)
        assert (await harness.post_sync(owner.api_key))["synced"] == len(devices)

        events = (await harness.client.get("/v1/events?limit=100", headers={"x-api-key": owner.api_key})).json()
        told = told_of(sorted(events["events"], key=lambda each: int(each["id"])))
        for changes in told.values():
            assert all(one[1] == other[0] for one, other in pairwise(changes)), changes
        for device in devices:
            first, last = before[device.uuid], world.by_uuid(device.uuid)
            assert first is not None
            assert last is not None
            of_device = {key[1:]: changes for key, changes in told.items() if key[0] == device.primary_di}
            for old, new in zip(first.certificates, last.certificates, strict=True):
                dates = of_device.get((new.number, "cert_expiry"), [(old.expiry, old.expiry)])
                assert (dates[0][0], dates[-1][1]) == (old.expiry, new.expiry)
            answer = (await harness.get(f"/v1/devices/{device.primary_di}")).json()
            shown = {
                each["number"]: (each["expiry"], each["status_code"].rpartition(".")[2]) for each in answer["certs"]
            }
            assert shown == {each.number: (each.expiry, each.status) for each in last.certificates}
            assert answer["reference"] == last.reference
