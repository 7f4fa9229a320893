"""The recheck: a few watches a run, the longest unread first, and nobody starves."""

import asyncio

import pytest
from structlog.testing import capture_logs

from registerwatch.background.loops import recheck
from registerwatch.ingest.refresh import ReadLimits
from registerwatch.ingest.subject_reads import Refreshed
from registerwatch.notifications.tables import deliveries
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.schedule import Schedule
from registerwatch.register.observation import ReadContext
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.watches.reading.read_subject import SubjectReader
from registerwatch.watches.reading.recheck import RecheckResult, RecheckService
from registerwatch.watches.tables import watches as watches_table
from tests.support.fakes import SteppedClock
from tests.support.harness import NewAccount, ServiceHarness, ServiceStarter
from tests.watches.steps import due_subjects


async def import_service(harness: ServiceHarness, subjects: list[str], email: str = "owner@acme.example") -> NewAccount:
    """An account that watches these, of which nothing was read yet."""
    owner = await harness.sign_up(email)
    answer = (await harness.post("/v1/import", owner.api_key, csv="\n".join(subjects))).json()
    assert (answer["added"], answer["skipped"], answer["errors"]) == (len(subjects), 0, [])
    return owner


async def test_a_run_reads_fifteen_watches_the_longest_unread_first(harness: ServiceHarness) -> None:
    subjects = [device.primary_di for device in harness.unique_devices(20)]
    owner = await import_service(harness, subjects)

    assert await harness.service.watches.recheck.run() == RecheckResult(15, 15)
    watches = await harness.get_list(owner.api_key, "watches")
    assert [watch["subject"] for watch in watches if watch["last_sync"]] == subjects[:15]
    harness.clock.move(600)
    await harness.service.watches.recheck.run()

    tried = {row["subject"]: row["tried_at"] for row in await harness.rows(watches_table)}
    assert [subject for subject, at in tried.items() if at != harness.now] == subjects[10:15]


async def test_watches_on_one_subject_cost_one_read(harness: ServiceHarness) -> None:
    device = harness.unique_devices(1)[0].primary_di
    owners = [await import_service(harness, [device], f"owner{number}@acme.example") for number in range(3)]

    assert await harness.service.watches.recheck.run() == RecheckResult(1, 1)

    assert harness.register_log.kinds["detail"] == 1
    for owner in owners:
        assert (await harness.get_list(owner.api_key, "watches"))[0]["last_sync"]


async def test_watches_of_accounts_whose_period_has_ended_are_left(harness: ServiceHarness) -> None:
    owner = await import_service(harness, [harness.unique_devices(1)[0].primary_di])
    await harness.service.accounts.admin.set_period(owner.email, None, harness.now)

    assert await harness.service.watches.recheck.run() == RecheckResult(0, 0)

    assert harness.register_log.total == 0


async def test_a_run_that_finds_changes_makes_one_delivery_to_each_address(harness: ServiceHarness) -> None:
    devices = harness.unique_devices(3)
    owners = [
        await import_service(harness, [device.primary_di for device in devices], f"{name}@acme.example")
        for name in "ab"
    ]
    for owner in owners:
        await harness.post("/v1/webhooks", owner.api_key, url="https://receiver.example/hook")
    await harness.service.watches.recheck.run()
    for device in devices:
        harness.world.change(device.uuid, reference="NEW-1")
    harness.clock.move(600)

    await harness.service.watches.recheck.run()

    made = await harness.rows(deliveries)
    assert len({row["webhook_id"] for row in made}) == len(made) == 2
    assert {row["due_at"] for row in made} == {harness.now}
    for owner in owners:
        assert len(await harness.get_list(owner.api_key, "events")) == 3
        assert (await harness.post_sync(owner.api_key))["events"] == [], "events of a recheck are not listed again"


