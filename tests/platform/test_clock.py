"""A clock that is put forward or back: what was timed by it goes on within moments."""

import asyncio
from unittest.mock import patch

import pytest

from registerwatch.ingest.daily_load import DailyLoad
from registerwatch.ingest.refresh import MEMORY_SECONDS
from registerwatch.notifications.delivery.delivery import DeliveryService
from registerwatch.platform.clock import ClockJumps, date_in_words, in_words, is_recent, utc_in_words
from registerwatch.watches.reading.recheck import RecheckResult
from tests.support.fakes import SteppedClock
from tests.support.harness import WEBHOOK_URL, ServiceHarness, ServiceStarter

FOUR_DAYS = 4 * 86_400
UNKNOWN_UDI = "04099999999992"
both_ways = pytest.mark.parametrize("jump", [-FOUR_DAYS, FOUR_DAYS], ids=["back", "forward"])


def test_mails_write_an_instant_in_words() -> None:
    assert utc_in_words(1_795_369_260) == "22 Nov 2026, 17:41 UTC"
    assert utc_in_words(1_798_761_600.9) == "1 Jan 2027, 00:00 UTC"
    assert in_words(1_795_369_260, "Europe/Berlin") == "22 Nov 2026, 18:41 (Europe/Berlin)"
    for zone in ("UTC", "Mars/Olympus", ""):
        assert in_words(1_795_369_260, zone) == "22 Nov 2026, 17:41 UTC"


def test_what_a_code_says_of_a_day_is_written_for_people() -> None:
    said = "2028-01-31", "2028-01", "2028-01-31T22", "2028-01-31T22:15", "2028-13", "20280131", "7", ""
    in_full = "31 Jan 2028", "Jan 2028", "31 Jan 2028, 22:00", "31 Jan 2028, 22:15", *said[4:]
    assert tuple(map(date_in_words, said)) == in_full


def test_a_jump_is_told_once_and_time_that_passes_is_none() -> None:
    clock = SteppedClock(1_800_000_000)
    jumps = ClockJumps(clock)

    clock.move(3_600)
    assert jumps.since_last_look() == 0
    clock.put(-FOUR_DAYS)
    clock.move(5)
    assert jumps.since_last_look() == -FOUR_DAYS
    assert jumps.since_last_look() == 0
    clock.put(0.5)
    assert jumps.since_last_look() == 0, "a clock that is put right a little at a time"


def test_what_is_old_or_still_to_come_is_not_recent() -> None:
    assert is_recent(1_000, 1_100, 100)
    assert not is_recent(999, 1_100, 100)
    assert is_recent(1_150, 1_100, 100), "the clock of another node may be ahead"
    assert not is_recent(1_100 + FOUR_DAYS, 1_100, 100)


@both_ways
async def test_a_sync_reads_at_once_after_the_clock_was_put(start_service: ServiceStarter, jump: int) -> None:
    async with start_service(register_requests_per_minute=60) as harness:
        owner = await harness.sign_up()
        devices = [device.primary_di for device in harness.unique_devices(12)]
        await harness.post("/v1/import", owner.api_key, csv="\n".join(devices))
        await harness.service.accounts.admin.set_period(owner.email, None, harness.now + 10 * FOUR_DAYS)
        assert (await harness.post_sync(owner.api_key))["synced"] == 12
        harness.clock.move(61)

        harness.clock.put(jump)
        began = harness.clock.monotonic()
        answer = await harness.post_sync(owner.api_key)

        assert (answer["synced"], answer["error"]) == (12, None)
        assert harness.clock.monotonic() - began < 45, "36 requests, of which ten leave at once"


@both_ways
async def test_a_recheck_goes_on_in_turn_after_the_clock_was_put(start_service: ServiceStarter, jump: int) -> None:
    async with start_service(recheck_watches_per_run=3) as harness:
        owner = await harness.sign_up()
        await harness.service.accounts.admin.set_period(owner.email, None, harness.now + 10 * FOUR_DAYS)
        devices = [device.primary_di for device in harness.unique_devices(6)]
        await harness.post("/v1/import", owner.api_key, csv="\n".join(devices))
        for _ in range(2):
            await harness.service.watches.recheck.run()
            harness.clock.move(600)

        harness.clock.put(jump)
        for _ in range(2):
            assert await harness.service.watches.recheck.run() == RecheckResult(3, 3)
            harness.clock.move(600)

        times = {watch["last_sync"] for watch in await harness.get_list(owner.api_key, "watches")}
        assert len(times) == 2, "each was read once since"


