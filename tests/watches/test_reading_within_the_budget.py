"""Syncs and rechecks when the register's request budget does not suffice: what was not asked, and who is first next."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import text

from registerwatch.watches.reading.recheck import RecheckResult
from tests.support.harness import NewAccount, ServiceHarness, ServiceStarter

on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"])


async def watcher(harness: ServiceHarness, subjects: list[str], email: str = "owner@acme.example") -> NewAccount:
    """An account that watches these, of which nothing was read yet."""
    owner = await harness.sign_up(email)
    answer = (await harness.post("/v1/import", owner.api_key, csv="\n".join(subjects))).json()
    assert answer["added"] == len(subjects)
    return owner


async def sync_and_settle(harness: ServiceHarness, key: str) -> dict[str, Any]:
    """A sync; what it had begun to read is read to its end, and a minute passes."""
    began = harness.clock.now()
    answer = await harness.post_sync(key)
    await harness.service.refresher.settled()
    harness.clock.move(max(0.0, began + 60 - harness.clock.now()))
    return answer


async def slow_down(harness: ServiceHarness, seconds: int) -> None:
    """Another process was told by the register to ask nothing for so long."""
    async with harness.database.transaction() as connection:
        await connection.execute(
            text("UPDATE request_budgets SET paused_until = :until"), {"until": harness.now + seconds}
        )


def read_times(watches: list[dict[str, Any]]) -> list[str]:
    return [watch["last_sync"] for watch in watches if watch["last_sync"]]


async def test_forty_watches_are_all_read_by_five_syncs_a_minute_apart_and_none_twice_before_all_once(
    start_service: ServiceStarter,
) -> None:
    async with start_service(register_requests_per_minute=60, trial_watch_cap=50) as harness:
        owner = await watcher(harness, [device.primary_di for device in harness.unique_devices(40)])

        answers = [await sync_and_settle(harness, owner.api_key) for _ in range(5)]

        watches = await harness.get_list(owner.api_key, "watches")
        assert len(read_times(watches)) == 40
        assert [watch["last_error"] for watch in watches] == [""] * 40
        for answer in answers:
            assert answer["synced"] + answer.get("unread", 0) == 40
            assert (answer["error"] is None) == ("unread" not in answer)
        assert "not read" in answers[0]["error"]
        assert "requests for the minute are used up" in answers[0]["error"]
        read = harness.register_log.kinds["detail"]
        assert read <= 2 * 40, "nobody was read again and again while others waited"


async def test_watches_that_were_not_asked_for_keep_their_state_and_are_first_in_the_next_sync(
    start_service: ServiceStarter,
) -> None:
    async with start_service(register_requests_per_minute=20) as harness:
        owner = await watcher(harness, [device.primary_di for device in harness.unique_devices(12)])

        first = await sync_and_settle(harness, owner.api_key)
        after_first = await harness.get_list(owner.api_key, "watches")
        unread = [watch for watch in after_first if watch["last_sync"] is None]
        assert 0 < len(unread) <= first["unread"] < 12
        assert all((each["last_error"], each["health"]["since"]) == ("", None) for each in unread)
        assert first["error"].startswith(f"{first['unread']} watches were not read")

        await sync_and_settle(harness, owner.api_key)

        after_second = {watch["id"]: watch for watch in await harness.get_list(owner.api_key, "watches")}
        newly = [each["id"] for each in unread if after_second[each["id"]]["last_sync"]]
        assert len(newly) >= min(len(unread), 3)
        kept = {watch["id"]: watch["last_sync"] for watch in after_first if watch["last_sync"]}
        again = [each for each, at in kept.items() if after_second[each]["last_sync"] != at]
        assert not again or len(newly) == len(unread), "who was read is read again only when nobody waits"


@on_sqlite
async def test_a_sync_waits_for_places_that_come_free_within_its_time_limit(start_service: ServiceStarter) -> None:
    async with start_service(register_requests_per_minute=10, sync_time_limit=60.0) as harness:
        devices = [device.primary_di for device in harness.unique_devices(5)]
        owner = await watcher(harness, devices[:2])
        await harness.post_sync(owner.api_key)
        await harness.service.refresher.settled()
        harness.clock.move(35)

        answer = await harness.post_sync(owner.api_key)

        assert (answer["synced"], answer["error"]) == (2, None)


@on_sqlite
async def test_a_new_watch_that_could_not_be_asked_for_says_so_and_is_read_first(start_service: ServiceStarter) -> None:
    async with start_service(recheck_watches_per_run=1) as harness:
        owner = await harness.sign_up()
        first, second = (device.primary_di for device in harness.unique_devices(2))
        await harness.post_watches(owner.api_key, first)
        await slow_down(harness, 60)

        [watch] = await harness.post_watches(owner.api_key, second)

        assert (watch["last_sync"], watch["health"]["since"]) == (None, None)
        assert "was not asked" in watch["last_error"]
        harness.clock.move(61)
        assert await harness.service.watches.recheck.run() == RecheckResult(1, 1)
        [_, later] = await harness.get_list(owner.api_key, "watches")
        assert later["last_sync"]
        assert later["last_error"] == ""


@on_sqlite
async def test_what_was_not_asked_is_no_failed_read_on_the_devices_answer(start_service: ServiceStarter) -> None:
    async with start_service(register_requests_per_minute=8) as harness:
        devices = [device.primary_di for device in harness.unique_devices(6)]
        await harness.fill_copy()
        owner = await watcher(harness, devices)

        answer = await harness.post_sync(owner.api_key)

        assert answer["unread"] > 0
        unread = [
            watch["subject"] for watch in await harness.get_list(owner.api_key, "watches") if not watch["last_sync"]
        ]
        assert (await harness.get(f"/v1/devices/{unread[-1]}")).json()["error"] is None
        assert harness.service.refresher.results["unreadable"] == 0


# A sync shares only reads that began after it


async def test_a_sync_reads_again_what_somebody_elses_read_began_to_read_before_it(harness: ServiceHarness) -> None:
    [device] = harness.unique_devices(1)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, device.primary_di)
    harness.clock.move(60)
    harness.to_register.held_answers = {device.primary_di}
    stranger = asyncio.create_task(harness.get("/v1/refresh", q=device.primary_di))
    await asyncio.wait_for(harness.to_register.reached.wait(), 10)
    harness.world.change(device.uuid, reference="NEW-1")

    sync = asyncio.create_task(harness.post_sync(owner.api_key))
    for _ in range(20):
        await asyncio.sleep(0)
    harness.to_register.let.set()
    answer = await sync
    await stranger

    assert [event["changes"][0]["new"] for event in answer["events"]] == ["NEW-1"]


# The recheck


async def test_ten_accounts_on_the_same_subjects_are_rechecked_at_a_full_run_each_time(
    start_service: ServiceStarter,
) -> None:
    async with start_service(recheck_watches_per_run=6) as harness:
        subjects = [device.primary_di for device in harness.unique_devices(9)]
        for number in range(10):
            await watcher(harness, subjects, f"owner{number}@acme.example")

        runs = []
        for _ in range(3):
            runs.append(await harness.service.watches.recheck.run())
            harness.clock.move(600)

        assert runs == [RecheckResult(6, 6)] * 3
        async with harness.database.reading() as connection:
            read = (await connection.execute(text("SELECT count(*) FROM devices WHERE detail_version > 0"))).scalar()
        assert read == 9


async def test_accounts_take_turns_in_a_recheck(start_service: ServiceStarter) -> None:
    async with start_service(recheck_watches_per_run=4) as harness:
        subjects = [device.primary_di for device in harness.unique_devices(14)]
        many = await watcher(harness, subjects[:10], "many@acme.example")
        harness.clock.move(60)
        few = await watcher(harness, subjects[10:12], "few@acme.example")
        one = await watcher(harness, subjects[12:13], "one@acme.example")

        await harness.service.watches.recheck.run()

        read = [len(read_times(await harness.get_list(each.api_key, "watches"))) for each in (many, few, one)]
        assert read == [2, 1, 1]


@on_sqlite
async def test_a_read_that_hangs_does_not_hold_up_the_other_reads_of_a_recheck(harness: ServiceHarness) -> None:
    devices = harness.unique_devices(15)
    owner = await watcher(harness, [device.primary_di for device in devices])
    harness.to_register.held = {devices[0].uuid}

    run = asyncio.create_task(harness.service.watches.recheck.run())
    async with asyncio.timeout(10):
        while len(read_times(await harness.get_list(owner.api_key, "watches"))) < 14:
            await asyncio.sleep(0.01)
    harness.to_register.let.set()

    assert await run == RecheckResult(15, 15)
