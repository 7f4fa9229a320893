"""The sweep of devices, for those who watch: what lists show becomes events, without a recheck and without a doubt."""

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from registerwatch.copy.search.manufacturer_devices import ManufacturerDevices
from registerwatch.copy.sweeps import RETRY_SECONDS
from registerwatch.copy.tables import device_sweeps, portfolio_devices, portfolio_news
from registerwatch.errors import DatabaseUnavailable
from registerwatch.ingest.sweeps.device_sweep import DeviceSweeper
from registerwatch.ingest.sweeps.sweep_run import MAX_READS, MAX_REQUESTS, SweepAdapters
from registerwatch.ingest.sweeps.sweep_steps import NONE, UNREADABLE
from registerwatch.sources.eudamed.device_lists import EudamedDeviceLists
from registerwatch.sources.eudamed.guards import REPROBE_SECONDS
from registerwatch.watches.reading.read_subject import SubjectReader
from registerwatch.watches.reading.sweep_targets import SweepTargets
from registerwatch_standins.register.records import Registration
from tests.support.harness import ServiceHarness
from tests.watches.sweep_steps import (
    INTERVAL,
    OFF,
    ON,
    a_manufacturer,
    number_of_devices,
    register_more,
    runs,
    state,
    sweep,
    told,
)


async def test_a_status_change_of_a_watched_device_among_300_is_one_event_without_a_recheck(
    harness: ServiceHarness,
) -> None:
    device = a_manufacturer(harness)
    register_more(harness, device, 300 - number_of_devices(harness, device))
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, device.primary_di)
    await sweep(harness)

    harness.world.change(device.uuid, status=OFF, status_date="2027-01-14")
    [run] = await sweep(harness)
    [event] = await harness.get_list(owner.api_key, "events")

    assert {each["field"] for each in event["changes"]} == {"status", "status_date", "version"}
    assert (run.requests, run.differing, run.problem) == (1, 1, "")
    [again] = await sweep(harness)
    assert again.differing == 0
    assert len(await harness.get_list(owner.api_key, "events")) == 1


async def watching_many(harness: ServiceHarness, legislation: str) -> tuple[str, list[Registration]]:
    """The key of an account that watches more devices of a manufacturer than a run reads, and these devices."""
    devices = register_more(harness, a_manufacturer(harness), MAX_READS + 5, legislation=legislation)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, *(each.primary_di for each in devices))
    await sweep(harness)
    harness.register_log.clear()
    return owner.api_key, devices


def full_reads(harness: ServiceHarness) -> int:
    """Full reads of devices since the last call."""
    reads = sum(request.kind == "basic" for request in harness.register_log.requests)
    harness.register_log.clear()
    return reads


async def subjects_of_events(harness: ServiceHarness, api_key: str) -> list[str]:
    return sorted(each["subject"] for each in await harness.get_list(api_key, "events"))


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_of_many_changes_at_once_few_are_read_in_full_and_the_others_told_by_their_rows(
    harness: ServiceHarness,
) -> None:
    api_key, devices = await watching_many(harness, "mdr")

    for each in devices:
        harness.world.change(each.uuid, reference="NEW-1")
    [run] = await sweep(harness)

    assert await subjects_of_events(harness, api_key) == [each.primary_di for each in devices]
    assert (run.differing, full_reads(harness)) == (len(devices), MAX_READS)
    harness.clock.move(3600)
    await sweep(harness)
    assert full_reads(harness) == len(devices) - MAX_READS, "what their rows do not tell is read later"


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_devices_whose_rows_prove_nothing_are_read_in_full_some_in_each_turn(harness: ServiceHarness) -> None:
    api_key, devices = await watching_many(harness, "mdd")

    harness.world.change_actor(devices[0].manufacturer.srn, status="inactive")
    await sweep(harness)
    assert (len(await subjects_of_events(harness, api_key)), full_reads(harness)) == (MAX_READS, MAX_READS)
    await sweep(harness)

    assert await subjects_of_events(harness, api_key) == [each.primary_di for each in devices]
    assert full_reads(harness) == len(devices) - MAX_READS


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_what_rows_tell_of_their_manufacturer_needs_no_read_of_its_devices(harness: ServiceHarness) -> None:
    api_key, devices = await watching_many(harness, "mdr")

    harness.world.change_actor(devices[0].manufacturer.srn, status="inactive")
    await sweep(harness)

    events = await harness.get_list(api_key, "events")
    assert sorted(each["subject"] for each in events) == [each.primary_di for each in devices]
    assert {each["summary"] for each in events} == {"manufacturer_status: Active → Inactive"}
    assert [request.kind for request in harness.register_log.requests] == ["search"]


