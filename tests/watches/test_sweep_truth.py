"""Whatever happens to a manufacturer's devices while they are swept, its watches are told all of it, once."""

import asyncio
from collections import Counter, defaultdict
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from registerwatch.copy.tables import device_sweeps, portfolio_news
from registerwatch.platform.structs import replace
from registerwatch_standins.register.faults import Mode
from registerwatch_standins.register.records import Registration
from tests.support.harness import ServiceHarness
from tests.support.long_forms import some_by_day
from tests.watches.sweep_steps import INTERVAL, OFF, ON, a_manufacturer, register_more, runs, sweep, told

DAY = 86_400
MODES: tuple[Mode, ...] = ("http-503", "empty-page", "ignored-filter", "broken-json", "throttled-429", "wrong-rows")


class Manufacturer:
    """A manufacturer whose devices change at random, and what should be told of them."""

    def __init__(self, harness: ServiceHarness, rng: Random) -> None:
        self._harness, self._rng = harness, rng
        self._like = a_manufacturer(harness)
        self._ids = iter(range(100_000))
        self.registered: list[str] = []
        self.devices: list[Registration] = []

    @property
    def srn(self) -> str:
        return self._like.manufacturer.srn

    def register(self, number: int) -> None:
        for place, _ in zip(self._ids, range(number), strict=False):
            udi = f"0700{place:010}"
            new = replace(self._like, uuid=f"00000000-0000-4000-8000-{place:012}", primary_di=udi, status=ON)
            self.devices.append(self._harness.world.register(new))
            self.registered.append(udi)

    def change(self, number: int) -> None:
        for device in self._rng.sample(self.devices[:8], number):
            self._harness.world.change(device.uuid, status=self._rng.choice([ON, OFF]))

    def replace_some(self, number: int) -> None:
        """Let devices have a new record, as a new version may: the one before is the latest no more."""
        for device in self._rng.sample(self.devices[:8], number):
            now = self._harness.world.by_uuid(device.uuid)
            assert now is not None
            place = next(self._ids)
            self._harness.world.change(device.uuid, latest_version=False)
            new = replace(now, uuid=f"00000000-0000-4000-8000-{place:012}", version_number=now.version_number + 1)
            self.devices[self.devices.index(device)] = self._harness.world.register(new)

    def on_market(self) -> dict[str, bool]:
        records = (self._harness.world.by_uuid(device.uuid) for device in self.devices)
        return {record.primary_di: record.status == ON for record in records if record is not None}

    def shift_pages(self) -> None:
        """Let devices be registered between the pages of every walk."""

        def shifted(page: Any) -> Any:
            if self._rng.random() < 0.3:
                self.register(self._rng.randint(1, 3))
            return page

        self._harness.to_register.rewrites["size=300"] = shifted


@pytest.fixture(params=some_by_day((1, 2), (1,)))
def rng(request: pytest.FixtureRequest) -> Random:
    return Random(request.param)


async def broken_off_now_and_then(harness: ServiceHarness, rng: Random) -> None:
    """A sweep some of whose runs are cancelled in the midst of whatever they do."""
    harness.clock.move(INTERVAL)
    await harness.service.device_sweep.refresh_queue()
    for _ in range(rng.randint(0, 2)):
        run = asyncio.create_task(harness.service.device_sweep.run_next())
        for _ in range(rng.randint(0, 200)):
            await asyncio.sleep(0)
        run.cancel()
        await asyncio.wait([run])
    await runs(harness)


async def swept_twice(harness: ServiceHarness) -> None:
    """What one walk alone does not prove of devices with several records, a second one does."""
    for _ in range(2):
        await sweep(harness)


async def two_records_far_apart(harness: ServiceHarness) -> tuple[str, list[str]]:
    """A manufacturer's first device, whose second record came so much later that another page lists it. The first
    record is the latest version and on the market, the second is neither.
    """
    like = a_manufacturer(harness)
    first, *_ = register_more(harness, like, 301, status=ON)
    uuid = "00000000-0000-4000-8000-000000009999"
    last = harness.world.register(replace(first, uuid=uuid, status=OFF, latest_version=False))
    return like.manufacturer.srn, [first.uuid, last.uuid]


async def test_records_of_a_device_that_change_between_two_pages_are_not_taken_for_a_device_that_left_the_market(
    harness: ServiceHarness,
) -> None:
    srn, (first, last) = await two_records_far_apart(harness)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, srn)
    await swept_twice(harness)

    def change_both() -> None:
        harness.world.change(last, status=ON, latest_version=True)
        harness.world.change(first, status=OFF, latest_version=False)

    harness.faults.before("search", change_both, contains="page=1&")
    await swept_twice(harness)
    assert await told(harness, owner.api_key) == []

    harness.world.change(last, status=OFF)
    await swept_twice(harness)
    assert await told(harness, owner.api_key) == [{"devices_off_market": 1}]


