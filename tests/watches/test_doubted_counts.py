"""A well-formed list of a manufacturer's devices that has none is believed after a day alone."""

from typing import Any

import pytest

from registerwatch.lookup.actors import LISTS_NONE
from registerwatch.register.list_doubt import DOUBT_SECONDS, MAX_GAP_SECONDS
from registerwatch_standins.register.records import Registration
from tests.support.harness import ServiceHarness
from tests.watches.sweep_steps import INTERVAL, a_manufacturer, number_of_devices, register_more, sweep

HOUR = 3600


async def watching(harness: ServiceHarness) -> tuple[str, Registration]:
    """The key of an account that watches a manufacturer of twelve devices, which was read, and one of the devices."""
    device = a_manufacturer(harness)
    register_more(harness, device, 12 - number_of_devices(harness, device))
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, device.manufacturer.srn)
    return owner.api_key, device


def lie(harness: ServiceHarness, device: Registration, rows: int) -> None:
    """Let the list of a manufacturer's devices have so many of them."""

    def shortened(page: Any) -> Any:
        return page | {"content": page["content"][:rows], "totalElements": rows, "totalPages": 1}

    harness.to_register.rewrites[f"udiDiData?srn={device.manufacturer.srn}&"] = shortened


async def changes(harness: ServiceHarness, api_key: str) -> list[tuple[str, str, str]]:
    """What was told, the oldest first."""
    events = reversed(await harness.get_list(api_key, "events"))
    return [(each["field"], each["old"], each["new"]) for event in events for each in event["changes"]]


async def test_a_list_that_has_no_device_for_a_moment_is_no_change(harness: ServiceHarness) -> None:
    api_key, device = await watching(harness)
    srn = device.manufacturer.srn

    lie(harness, device, 0)
    harness.world.change_actor(srn, name="Another name")
    harness.clock.move(60)
    await harness.post_sync(api_key)
    actor = (await harness.get(f"/v1/actors/{srn}")).json()
    assert (actor["device_total"], actor["devices_registered"], actor["error"]) == (12, 12, LISTS_NONE)
    harness.to_register.rewrites.clear()
    harness.clock.move(DOUBT_SECONDS)
    await harness.post_sync(api_key)
    assert (await harness.get(f"/v1/actors/{srn}")).json()["error"] is None
    lie(harness, device, 0)
    harness.clock.move(60)
    await harness.post_sync(api_key)

    [change] = await changes(harness, api_key)
    assert change[::2] == ("name", "Another name"), "the day begins anew with each list that is whole"


async def test_a_list_that_has_no_device_for_a_day_is_told_once_and_so_is_what_comes_back(
    harness: ServiceHarness,
) -> None:
    api_key, device = await watching(harness)
    lie(harness, device, 0)
    for _ in range(24):
        harness.clock.move(HOUR)
        await harness.post_sync(api_key)
    assert await changes(harness, api_key) == []

    for _ in range(2):
        harness.clock.move(HOUR)
        await harness.post_sync(api_key)
    harness.to_register.rewrites.clear()
    harness.clock.move(HOUR)
    await harness.post_sync(api_key)
    assert await changes(harness, api_key) == [("device_total", "12", "0"), ("device_total", "0", "12")]


@pytest.mark.parametrize("rows", [11, 1])
async def test_a_list_with_fewer_devices_is_told_at_once(harness: ServiceHarness, rows: int) -> None:
    api_key, device = await watching(harness)
    lie(harness, device, rows)
    harness.clock.move(60)
    await harness.post_sync(api_key)

    assert await changes(harness, api_key) == [("device_total", "12", str(rows))]


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_lists_with_devices_between_two_without_any_end_the_doubt(harness: ServiceHarness) -> None:
    api_key, device = await watching(harness)
    await sweep(harness)
    for _ in range(2):
        lie(harness, device, 0)
        await harness.post_sync(api_key)
        harness.to_register.rewrites.clear()
        for _ in range(DOUBT_SECONDS // INTERVAL // 8):
            harness.clock.move(7 * INTERVAL)
            await sweep(harness)

    assert await changes(harness, api_key) == []


async def test_a_list_without_devices_days_after_another_one_is_doubted_anew(harness: ServiceHarness) -> None:
    api_key, device = await watching(harness)
    lie(harness, device, 0)
    for _ in range(2):
        await harness.post_sync(api_key)
        harness.clock.move(MAX_GAP_SECONDS + 60)

    assert await changes(harness, api_key) == []


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_sweeps_that_are_shown_no_device_tell_nothing_and_ask_for_the_record_once_an_hour(
    harness: ServiceHarness,
) -> None:
    api_key, device = await watching(harness)
    await sweep(harness)
    lie(harness, device, 0)
    harness.register_log.clear()

    for _ in range(HOUR // INTERVAL):
        await sweep(harness)
    assert sum(request.kind == "actor-search" for request in harness.register_log.requests) == 1
    harness.to_register.rewrites.clear()
    for _ in range(2):
        await sweep(harness)
    assert await changes(harness, api_key) == []