async def test_newly_registered_devices_are_one_event_with_the_number_and_once(harness: ServiceHarness) -> None:
    device = a_manufacturer(harness)
    srn = device.manufacturer.srn
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, srn)
    await sweep(harness)
    assert await told(harness, owner.api_key) == [], "the first list is what later ones are compared with"

    before = number_of_devices(harness, device)
    register_more(harness, device, 1_000)
    await sweep(harness)
    await sweep(harness)

    assert await told(harness, owner.api_key) == [{"devices_registered": 1_000}]
    changes = [each["changes"] for each in await harness.get_list(owner.api_key, "events")]
    assert [{"field": "device_total", "old": str(before), "new": str(before + 1_000)}] in changes


async def test_devices_that_leave_the_market_and_come_back_are_told(harness: ServiceHarness) -> None:
    device = a_manufacturer(harness)
    [other, twin] = register_more(harness, device, 2)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, device.manufacturer.srn)
    await sweep(harness)

    for status in (OFF, ON):
        harness.world.change(device.uuid, status=status)
        harness.world.change(other.uuid, status=status)
        await sweep(harness)
    harness.world.remove(twin.uuid)
    await sweep(harness)

    assert await told(harness, owner.api_key) == [{"devices_off_market": 2}, {"devices_on_market": 2}]


async def test_devices_that_are_registered_while_pages_are_read_are_told_once_and_none_is_missed(
    harness: ServiceHarness,
) -> None:
    device = a_manufacturer(harness)
    register_more(harness, device, 700)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, device.manufacturer.srn)
    places = iter(range(1_000, 100_000))

    def shift(page: Any) -> Any:
        register_more(harness, device, 5, first=next(places) * 5)
        return page

    harness.to_register.rewrites["page=1&"] = shift
    await sweep(harness)
    [row] = await harness.rows(device_sweeps)
    assert row["complete_at"] is not None, "pages that shift are read again, until every device was listed"
    assert await told(harness, owner.api_key) == []

    await sweep(harness)
    harness.to_register.rewrites.clear()
    await sweep(harness)
    total = len(await harness.rows(portfolio_devices))
    assert sum(each["devices_registered"] for each in await told(harness, owner.api_key)) + row["total"] == total


@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize("lie", [-1, 1, 250])
async def test_a_count_that_cannot_be_right_makes_nothing_news(harness: ServiceHarness, lie: int) -> None:
    device = a_manufacturer(harness)
    register_more(harness, device, 9)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, device.manufacturer.srn)

    harness.to_register.rewrites["size=300"] = lambda page: page | {"totalElements": page["totalElements"] + lie}
    await sweep(harness)
    register_more(harness, device, 9, first=10)
    await sweep(harness)

    [row] = await harness.rows(device_sweeps)
    assert row["complete_at"] is None
    assert await harness.rows(portfolio_news) == []


async def test_a_first_list_with_fewer_devices_than_are_known_makes_nothing_news_when_it_is_whole_again(
    harness: ServiceHarness,
) -> None:
    device = a_manufacturer(harness)
    register_more(harness, device, 9)
    srn = device.manufacturer.srn
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, srn)

    fault = f"srn={srn}"
    harness.to_register.rewrites[fault] = lambda page: page | {"content": page["content"][:1], "totalElements": 1}
    [run] = await sweep(harness)
    assert "not believed yet" in run.problem
    assert (await state(harness)).failing == 1
    await sweep(harness)
    harness.to_register.rewrites.clear()
    [run] = await sweep(harness)
    assert run.problem == ""
    register_more(harness, device, 700, first=10)
    await sweep(harness)

    assert await told(harness, owner.api_key) == [{"devices_registered": 700}], "a flood is told all the same"


async def test_a_first_list_without_devices_makes_nothing_news_when_it_has_them_though_nothing_else_was_known(
    harness: ServiceHarness,
) -> None:
    device = a_manufacturer(harness)
    srn, owner = device.manufacturer.srn, await harness.sign_up()
    harness.to_register.rewrites[f"srn={srn}"] = lambda page: page | {"content": [], "totalElements": 0}
    await harness.post_watches(owner.api_key, srn)

    for _ in range(2):
        [run] = await sweep(harness)
        assert run.problem == NONE
    harness.to_register.rewrites.clear()
    [run] = await sweep(harness)
    assert run.problem == ""
    register_more(harness, device, 1)
    await sweep(harness)

    assert await told(harness, owner.api_key) == [{"devices_registered": 1}]