@pytest.mark.parametrize("days_waited", [0, 3])
async def test_a_first_list_that_shows_records_of_a_device_at_two_moments_is_no_baseline(
    harness: ServiceHarness, days_waited: int
) -> None:
    srn, (first, last) = await two_records_far_apart(harness)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, srn)
    await harness.service.device_sweep.refresh_queue()
    harness.clock.move(days_waited * DAY)  # in which the register may have been down

    def change_both() -> None:
        harness.world.change(last, status=ON, latest_version=True)
        harness.world.change(first, latest_version=False)

    harness.faults.before("search", change_both, contains="page=1&")
    await sweep(harness)
    [row] = await harness.rows(device_sweeps)
    assert row["complete_at"] is None
    await swept_twice(harness)
    [row] = await harness.rows(device_sweeps)
    assert row["complete_at"] is not None
    assert await told(harness, owner.api_key) == []


async def test_a_device_whose_records_were_seen_at_two_moments_by_a_first_list_that_came_late_is_told_from_then_on(
    harness: ServiceHarness,
) -> None:
    srn, (first, _) = await two_records_far_apart(harness)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, srn)
    await harness.service.device_sweep.refresh_queue()
    harness.clock.move(3 * DAY)

    baselines = []
    for status in (ON, OFF, ON):
        harness.world.change(first, status=status)
        for _ in range(2):
            await sweep(harness)
            [row] = await harness.rows(device_sweeps)
            baselines.append(row["complete_at"] is not None)

    assert baselines == [False, *5 * [True]], "none before its records, which differ, were found so twice"
    assert await told(harness, owner.api_key) == [{"devices_off_market": 1}, {"devices_on_market": 1}]


async def test_records_of_a_device_that_agree_keep_no_first_list_from_being_the_baseline(
    harness: ServiceHarness,
) -> None:
    srn, (first, last) = await two_records_far_apart(harness)
    harness.world.change(last, status=ON)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, srn)

    await sweep(harness)
    [row] = await harness.rows(device_sweeps)
    assert row["complete_at"] is not None

    harness.world.change(first, status=OFF)
    await swept_twice(harness)
    assert await told(harness, owner.api_key) == [{"devices_off_market": 1}]


@pytest.mark.parametrize(("before", "after", "change"), [(ON, OFF, "off_market"), (OFF, ON, "on_market")])
async def test_what_was_found_of_a_device_outlasts_the_record_of_which_it_was_found(
    harness: ServiceHarness, before: str, after: str, change: str
) -> None:
    like = a_manufacturer(harness)
    [first] = register_more(harness, like, 1, status=before)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, like.manufacturer.srn)
    await sweep(harness)

    others = [
        harness.world.register(replace(first, uuid=f"00000000-0000-4000-8000-00000000999{place}", status=status))
        for place, status in enumerate((ON, OFF))
    ]
    harness.world.remove(first.uuid)
    await sweep(harness)
    assert await told(harness, owner.api_key) == [], "nobody has read which of the two in its stead answers"
    for other in others:
        harness.world.change(other.uuid, status=after)
    await sweep(harness)

    assert await told(harness, owner.api_key) == [{f"devices_{change}": 1}]


async def test_every_registration_and_every_change_of_the_market_is_told_once(
    harness: ServiceHarness, rng: Random
) -> None:
    maker = Manufacturer(harness, rng)
    maker.register(rng.randint(290, 310))
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, maker.srn)
    await sweep(harness)
    baseline, before = set(maker.registered), maker.on_market()
    maker.shift_pages()
    for _ in range(6):
        maker.register(rng.choice([0, 0, 2, 30]))
        maker.change(rng.choice([0, 4]))
        maker.replace_some(rng.choice([0, 2]))
        if rng.random() < 0.4:
            harness.faults.fail("search", rng.choice(MODES), contains="size=300", skip=rng.randint(0, 1), times=2)
        await broken_off_now_and_then(harness, rng)
        harness.faults.clear()
        harness.clock.move(rng.choice([0, 400]))
    harness.to_register.rewrites.clear()
    await swept_twice(harness)
    for status in (ON, OFF, ON):  # where runs are broken off is not the same each time, so chance may leave out a kind
        harness.world.change(maker.devices[0].uuid, status=status)
        await swept_twice(harness)

    found = defaultdict[str, list[str]](list)
    for row in await harness.rows(portfolio_news):
        found[row["primary_di"]].append(row["change"])
    assert {udi for udi, changes in found.items() if "registered" in changes} == set(maker.registered) - baseline
    assert all(changes.count("registered") <= 1 for changes in found.values())
    for udi, is_on in maker.on_market().items():
        market = [change for change in found[udi] if change != "registered"]
        assert all(one != other for one, other in pairwise(market))
        if udi in before:
            assert len(market) % 2 == (is_on != before[udi])
            assert not market or (market[-1] == "on_market") == is_on
    numbers = Counter[str]()
    for event in await told(harness, owner.api_key):
        numbers.update(event)
    listed = Counter(f"devices_{change}" for changes in found.values() for change in changes)
    assert len(listed) == 3
    assert numbers == listed, "what was found was told, once"
