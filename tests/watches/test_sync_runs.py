"""Syncs that a page starts."""

import asyncio
import dataclasses

import pytest
from sqlalchemy import update

from registerwatch.accounts.models import Caller
from registerwatch.errors import PeriodEnded
from registerwatch.platform.structs import replace
from registerwatch.watches.models import SyncRun
from registerwatch.watches.reading.sync_runs import RUN_SECONDS
from registerwatch.watches.tables import sync_runs
from tests.support.harness import ServiceHarness, ServiceStarter
from tests.watches.steps import due_subjects, take_awaiting


async def last(harness: ServiceHarness, caller: Caller) -> SyncRun:
    found = await harness.service.watches.sync_runs.last(caller)
    assert found is not None
    return found


async def test_a_run_reads_every_watch_and_counts_what_came_of_it(harness: ServiceHarness) -> None:
    first, second = harness.unique_devices(2)
    caller = await harness.owner_watching("a@acme.example", first.primary_di, second.primary_di, "04000000000000")
    runs = harness.service.watches.sync_runs
    assert await runs.last(caller) is None

    assert await runs.start(caller)
    await runs.settled()
    baseline = await last(harness, caller)
    harness.world.change(first.uuid, reference="NEW-1")
    harness.clock.move(60)
    assert await runs.start(caller)
    await runs.settled()

    run = await last(harness, caller)
    assert (baseline.total, baseline.done, baseline.failed, baseline.events, baseline.error) == (3, 3, 1, 0, "")
    assert (run.total, run.done, run.failed, run.events, run.error) == (3, 3, 1, 1, "")
    assert (run.state(harness.now), run.finished_at) == ("finished", harness.now)
    [summary] = await take_awaiting(harness, caller)
    assert "NEW-1" in summary  # the account's next POST /v1/sync lists it all the same


async def test_one_run_at_a_time_goes_on_after_its_request_and_a_killed_one_ends_by_its_time_limit(
    harness: ServiceHarness,
) -> None:
    [device] = harness.unique_devices(1)
    caller = await harness.owner_watching("a@acme.example", device.primary_di)
    stranger = await harness.owner_watching("b@acme.example", device.primary_di)
    runs = harness.service.watches.sync_runs
    harness.to_register.held = {device.uuid}
    assert await runs.start(caller)
    await harness.to_register.reached.wait()
    assert not await runs.start(caller)
    assert await runs.start(stranger)
    assert (await last(harness, caller)).state(harness.now) == "running"
    harness.to_register.let.set()
    await runs.settled()
    assert (await last(harness, caller)).done == 1

    async with harness.database.transaction() as connection:
        await connection.execute(update(sync_runs).values(finished_at=None))
    assert not await runs.start(caller)
    harness.clock.move(RUN_SECONDS + 60)
    assert (await last(harness, caller)).state(harness.now) == "interrupted"
    assert await runs.start(caller)
    await runs.settled()
    assert (await last(harness, caller)).state(harness.now) == "finished"


async def test_a_run_of_chosen_watches_reads_these_alone(harness: ServiceHarness) -> None:
    first, second = harness.unique_devices(2)
    caller = await harness.owner_watching("a@acme.example", first.primary_di, second.primary_di)
    chosen = (await harness.watch(caller, second.primary_di)).id
    runs = harness.service.watches.sync_runs

    await runs.start(caller, [chosen, 10**15])
    await runs.settled()

    assert (await last(harness, caller)).total == 1
    assert (await harness.watch(caller, first.primary_di)).last_sync is None
    assert (await harness.watch(caller, second.primary_di)).last_sync is not None


async def test_what_the_shutdown_stops_says_so_and_the_rest_is_read_first(start_service: ServiceStarter) -> None:
    async with start_service() as harness:
        [device] = harness.unique_devices(1)
        caller = await harness.owner_watching("a@acme.example", device.primary_di)
        watch = await harness.watch(caller, device.primary_di)
        runs = harness.service.watches.sync_runs
        harness.to_register.held = {device.uuid}
        await runs.start(caller, [watch.id])
        await harness.to_register.reached.wait()
        await asyncio.wait_for(runs.close(), 10)
        run = await last(harness, caller)
        harness.to_register.let.set()
        assert (run.state(harness.now), run.done) == ("finished", 0)
        assert "stopped" in run.error
        assert await due_subjects(harness) == [device.primary_di]


async def test_nothing_is_read_after_the_period(harness: ServiceHarness) -> None:
    caller = await harness.owner_watching()
    ended = dataclasses.replace(caller, account=replace(caller.account, expires_at=harness.now))

    with pytest.raises(PeriodEnded):
        await harness.service.watches.sync_runs.start(ended)

    assert await harness.rows(sync_runs) == []
