"""What people set for one watch, what they see of it, and reading it now; on both databases."""

import json
from typing import Any

import pytest

from registerwatch.accounts.models import Caller
from registerwatch.errors import CapReached, InvalidInput, PeriodEnded
from registerwatch.notifications.tables import deliveries
from registerwatch.register.models import DeviceReading
from registerwatch.watches.options import MAX_NOTES_LENGTH, WatchOptions, options_of, with_options
from registerwatch.watches.questions.timeline import PAGE_LENGTH, position_of
from registerwatch.watches.questions.watch_details import ReadResult, WatchDetails, WatchEdit
from registerwatch.watches.reading.read_failures import ReadFailure
from registerwatch.watches.tables import watches
from tests.register.builders import UDI, a_full_reading
from tests.support.harness import ServiceHarness
from tests.watches.builders import ON
from tests.watches.steps import add_webhook, take_awaiting, told_by_deliveries

OTHER = "04099999999985"
SILENT = WatchOptions(notifies=False)


def anew(udi: str = UDI, **differs: Any) -> DeviceReading:
    """A full reading of a device on the market."""
    return a_full_reading(f"u-{udi}", udi, **{"status_code": ON, "trade_name": "Alpha", **differs})


async def details_of(harness: ServiceHarness, caller: Caller, subject: str = UDI) -> WatchDetails:
    """The watch on a subject as its page shows it."""
    found = await harness.service.watches.details.read(caller, (await harness.watch(caller, subject)).id)
    assert found is not None
    return found


async def change(harness: ServiceHarness, caller: Caller, watch_id: int, **differs: Any) -> bool:
    """Set something of a watch."""
    return await harness.service.watches.details.change(caller, watch_id, WatchEdit(**differs))


async def test_a_name_that_people_give_stays_and_an_empty_one_follows_the_register(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    watch_id = (await harness.watch(caller)).id
    assert await change(
        harness, caller, watch_id, name=" Ward 3 ", tags="ICU, icu, stock", notes="a\r\nb\u202e ", options=SILENT
    )
    await harness.store(anew())

    found = await details_of(harness, caller)
    assert (found.watch.label, found.is_renamed, found.notes, found.options) == ("Ward 3", True, "a\nb", SILENT)
    assert (found.registered_name, found.tags) == ("Alpha", ["ICU", "stock"])

    assert await change(harness, caller, watch_id)
    found = await details_of(harness, caller)
    assert (found.watch.label, found.is_renamed, found.notes, found.options) == ("Alpha", False, "", WatchOptions())
    assert list(found.tags) == []
    await change(harness, caller, watch_id, name="Alpha")
    await harness.store(anew(trade_name="Beta"))
    assert (await harness.watch(caller)).label == "Beta"


async def test_only_the_account_whose_period_runs_changes_its_watch(harness: ServiceHarness) -> None:
    caller, other = await harness.owner_watching(), await harness.owner("other@acme.example")
    watch_id = (await harness.watch(caller)).id
    details, before = harness.service.watches.details, await harness.rows(watches)

    assert not await change(harness, other, watch_id, name="Theirs")
    assert await details.read(other, watch_id) is None
    assert await details.read_register(other, watch_id) is None
    with pytest.raises(InvalidInput, match="4,001 characters; 4,000 fit"):
        await change(harness, caller, watch_id, notes="x" * (MAX_NOTES_LENGTH + 1))
    with pytest.raises(CapReached, match="at most 20 tags"):
        await change(harness, caller, watch_id, name="New", tags=",".join(map(str, range(21))))
    harness.clock.move(400 * 86_400)
    for refused in (change(harness, caller, watch_id, name="Late"), details.read_register(caller, watch_id)):
        with pytest.raises(PeriodEnded):
            await refused
    assert await harness.rows(watches) == before


async def test_events_of_a_watch_that_does_not_notify_are_listed_and_sent_to_nobody(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching("first@acme.example", UDI, OTHER)
    await add_webhook(harness, caller)
    await harness.store(anew(), anew(OTHER))
    await change(harness, caller, (await harness.watch(caller)).id, options=SILENT)

    await harness.store(anew(reference="R-2"))
    assert await harness.rows(deliveries) == []
    await harness.store(anew(reference="R-3"), anew(OTHER, reference="R-4"))

    [told] = (await told_by_deliveries(harness)).values()
    assert [each["subject"] for each in told] == [OTHER]
    summaries = ["reference:  → R-2", "reference: R-2 → R-3", "reference:  → R-4"]
    assert await harness.summaries(caller) == summaries
    assert await take_awaiting(harness, caller) == summaries, "the next sync lists them"


def test_options_that_a_later_release_added_stay() -> None:
    stored = '{"of_a_later_release":"all","notifies":true}'

    changed = with_options(stored, SILENT)

    assert json.loads(changed) == {
        "of_a_later_release": "all",
        "notifies": False,
        "portfolio": True,
        "certificates": True,
    }
    assert (options_of(changed), options_of("{}")) == (SILENT, WatchOptions())


async def test_reading_one_watch_now_says_what_that_brought(harness: ServiceHarness) -> None:
    [device] = harness.unique_devices(1)
    caller = await harness.owner_watching("first@acme.example", device.primary_di)
    watch_id = (await harness.watch(caller, device.primary_di)).id

    async def result() -> ReadResult | None:
        harness.clock.move(60)
        return await harness.service.watches.details.read_register(caller, watch_id)

    assert [await result(), await result()] == [ReadResult.FIRST, ReadResult.UNCHANGED]
    harness.world.change(device.uuid, reference="NEW-1")
    assert await result() == ReadResult.CHANGED
    harness.faults.fail("any", "http-500")
    assert await result() == ReadResult.FAILED

    [failure, event] = (await details_of(harness, caller, device.primary_di)).timeline.entries
    assert isinstance(failure, ReadFailure)
    assert not isinstance(event, ReadFailure)
    assert event.changes[0].new == "NEW-1"


async def test_pages_of_a_timeline_follow_each_other_and_show_one_watch_alone(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching("first@acme.example", UDI, OTHER)
    await harness.store(anew(), anew(OTHER))
    for number in range(PAGE_LENGTH + 2):
        harness.clock.move(number % 2)
        await harness.store(anew(reference=f"R-{number}"), anew(OTHER, reference=f"R-{number}"))
    harness.faults.fail("any", "http-500")
    details, watch_id = harness.service.watches.details, (await harness.watch(caller)).id
    await details.read_register(caller, watch_id)

    first = (await details_of(harness, caller)).timeline
    assert first.earlier is not None
    second = await details.read(caller, watch_id, before=first.earlier)

    assert second is not None
    assert second.timeline.earlier is None
    entries = [*first.entries, *second.timeline.entries]
    positions = [position_of(each) for each in entries]
    assert positions == sorted(set(positions), reverse=True)
    shown = [change.new for each in entries if not isinstance(each, ReadFailure) for change in each.changes]
    assert shown == [f"R-{number}" for number in reversed(range(PAGE_LENGTH + 2))]
    assert sum(isinstance(each, ReadFailure) for each in entries) == 1
