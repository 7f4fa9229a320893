"""Steps of tests that sweep: many devices of one manufacturer, and sweeps until none is due."""

from collections import Counter
from typing import Any

from registerwatch.ingest.sweeps.sweep_run import SweepRunResult
from registerwatch.ingest.sweeps.sweep_state import DeviceSweepState, sweep_state
from registerwatch.platform.structs import replace
from registerwatch_standins.register.filters import DeviceFilter
from registerwatch_standins.register.records import Registration
from tests.support.harness import ServiceHarness

INTERVAL = 600
OFF, ON = "no-longer-on-the-market", "on-the-market"


def a_manufacturer(harness: ServiceHarness, rank: int = 0) -> Registration:
    """A device of the manufacturer that had the fewest at first, or of the next one."""
    oldest = harness.world.oldest(0, 120)
    srns = [srn for srn, _ in Counter(each.manufacturer.srn for each in reversed(oldest)).most_common()]
    alone = (each for each in oldest if len(harness.world.by_primary_di(each.primary_di)) == 1)
    return next(each for each in alone if each.manufacturer.srn == srns[-1 - rank])


def number_of_devices(harness: ServiceHarness, device: Registration) -> int:
    """How many registrations the manufacturer of a device has."""
    return harness.world.search(DeviceFilter(srn=device.manufacturer.srn), 0, 1)[0]


def register_more(
    harness: ServiceHarness, like: Registration, number: int, first: int = 0, **differs: Any
) -> list[Registration]:
    """Register devices beside one, the newest last."""
    return [
        harness.world.register(
            replace(like, uuid=f"00000000-0000-4000-8000-{place:012}", primary_di=f"0700{place:010}", **differs)
        )
        for place in range(first, first + number)
    ]


async def runs(harness: ServiceHarness) -> list[SweepRunResult]:
    """The runs of all manufacturers that are due now."""
    await harness.service.device_sweep.refresh_queue()
    taken = []
    while (run := await harness.service.device_sweep.run_next()) is not None:
        taken.append(run)
        harness.clock.move(1)
    return taken


async def state(harness: ServiceHarness) -> DeviceSweepState:
    """How the sweep is."""
    async with harness.database.reading() as connection:
        return (await sweep_state(connection, harness.now)).devices


async def sweep(harness: ServiceHarness) -> list[SweepRunResult]:
    """The runs of all manufacturers, some minutes later."""
    harness.clock.move(INTERVAL)
    return await runs(harness)


async def told(harness: ServiceHarness, api_key: str) -> list[dict[str, Any]]:
    """What events of the portfolio say in numbers, oldest first."""
    events = [each for each in await harness.get_list(api_key, "events") if each["kind"] == "portfolio"]
    numbers = [
        {each["field"]: int(each["new"]) for each in event["changes"] if each["field"].startswith("devices_")}
        for event in reversed(events)
    ]
    return [each for each in numbers if each]
