"""Whatever readers without an account do, the register's request budget keeps its part for watches."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import httpx2

from registerwatch.sources.eudamed.guards import PROBE_VALUE
from registerwatch.watches.tables import watches
from tests.support.harness import ServiceHarness, ServiceStarter

PER_MINUTE = 60


async def read_all(harness: ServiceHarness, subjects: list[str]) -> None:
    """A stranger has all of these read from the register, as far as they get."""
    for subject in subjects:
        assert (await harness.get("/v1/refresh", q=subject)).status_code == 200


async def requests_of(harness: ServiceHarness, *kinds: str) -> float:
    """Requests to the register of some kinds, as `/metrics` counts them."""
    lines = (await harness.get("/metrics")).text.splitlines()
    names = [f'registerwatch_register_requests_total{{host="register",kind="{kind}"}} ' for kind in kinds]
    return sum(float(line.removeprefix(name)) for line in lines for name in names if line.startswith(name))


async def states_of_watches(harness: ServiceHarness) -> list[tuple[Any, ...]]:
    """When each watch was tried, and what went wrong."""
    rows = await harness.rows(watches)
    return [(row["subject"], row["tried_at"], row["last_error"], row["failing_since"]) for row in rows]


async def test_a_stranger_for_whom_the_budget_ends_in_mid_read_says_nothing_of_watches_and_filters(
    start_service: ServiceStarter,
) -> None:
    async with start_service(register_requests_per_minute=PER_MINUTE) as harness:
        devices = [device.primary_di for device in harness.unique_devices(9)]
        owner = await harness.sign_up()
        await harness.post("/v1/import", owner.api_key, csv="\n".join(devices[:8]))
        await harness.service.watches.recheck.run()

        partly: set[str] = set()
        for others in range(6):  # a read takes three requests: once the budget ends before the third
            harness.clock.move(600)
            before = await states_of_watches(harness)
            await read_all(harness, [f"0000000000000{number}" for number in range(others)])
            read = [(await harness.get("/v1/refresh", q=each)).json()["device"] for each in devices[:8]]
            partly = {each["udi"] for each in read if each["read_at"] != each["certs_read_at"]}
            if partly:
                break

        assert partly
        after = await states_of_watches(harness)
        assert [state for state in after if state[0] in partly] == [state for state in before if state[0] in partly]
        assert [state[2:] for state in after] == [("", None)] * 8

        harness.clock.move(600)
        harness.register_log.clear()
        await harness.get("/v1/refresh", q=devices[8])
        asked = [request for request in harness.register_log.requests if request.kind == "certificates"]
        assert [PROBE_VALUE in request.query for request in asked] == [False], "the filter is proven still"


async def test_certificates_that_a_stranger_could_not_read_are_no_failure_of_the_watch(
    harness: ServiceHarness,
) -> None:
    [device] = harness.unique_devices(1)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, device.primary_di)
    harness.clock.move(600)
    before = await states_of_watches(harness)
    harness.world.change(device.uuid, reference="NEW-1")
    harness.faults.fail("certificates", "http-500")

    await harness.get("/v1/refresh", q=device.primary_di)

    assert await states_of_watches(harness) == before
    [event] = await harness.get_list(owner.api_key, "events")
    assert "NEW-1" in event["summary"], "what was found is compared"

    await harness.post_sync(owner.api_key)
    [(_, tried_at, error, failing_since)] = await states_of_watches(harness)
    assert (tried_at, failing_since) == (harness.now, harness.now)
    assert "certificates" in error


async def test_a_sync_and_new_watches_have_half_of_the_minute_that_strangers_would_use_up(
    start_service: ServiceStarter,
) -> None:
    async with start_service(register_requests_per_minute=PER_MINUTE) as harness:
        devices = [device.primary_di for device in harness.unique_devices(60)]
        owner = await harness.sign_up()
        await harness.post_watches(owner.api_key, devices[0])
        harness.clock.move(600)
        before = harness.register_log.total
        await read_all(harness, devices[20:])
        of_strangers = harness.register_log.total - before

        watches = await harness.post_watches(owner.api_key, *devices[1:6])
        assert [watch["last_error"] for watch in watches] == [""] * 5
        synced = await harness.post_sync(owner.api_key)

        assert of_strangers <= PER_MINUTE / 2
        assert synced["synced"] >= 3


async def test_the_recheck_goes_on_while_strangers_read_whatever_they_can(start_service: ServiceStarter) -> None:
    async with start_service(register_requests_per_minute=PER_MINUTE) as harness:
        devices = [device.primary_di for device in harness.unique_devices(60)]
        owner = await harness.sign_up()
        await harness.post("/v1/import", owner.api_key, csv="\n".join(devices[:15]))
        await harness.service.watches.recheck.run()
        harness.clock.move(600)
        before = {watch["id"]: watch["last_sync"] for watch in await harness.get_list(owner.api_key, "watches")}
        await read_all(harness, devices[15:])

        began, run = harness.clock.now(), asyncio.create_task(harness.service.watches.recheck.run())
        while not run.done():
            await read_all(harness, devices[15:20])
            await asyncio.sleep(0)

        assert (await run).tried == 15
        assert harness.clock.now() - began <= 300
        after = {watch["id"]: watch["last_sync"] for watch in await harness.get_list(owner.api_key, "watches")}
        assert all(after[each] != before[each] for each in before)


async def test_a_crawler_of_stored_records_takes_the_smallest_part_and_no_record_claims_to_be_read_that_is_not(
    start_service: ServiceStarter,
) -> None:
    async with start_service(register_requests_per_minute=PER_MINUTE) as harness:
        devices = [device.primary_di for device in harness.unique_devices(80)]
        owner = await harness.sign_up()
        await harness.post_watches(owner.api_key, devices[0])
        await harness.fill_copy()
        harness.clock.move(600)

        answers = [(await harness.get(f"/v1/devices/{each}")).json() for each in devices[1:]]
        await harness.finish_background_work()

        assert 0 < await requests_of(harness, "refresh") <= 0.4 * PER_MINUTE
        told = [answer["error"] for answer in answers if not answer["complete"] and answer["error"]]
        assert told
        assert all("was not asked" in each for each in told)
        watches = await harness.post_watches(owner.api_key, *devices[30:35])
        assert [watch["last_error"] for watch in watches] == [""] * 5


async def test_a_record_that_was_read_a_moment_ago_is_not_read_again_behind_the_readers_back(
    harness: ServiceHarness,
) -> None:
    [device] = harness.unique_devices(1)
    harness.faults.fail("certificates", "http-400")
    await harness.get("/v1/refresh", q=device.primary_di)
    asked = harness.register_log.total
    harness.service.refresher.refresh_in_background(device.primary_di)
    await harness.finish_background_work()

    assert harness.register_log.total == asked
    harness.clock.move(61)
    harness.service.refresher.refresh_in_background(device.primary_di)
    await harness.finish_background_work()
    assert harness.register_log.total > asked


async def test_a_stranger_who_reads_a_watched_subject_does_not_hold_its_recheck_up(
    start_service: ServiceStarter,
) -> None:
    async with start_service(register_timeout=60.0) as harness:
        [device] = harness.unique_devices(1)
        owner = await harness.sign_up()
        await harness.post("/v1/import", owner.api_key, csv=device.primary_di)
        harness.to_register.held = {device.primary_di}
        stranger = asyncio.create_task(harness.get("/v1/refresh", q=device.primary_di))
        await asyncio.wait_for(harness.to_register.reached.wait(), 10)
        harness.to_register.held = set()

        run = await asyncio.wait_for(harness.service.watches.recheck.run(), 10)

        assert (run.tried, run.found) == (1, 1)
        assert (await asyncio.wait_for(stranger, 10)).json()["refreshed"]


def at_address(harness: ServiceHarness, address: str, path: str, **params: str) -> Coroutine[Any, Any, httpx2.Response]:
    """GET a path from a client's address."""
    return harness.client.get(path, params=params, headers={"X-Forwarded-For": address})