@both_ways
async def test_a_delivery_is_sent_after_the_clock_was_put(harness: ServiceHarness, jump: int) -> None:
    owner = await harness.sign_up()
    await harness.post("/v1/webhook", owner.api_key, url=WEBHOOK_URL)
    [device] = harness.unique_devices(1)
    await harness.post_watches(owner.api_key, device.primary_di)
    harness.world.change(device.uuid, reference="NEW-1")
    harness.clock.move(60)
    await harness.post_sync(owner.api_key)

    harness.clock.put(jump)

    assert await harness.deliver_due() == 1


@both_ways
async def test_the_lease_of_a_dead_worker_ends_after_the_clock_was_put(harness: ServiceHarness, jump: int) -> None:
    owner = await harness.sign_up()
    await harness.post("/v1/webhook", owner.api_key, url=WEBHOOK_URL)
    [device] = harness.unique_devices(1)
    await harness.post_watches(owner.api_key, device.primary_di)
    harness.world.change(device.uuid, reference="NEW-1")
    await harness.post_sync(owner.api_key)
    deliveries: DeliveryService = harness.deliveries
    assert len(await deliveries.claim()) == 1, "by a worker that dies"

    harness.clock.put(jump)
    harness.clock.move(61)

    assert await harness.deliver_due() == 1


@both_ways
@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_stored_record_is_refreshed_after_the_clock_was_put(harness: ServiceHarness, jump: int) -> None:
    [device] = harness.unique_devices(1)
    codes = (f"/v1/devices/{device.primary_di}", f"/v1/actors/{device.manufacturer.srn}")
    for path in codes:
        await harness.get(path)
        await harness.finish_background_work()
    harness.clock.put(jump)
    harness.clock.move(61)  # nothing is read twice within a minute

    for path in codes:
        asked = harness.register_log.total
        await harness.get(path)
        await harness.finish_background_work()
        assert harness.register_log.total > asked, path


@both_ways
@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_what_was_not_found_is_asked_for_again_after_the_clock_was_put(
    harness: ServiceHarness, jump: int
) -> None:
    path = f"/v1/devices/{UNKNOWN_UDI}"
    await harness.get(path)
    harness.clock.put(jump)
    asked = harness.register_log.total
    await harness.get(path)
    assert harness.register_log.total == asked, "it was asked a moment ago, whatever the clock says"

    harness.clock.move(MEMORY_SECONDS + 1)
    await harness.get(path)

    assert harness.register_log.total > asked


@both_ways
async def test_the_daily_load_runs_after_the_clock_was_put(harness: ServiceHarness, jump: int) -> None:
    source = harness.service.bulk_source("datalake")
    daily = DailyLoad(harness.service.bulk_loader, source, harness.clock, hour=0)
    assert await daily.run_where_due() is not None

    harness.clock.put(jump)

    assert await daily.run_where_due() is not None
    assert await daily.run_where_due() is None, "once a day"


async def test_the_register_sees_no_more_requests_a_minute_because_the_clock_was_put(
    start_service: ServiceStarter,
) -> None:
    async with start_service(register_requests_per_minute=20) as harness:
        sent: list[float] = []
        inner = harness.to_register.handle_async_request

        async def noted(request: object) -> object:
            sent.append(harness.clock.monotonic())
            return await inner(request)  # type: ignore[arg-type]

        with patch.object(harness.to_register, "handle_async_request", noted):
            for number, jump in enumerate([0, -FOUR_DAYS, FOUR_DAYS, -30, 30, FOUR_DAYS, 0, -FOUR_DAYS, 7, -7] * 2):
                harness.clock.put(jump)
                udis = [device.primary_di for device in harness.unique_devices(60)][number * 3 : number * 3 + 3]
                await asyncio.gather(*(harness.service.refresher.refresh(udi) for udi in udis))
                harness.clock.move(17)

        assert len(sent) > 5 * 20, "the clock that is put holds up little"
        assert max(sum(begin <= at < begin + 60 for at in sent) for begin in sent) <= 20


@both_ways
@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_filters_are_probed_again_after_a_day_whatever_the_clock_says(harness: ServiceHarness, jump: int) -> None:
    [device] = harness.unique_devices(1)

    async def requests_of_a_read() -> int:
        before = harness.register_log.total
        await harness.service.refresher.refresh(device.primary_di)
        return harness.register_log.total - before

    await requests_of_a_read()
    without_probes = await requests_of_a_read()
    harness.clock.put(jump)
    await requests_of_a_read()  # of a clock that was put back the ages of details say nothing
    assert await requests_of_a_read() == without_probes
    harness.clock.move(25 * 3_600)

    assert await requests_of_a_read() > without_probes
