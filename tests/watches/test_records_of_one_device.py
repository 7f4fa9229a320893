"""A device with several records: its page, a watch of it and a watch of its manufacturer go by the same one of them."""

from dataclasses import dataclass
from typing import Any

import pytest

from registerwatch.platform.structs import replace
from registerwatch_standins.register.records import Registration
from tests.support.harness import NewAccount, ServiceHarness
from tests.watches.sweep_steps import OFF, ON, a_manufacturer, register_more, sweep

WORDS = {ON: "On the EU market", OFF: "No longer placed on the EU market"}


@dataclass(frozen=True)
class Twins:
    """A device that has a record under a directive and one under a regulation."""

    directive: Registration
    regulation: Registration

    @property
    def udi(self) -> str:
        return self.directive.primary_di

    @property
    def srn(self) -> str:
        return self.directive.manufacturer.srn


def directive_record(harness: ServiceHarness, status: str = ON, **differs: Any) -> Registration:
    """A new device with a record under a directive alone."""
    [record] = register_more(
        harness, a_manufacturer(harness), 1, first=500, legislation="mdd", basic_udi=None, status=status, **differs
    )
    return record


def regulation_record(harness: ServiceHarness, beside: Registration, status: str = ON, **differs: Any) -> Registration:
    """A record under a regulation beside another one, whose uuid is smaller."""
    uuid = "00000000-0000-4000-8000-000000009999"
    fields = {"uuid": uuid, "legislation": "mdr", "basic_udi": "4000000-TWIN-1A", "status": status, **differs}
    return harness.world.register(replace(beside, **fields))


def twins(harness: ServiceHarness, *, directive: str = ON, regulation: str = ON) -> Twins:
    """A device with two records of these market statuses."""
    first = directive_record(harness, directive)
    return Twins(first, regulation_record(harness, first, regulation))


async def watching(harness: ServiceHarness, *subjects: str) -> NewAccount:
    """An account that watches these; the manufacturer's devices were listed."""
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, *subjects)
    await sweep(harness)
    return owner


async def shown(harness: ServiceHarness, udi: str) -> str:
    """The market status that the device's own address shows."""
    return str((await harness.get(f"/v1/devices/{udi}")).json()["status"])


async def statuses_told(harness: ServiceHarness, owner: NewAccount) -> list[str]:
    """What the watch of the device was told of its market status, oldest first."""
    events = reversed(await harness.get_list(owner.api_key, "events"))
    return [each["new"] for event in events for each in event["changes"] if each["field"] == "status"]


async def market_told(harness: ServiceHarness, owner: NewAccount, udi: str) -> list[str]:
    """What the watch of the manufacturer was told of a device on the market, oldest first."""
    events = reversed(await harness.get_list(owner.api_key, "events"))
    fields = [each["field"] for event in events for each in event["changes"] if each.get("device") == udi]
    return [each.removeprefix("device_") for each in fields if each != "device_registered"]


async def test_the_record_under_the_regulation_leaves_the_market_and_all_are_told_whatever_the_old_one_says(
    harness: ServiceHarness,
) -> None:
    device = twins(harness)
    owner = await watching(harness, device.srn, device.udi)

    harness.world.change(device.regulation.uuid, status=OFF)
    await sweep(harness)

    assert await shown(harness, device.udi) == WORDS[OFF]
    assert await statuses_told(harness, owner) == [WORDS[OFF]]
    assert await market_told(harness, owner, device.udi) == ["off_market"]
    harness.world.change(device.regulation.uuid, status=ON)
    for _ in range(2):
        await sweep(harness)
    assert await shown(harness, device.udi) == WORDS[ON]
    assert await statuses_told(harness, owner) == [WORDS[OFF], WORDS[ON]]
    assert await market_told(harness, owner, device.udi) == ["off_market", "on_market"]


async def test_what_becomes_of_the_record_that_does_not_answer_is_told_to_nobody(harness: ServiceHarness) -> None:
    device = twins(harness)
    owner = await watching(harness, device.srn, device.udi)

    for status in (OFF, ON, OFF):
        harness.world.change(device.directive.uuid, status=status)
        await sweep(harness)

    assert await shown(harness, device.udi) == WORDS[ON]
    assert await statuses_told(harness, owner) == []
    assert await market_told(harness, owner, device.udi) == []