async def test_readers_at_different_addresses_take_turns(start_service: ServiceStarter) -> None:
    async with start_service(register_requests_per_minute=PER_MINUTE, trusted_proxies="127.0.0.1") as harness:
        devices = [device.primary_di for device in harness.unique_devices(26)]
        owner = await harness.sign_up()
        await harness.post_watches(owner.api_key, devices[0])
        harness.clock.move(600)

        greedy = [at_address(harness, "198.51.100.1", "/v1/refresh", q=each) for each in devices[1:21]]
        *_, modest = await asyncio.gather(*greedy, at_address(harness, "198.51.100.2", "/v1/refresh", q=devices[21]))

        answer = modest.json()
        assert (answer["refreshed"], answer["error"]) == (True, None)
        assert answer["device"]["complete"]


async def test_one_reader_does_not_take_all_places_of_reads_behind_stored_answers(
    start_service: ServiceStarter,
) -> None:
    async with start_service(trusted_proxies="127.0.0.1", register_timeout=60.0) as harness:
        devices = [device.primary_di for device in harness.unique_devices(80)]
        await harness.fill_copy()
        harness.to_register.held = set(devices)

        greedy = [(await at_address(harness, "198.51.100.1", f"/v1/devices/{each}")).json() for each in devices[:60]]
        modest = (await at_address(harness, "198.51.100.2", f"/v1/devices/{devices[60]}")).json()

        assert "too many other records" in greedy[-1]["error"]
        assert modest["error"] is None
        harness.to_register.held = set()
        harness.to_register.let.set()
        await harness.finish_background_work()
        assert (await at_address(harness, "198.51.100.2", f"/v1/devices/{devices[60]}")).json()["complete"]
