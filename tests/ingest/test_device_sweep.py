"""The sweep of devices under kills and side by side: nothing is lost, nothing is stored twice."""

import asyncio

from registerwatch.copy.tables import device_sweeps, portfolio_devices, portfolio_news
from registerwatch.ingest.sweeps.sweep_run import SweepRunResult
from registerwatch.platform.leases import LEASE_SECONDS
from tests.support.harness import ServiceHarness
from tests.watches.sweep_steps import a_manufacturer, number_of_devices, register_more, runs, sweep, told


async def held_run(harness: ServiceHarness, page: int) -> "asyncio.Task[SweepRunResult | None]":
    """A run whose request for a page is under way, and is not answered before `to_register.let` is set."""
    harness.to_register.held.add(f"page={page}&")
    harness.to_register.reached.clear()
    run = asyncio.create_task(harness.service.device_sweep.run_next())
    await harness.to_register.reached.wait()
    harness.to_register.held.clear()
    return run


async def swept_account(harness: ServiceHarness, devices: int) -> str:
    """The key of an account that watches a manufacturer whose devices were listed completely."""
    device = a_manufacturer(harness)
    register_more(harness, device, devices)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, device.manufacturer.srn)
    await sweep(harness)
    return owner.api_key


async def test_a_walk_that_is_broken_off_goes_on_with_the_page_that_it_was_at(harness: ServiceHarness) -> None:
    api_key = await swept_account(harness, 700)
    register_more(harness, a_manufacturer(harness), 50, first=1_000)
    harness.clock.move(600)
    run = await held_run(harness, 1)

    run.cancel()
    await asyncio.wait([run])
    assert await told(harness, api_key) == [{"devices_registered": 50}], "what was found is told all the same"
    harness.register_log.clear()
    await runs(harness)

    pages = [
        request.query.split("page=")[1][0] for request in harness.register_log.requests if "size=300" in request.query
    ]
    assert pages == ["1", "2"]
    assert await told(harness, api_key) == [{"devices_registered": 50}]
    [row] = await harness.rows(device_sweeps)
    assert row["complete_at"] == row["swept_at"]


async def test_what_a_killed_process_had_found_is_told_by_the_next_turn(harness: ServiceHarness) -> None:
    api_key = await swept_account(harness, 400)
    register_more(harness, a_manufacturer(harness), 3, first=1_000)
    harness.clock.move(600)
    run = await held_run(harness, 1)
    assert len(await harness.rows(portfolio_news)) == 3

    assert await runs(harness) == [], "the manufacturer is leased"
    harness.clock.move(LEASE_SECONDS + 1)
    other = (await runs(harness))[0]
    assert (other.requests, other.has_ended) == (1, True)
    assert await told(harness, api_key) == [{"devices_registered": 3}]

    before = harness.all_rows()
    harness.to_register.let.set()
    late = await run
    after = harness.all_rows()
    assert late is not None
    assert not late.has_ended
    unchanged = ("device_sweeps", "portfolio_devices", "portfolio_news", "events", "devices")
    assert [name for name in unchanged if before[name] != after[name]] == [], "its answer came when the lease was over"


async def test_processes_share_the_queue_and_no_manufacturer_is_swept_by_two(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    devices = [a_manufacturer(harness, rank) for rank in range(3)]
    await harness.post_watches(owner.api_key, *(each.manufacturer.srn for each in devices))
    await harness.service.device_sweep.refresh_queue()

    taken = await asyncio.gather(*(harness.service.device_sweep.run_next() for _ in range(4)))

    srns = [run.srn for run in taken if run is not None]
    assert sorted(srns) == sorted(each.manufacturer.srn for each in devices)
    listed = await harness.rows(portfolio_devices)
    assert len(listed) == sum(number_of_devices(harness, each) for each in devices)


async def test_an_unexpected_fault_is_noted_and_does_not_end_the_sweep(harness: ServiceHarness) -> None:
    api_key = await swept_account(harness, 3)
    harness.to_register.broken.add("srn=")
    [run] = await sweep(harness)
    assert "fault of this service" in run.problem

    harness.to_register.broken.clear()
    register_more(harness, a_manufacturer(harness), 2, first=1_000)
    [run] = await sweep(harness)
    assert run.problem == ""
    assert await told(harness, api_key) == [{"devices_registered": 2}]