async def test_rows_that_cannot_be_read_are_shown_and_keep_no_other_device_from_being_told(
    harness: ServiceHarness,
) -> None:
    """One row has no UDI-DI, and of another one a field is unknown."""
    device = a_manufacturer(harness)
    register_more(harness, device, 303)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, device.manufacturer.srn)

    def damaged(page: Any) -> Any:
        for row in page["content"]:
            if row["primaryDi"] == "07000000000000":
                row["primaryDi"] = None
            if row["primaryDi"] == "07000000000001":
                row["versionNumber"] = 10**10
        return page

    harness.to_register.rewrites["size=300"] = damaged
    [run] = await sweep(harness)
    assert run.problem == UNREADABLE.format(number=1)
    [row] = await harness.rows(device_sweeps)
    assert row["complete_at"] is not None
    register_more(harness, device, 2, first=1_000)
    await sweep(harness)
    assert await told(harness, owner.api_key) == [{"devices_registered": 2}]

    harness.to_register.rewrites.clear()
    [run] = await sweep(harness)
    assert run.problem == ""


async def test_nothing_is_stored_from_a_list_whose_filter_is_ignored_and_it_is_told(harness: ServiceHarness) -> None:
    device = a_manufacturer(harness)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, device.manufacturer.srn)
    await sweep(harness)
    before = harness.all_rows()
    harness.faults.fail("search", "ignored-filter", contains="srn=")

    [run] = await sweep(harness)

    assert "ignored the filter" in run.problem
    assert (await state(harness)).failing == 1
    after = harness.all_rows()
    unchanged = ("devices", "actors", "watches", "portfolio_devices", "portfolio_news", "events")
    assert [name for name in unchanged if before[name] != after[name]] == []

    harness.faults.clear()
    harness.clock.move(REPROBE_SECONDS)
    [run] = await sweep(harness)
    assert (run.problem, run.has_ended) == ("", True)
    assert (await state(harness)).failing == 0


async def test_a_large_manufacturer_with_few_watched_devices_is_searched_one_by_one(harness: ServiceHarness) -> None:
    device = a_manufacturer(harness)
    others = register_more(harness, device, 900)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, device.primary_di, others[0].primary_di)
    await sweep(harness)
    harness.register_log.clear()

    harness.world.change(others[0].uuid, reference="NEW-1")
    [run] = await sweep(harness)

    assert (run.requests, run.has_ended) == (2, True)
    assert len(await harness.get_list(owner.api_key, "events")) == 1
    assert await harness.rows(portfolio_devices) == []


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_large_manufacturer_takes_several_turns_and_the_others_have_theirs_between(
    harness: ServiceHarness,
) -> None:
    device = a_manufacturer(harness)
    register_more(harness, device, 300 * MAX_REQUESTS + 1)
    small = a_manufacturer(harness, 1)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, device.manufacturer.srn, small.manufacturer.srn)

    taken = await runs(harness)

    large = device.manufacturer.srn
    assert [run.requests for run in taken if run.srn == large] == [MAX_REQUESTS, 1]
    assert taken[0].srn != taken[1].srn
    assert await runs(harness) == [], "nothing is listed more often than the interval says"


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_manufacturer_whose_list_fails_comes_again_and_holds_up_nobody(harness: ServiceHarness) -> None:
    device = a_manufacturer(harness)
    small = a_manufacturer(harness, 1)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, device.manufacturer.srn, small.manufacturer.srn)
    harness.faults.fail("search", "http-503", contains=f"srn={device.manufacturer.srn}")

    first = {run.srn: run.problem != "" for run in await sweep(harness)}
    harness.faults.clear()
    again = await sweep(harness)

    assert first == {device.manufacturer.srn: True, small.manufacturer.srn: False}
    assert {run.srn: run.problem for run in again} == {device.manufacturer.srn: "", small.manufacturer.srn: ""}


async def test_the_queue_follows_what_is_watched(harness: ServiceHarness) -> None:
    device = a_manufacturer(harness)
    srn = device.manufacturer.srn
    owner = await harness.sign_up()
    [of_device] = await harness.post_watches(owner.api_key, device.primary_di)
    assert [run.srn for run in await runs(harness)] == [srn]

    [of_actor] = await harness.post_watches(owner.api_key, srn)
    assert [run.srn for run in await runs(harness)] == [srn], "a new watch makes it due at once"
    assert len(await harness.rows(portfolio_devices)) == number_of_devices(harness, device)

    harness.clock.move(8 * 24 * 3600)
    assert await runs(harness) == [], "the account's period has ended"
    assert [row["srn"] for row in await harness.rows(device_sweeps)] == [srn]
    assert (await state(harness)).manufacturers == 0

    for watch in (of_device, of_actor):
        await harness.client.delete(f"/v1/watches/{watch['id']}", headers={"X-API-Key": owner.api_key})
    await runs(harness)
    assert await harness.rows(device_sweeps) == await harness.rows(portfolio_devices) == []


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_authorised_representatives_are_not_swept_since_rows_do_not_name_them(harness: ServiceHarness) -> None:
    await harness.owner_watching("owner@acme.example", "DE-AR-000000001", "DE-PR-000000001")

    assert [run.srn for run in await runs(harness)] == ["DE-PR-000000001"]