@pytest.mark.parametrize("mode", ["refused", "defective"])
async def test_subjects_that_fail_for_good_do_not_starve_others(start_service: ServiceStarter, mode: str) -> None:
    async with start_service(recheck_watches_per_run=2) as harness:
        devices = harness.separate_devices(4)
        owner = await import_service(harness, [device.primary_di for device in devices])
        for device in devices[:2]:
            if mode == "refused":
                harness.faults.fail("basic", "http-400", contains=device.uuid)
            else:
                harness.to_register.broken.add(device.uuid)

        with capture_logs():
            for _ in range(2):
                await harness.service.watches.recheck.run()
                harness.clock.move(600)

        watches = await harness.get_list(owner.api_key, "watches")
        assert [bool(watch["last_sync"]) for watch in watches] == [False, False, True, True]
        assert [bool(watch["last_error"]) for watch in watches] == [True, True, False, False]


class Unseen:
    """Reads that find something of which nothing answers for the subject."""

    reads_begun = 0

    async def propagate_rest(self) -> None:
        pass

    async def refresh(
        self, subject: str, *, priority: RequestPriority, context: ReadContext, limits: ReadLimits
    ) -> Refreshed:
        return Refreshed(changed=False)


async def test_a_read_that_had_nothing_to_compare_takes_its_turn_all_the_same(harness: ServiceHarness) -> None:
    await harness.owner_watching("owner@acme.example", "1", "2", "3")
    reading = SubjectReader(harness.database, harness.clock, harness.service.records, Unseen())  # type: ignore[arg-type]  # a refresher
    recheck_service = RecheckService(
        harness.database, harness.clock, reading, harness.service.notifications.outbox, watches_per_run=1
    )

    for _ in range(2):
        await recheck_service.run()
        harness.clock.move(600)

    assert await due_subjects(harness) == ["3", "1", "2"]


# Ticks


async def test_of_many_processes_one_claims_a_slot(database: Database) -> None:
    clock = SteppedClock(1_800_000_000)
    processes = [Schedule(database, clock) for _ in range(8)]

    for _ in range(3):
        claims = await asyncio.gather(*(schedule.claim("recheck", 600) for schedule in processes))
        assert sorted(claims) == [False] * 7 + [True]
        clock.move(600)


async def test_a_clock_that_is_a_little_behind_claims_nothing_twice(database: Database) -> None:
    ahead, behind = SteppedClock(1_800_000_000), SteppedClock(1_800_000_000 - 5)
    assert await Schedule(database, ahead).claim("recheck", 600)

    assert not await Schedule(database, behind).claim("recheck", 600)
    behind.move(10)
    assert not await Schedule(database, behind).claim("recheck", 600)


async def test_a_clock_that_was_put_back_claims_at_once(database: Database) -> None:
    clock = SteppedClock(1_800_000_000)
    assert await Schedule(database, clock).claim("recheck", 600)
    clock.move(-3600)

    assert await Schedule(database, clock).claim("recheck", 600)


async def test_slots_of_different_work_are_claimed_apart(database: Database) -> None:
    schedule = Schedule(database, SteppedClock())

    assert [await schedule.claim("recheck", 600), await schedule.claim("other", 600)] == [True, True]


async def test_many_loops_run_once_in_a_slot(database: Database) -> None:
    clock, runs, ran = SteppedClock(1_800_000_000), [0], asyncio.Event()

    class Counting:
        async def run(self) -> RecheckResult:
            runs[0] += 1
            ran.set()
            return RecheckResult(0, 0)

    loops = [
        asyncio.create_task(recheck(Counting(), Schedule(database, clock), 0.05))  # type: ignore[arg-type]
        for _ in range(3)
    ]
    for expected in (1, 2):
        await asyncio.wait_for(ran.wait(), 10)
        assert runs == [expected]
        ran.clear()
        clock.move(0.06)
    for loop in loops:
        loop.cancel()
    await asyncio.gather(*loops, return_exceptions=True)