async def test_a_record_that_comes_and_goes_takes_the_standing_of_the_device_along(harness: ServiceHarness) -> None:
    first = directive_record(harness)
    owner = await watching(harness, first.manufacturer.srn, first.primary_di)

    other = regulation_record(harness, first, OFF)
    await sweep(harness)

    assert await shown(harness, first.primary_di) == WORDS[OFF]
    assert await statuses_told(harness, owner) == [WORDS[OFF]]
    assert await market_told(harness, owner, first.primary_di) == ["off_market"]
    harness.world.remove(other.uuid)
    await harness.post_sync(owner.api_key)
    await sweep(harness)
    assert await shown(harness, first.primary_di) == WORDS[ON]
    assert await statuses_told(harness, owner) == [WORDS[OFF], WORDS[ON]]
    assert await market_told(harness, owner, first.primary_di) == ["off_market", "on_market"]


@pytest.mark.parametrize("is_of_directive", [True, False])
async def test_a_latest_version_that_steps_back_leaves_the_answer_to_the_other_record(
    harness: ServiceHarness, is_of_directive: bool
) -> None:
    device = twins(harness, directive=OFF)
    owner = await watching(harness, device.srn, device.udi)

    stepping = device.directive if is_of_directive else device.regulation
    harness.world.change(stepping.uuid, latest_version=False)
    await sweep(harness)

    expected = ON if is_of_directive else OFF
    assert await shown(harness, device.udi) == WORDS[expected]
    assert await statuses_told(harness, owner) == ([] if is_of_directive else [WORDS[OFF]])
    assert await market_told(harness, owner, device.udi) == ([] if is_of_directive else ["off_market"])


async def test_of_records_under_one_legislation_the_higher_version_answers(harness: ServiceHarness) -> None:
    first = directive_record(harness, version_number=2)
    uuid = "00000000-0000-4000-8000-000000009999"
    harness.world.register(replace(first, uuid=uuid, status=OFF, version_number=1))
    owner = await watching(harness, first.manufacturer.srn, first.primary_di)
    assert await shown(harness, first.primary_di) == WORDS[ON]

    harness.world.change(uuid, version_number=3)
    await sweep(harness)

    assert await shown(harness, first.primary_di) == WORDS[OFF]
    assert await statuses_told(harness, owner) == [WORDS[OFF]]
    assert await market_told(harness, owner, first.primary_di) == ["off_market"]


async def test_a_record_that_is_no_latest_version_and_alone_answers_for_the_manufacturer_too(
    harness: ServiceHarness,
) -> None:
    record = directive_record(harness, latest_version=False)
    owner = await watching(harness, record.manufacturer.srn, record.primary_di)

    harness.world.change(record.uuid, status=OFF)
    await sweep(harness)

    assert await shown(harness, record.primary_di) == WORDS[OFF]
    assert await statuses_told(harness, owner) == [WORDS[OFF]]
    assert await market_told(harness, owner, record.primary_di) == ["off_market"]


async def test_of_records_whose_legislation_nobody_has_read_it_is_told_once_when_somebody_has(
    harness: ServiceHarness,
) -> None:
    """Rows of a list do not tell the legislation, so until a record is read nobody knows which one answers."""
    device = twins(harness)
    owner = await watching(harness, device.srn)

    harness.world.change(device.regulation.uuid, status=OFF)
    for _ in range(2):
        await sweep(harness)
    assert await market_told(harness, owner, device.udi) == []

    await harness.get("/v1/refresh", q=device.udi)
    assert await shown(harness, device.udi) == WORDS[OFF]
    for _ in range(2):
        await sweep(harness)
    assert await market_told(harness, owner, device.udi) == ["off_market"]


async def test_records_that_nobody_has_read_and_that_all_leave_the_market_are_told_at_once(
    harness: ServiceHarness,
) -> None:
    device = twins(harness)
    owner = await watching(harness, device.srn)

    for record in (device.directive, device.regulation):
        harness.world.change(record.uuid, status=OFF)
    await sweep(harness)

    assert await market_told(harness, owner, device.udi) == ["off_market"]


async def test_what_was_so_at_the_baseline_is_no_news_when_it_becomes_known_which_record_answers(
    harness: ServiceHarness,
) -> None:
    device = twins(harness, regulation=OFF)
    owner = await watching(harness, device.srn)

    await harness.get("/v1/refresh", q=device.udi)
    await sweep(harness)
    assert await market_told(harness, owner, device.udi) == []

    harness.world.change(device.regulation.uuid, status=ON)
    await sweep(harness)
    assert await market_told(harness, owner, device.udi) == ["on_market"]