async def test_its_state_tells_how_long_the_longest_unswept_manufacturer_waits(harness: ServiceHarness) -> None:
    sweeper = harness.service.device_sweep
    assert (await state(harness)).oldest_at is None
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, a_manufacturer(harness).manufacturer.srn)
    await sweeper.refresh_queue()
    harness.clock.move(50)
    assert (await state(harness)).oldest_at == harness.now - 50

    await runs(harness)
    harness.clock.move(20)
    assert (await state(harness)).oldest_at == harness.now - 21


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_sweep_of_all_lists_every_manufacturer_once_whenever_it_was_swept(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    srns = sorted({each.manufacturer.srn for each in harness.unique_devices(30)})[:5]
    await harness.post_watches(owner.api_key, *srns)
    await runs(harness)
    seen: list[tuple[int, int]] = []

    done = await harness.service.device_sweep.sweep_all(lambda *progress: seen.append(progress))

    assert (done.manufacturers, done.requests, done.problems) == (len(srns), len(srns), {})
    assert seen[-1] == (len(srns), len(srns))


async def test_a_new_manufacturer_does_not_get_ahead_of_those_who_wait_for_longer(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    first, second, third = (a_manufacturer(harness, rank) for rank in range(3))
    await harness.post_watches(owner.api_key, first.manufacturer.srn)
    await runs(harness)
    harness.clock.move(INTERVAL + 10)
    await harness.post_watches(owner.api_key, second.manufacturer.srn)
    await harness.service.device_sweep.refresh_queue()
    harness.clock.move(5)
    await harness.post_watches(owner.api_key, third.manufacturer.srn)

    assert [run.srn for run in await runs(harness)] == [each.manufacturer.srn for each in (first, second, third)]


class UnaskedSubjects(SweepTargets):
    """No read gets a place in the request budget."""

    async def read(self, visible_at: Mapping[str, int]) -> Collection[str]:
        return ()


class UnstorableSubjects(SweepTargets):
    """Nothing that is read can be stored."""

    async def read(self, visible_at: Mapping[str, int]) -> Collection[str]:
        raise DatabaseUnavailable("The database does not take it")


def sweeper_with(harness: ServiceHarness, subjects: type[SweepTargets]) -> DeviceSweeper:
    """A sweep that reads what is watched in another way."""
    service, clock = harness.service, harness.clock
    reader = SubjectReader(harness.database, clock, service.records, service.refresher)
    targets = subjects(harness.database, clock, reader, service.notifications.outbox)
    listing = EudamedDeviceLists(service.eudamed.interface)
    copy = ManufacturerDevices(service.documents, service.index)
    parts = service.records, listing, targets, service.watches.news, service.register_checks, copy, clock
    return DeviceSweeper(SweepAdapters(harness.database, *parts), interval=INTERVAL)


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_what_gets_no_place_in_the_request_budget_is_found_again_by_the_next_walk(
    harness: ServiceHarness,
) -> None:
    api_key, devices = await watching_many(harness, "mdd")
    harness.world.change(devices[0].uuid, status=OFF)

    harness.clock.move(INTERVAL)
    run = await sweeper_with(harness, UnaskedSubjects).run_next()
    assert run is not None
    assert run.differing == 1
    assert await subjects_of_events(harness, api_key) == []
    await sweep(harness)
    assert await subjects_of_events(harness, api_key) == [devices[0].primary_di]


async def test_a_manufacturer_whose_devices_cannot_be_stored_is_shown_as_failing_and_waits(
    harness: ServiceHarness,
) -> None:
    api_key, devices = await watching_many(harness, "mdd")
    harness.world.change(devices[0].uuid, status=OFF)
    broken = sweeper_with(harness, UnstorableSubjects)
    harness.clock.move(INTERVAL)

    with pytest.raises(DatabaseUnavailable):
        await broken.run_next()

    assert (await state(harness)).failing == 1
    harness.clock.move(RETRY_SECONDS - 1)
    assert await broken.run_next() is None
    harness.clock.move(1)
    await runs(harness)
    assert await subjects_of_events(harness, api_key) == [devices[0].primary_di]
    assert (await state(harness)).failing == 0
