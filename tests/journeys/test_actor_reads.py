"""What the judge of a simulated year makes of an actor whose status changes between two requests of one read."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.journeys.simulated_year import Plan, Year, year_over

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

CALM = Plan(seed=3, devices=30, accounts=1, watches=0, share=0, odd_probes=0, sweeps=False)


class WatchedManufacturer:
    """A manufacturer of devices that the account watches."""

    def __init__(self, year: Year) -> None:
        self.year, self.checks = year, year.checks
        self.account = year._accounts[0]
        self.srn = year._world.oldest(0, 1)[0].manufacturer.srn
        self._node = year._nodes[0]

    async def watch(self) -> None:
        """Add it, which reads it for the first time."""
        self.checks.told[self.account, self.srn] = None
        await self._node.watches.service.add(self.year._caller(self.account), self.srn)
        await self.checks.settle()

    def set_status(self, status: str) -> None:
        """Give it this status, in its own row and in those of its devices."""
        self.year._world.change_actor(self.srn, status=status)
        self.year._note_changes()

    async def read(self) -> None:
        """Read it for a stranger."""
        self.year._clock.move(60)
        await self._node.refresher.refresh(self.srn)


@pytest.fixture
async def manufacturer(database_url: str, tmp_path: Path) -> AsyncIterator[WatchedManufacturer]:
    async with year_over(database_url, tmp_path, CALM) as year:
        await year._begin()
        manufacturer = WatchedManufacturer(year)
        await manufacturer.watch()
        yield manufacturer


async def test_a_status_that_changes_before_the_devices_are_listed_is_told_by_the_next_read(
    manufacturer: WatchedManufacturer,
) -> None:
    checks, year = manufacturer.checks, manufacturer.year
    year._reads.before("search", lambda: manufacturer.set_status("inactive"))

    await manufacturer.read()
    await checks.settle()
    await checks.agree()
    assert checks.outcome.events == 0, "the row of the actor, which was read first, had the former status"

    await manufacturer.read()
    await checks.settle()
    await checks.agree()
    checks.agree_with_world()
    assert checks.outcome.events == 1
