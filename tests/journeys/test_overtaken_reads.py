"""What the judge of a simulated year makes of a watch whose first read was overtaken by a row of its device."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from registerwatch.sources.budget_parts import RequestPriority
from registerwatch_standins.register.faults import Kind, Rule
from registerwatch_standins.register.records import Registration
from tests.journeys.register_reads import PROBE
from tests.journeys.simulated_year import DAY, Plan, Year, year_over

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

CALM = Plan(seed=3, devices=30, accounts=2, watches=0, share=0, odd_probes=0, sweeps=False)
EARLY, LATE = 1, 2
"""Two accounts that watch a device. For the late one nobody has read it."""


class DeviceOfTwo:
    """A device that both accounts watch."""

    def __init__(self, year: Year, record: Registration) -> None:
        self.year, self.checks = year, year.checks
        self.record, self.udi = record, record.primary_di
        self._node, self._other = year._nodes

    async def watch(self, account: int) -> None:
        """Import it, which reads nothing."""
        self.checks.told[account, self.udi] = None
        await self._node.watches.imports.add_all(self.year._caller(account), f"udi\n{self.udi}")
        await self.checks.settle()

    async def read(self) -> None:
        """Read it for a stranger."""
        self.year._clock.move(60)
        await self._node.refresher.refresh(self.udi)

    async def overtake_a_read(self) -> None:
        """It changes while it is read for a watch, and its manufacturer is read meanwhile, whose row of it is stored
        first. Where it is read for a visitor, such a read is made again.
        """
        hold, held = await self.year._start(self._node, self.udi, "basic", RequestPriority.RECHECK)
        self.year._clock.move(2)
        self.year._world.change(self.record.uuid, reference="R-2")
        self.year._note_changes()
        await self._other.refresher.refresh(self.record.manufacturer.srn)
        self.year._clock.move(2)
        hold.may_go.set()
        await held

    def let_certificate_searches_fail(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """From now on no search brings certificates."""
        reads = self.year._reads
        take = reads.take

        def failing(kind: Kind, target: str) -> Rule | None:
            reads.share = float(kind == "certificates" and PROBE not in target)
            return take(kind, target)

        monkeypatch.setattr(reads, "take", failing)


@pytest.fixture
async def device(database_url: str, tmp_path: Path) -> AsyncIterator[DeviceOfTwo]:
    async with year_over(database_url, tmp_path, CALM) as year:
        await year._begin()
        records = year._world.oldest(0, CALM.devices)
        alone = next(each for each in records if each.basic_udi and year._reads.is_alone(each.primary_di))
        device = DeviceOfTwo(year, alone)
        await device.watch(EARLY)
        await device.read()
        await device.checks.settle()
        year._clock.move(3 * DAY)
        await device.watch(LATE)
        yield device


async def test_an_overtaken_read_is_no_baseline(device: DeviceOfTwo) -> None:
    await device.overtake_a_read()

    await device.checks.settle()

    await device.checks.agree()
    assert device.checks.outcome.events == 1, "the row told who had a baseline"
    assert device.checks.told[LATE, device.udi] is None


async def test_the_read_after_an_overtaken_one_is_the_baseline_and_tells_nothing(device: DeviceOfTwo) -> None:
    await device.overtake_a_read()
    await device.checks.settle()

    await device.read()
    await device.checks.settle()

    await device.checks.agree()
    device.checks.agree_with_world()
    assert device.checks.outcome.events == 1


async def test_an_overtaken_read_makes_no_certificates_of_the_copy_a_baseline(
    device: DeviceOfTwo, monkeypatch: pytest.MonkeyPatch
) -> None:
    await device.overtake_a_read()
    device.let_certificate_searches_fail(monkeypatch)
    await device.read()

    await device.checks.settle()

    await device.checks.agree()
    told = device.checks.told[LATE, device.udi]
    assert told is not None
    assert told.is_partial, "shown is what the copy had; whatever else a read finds first is no news"
