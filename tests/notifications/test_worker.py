"""The loop that delivers: side by side, while the database fails, and to a clean end."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import pytest
from structlog.testing import capture_logs

from registerwatch.background import run_forever
from registerwatch.background.loops import deliver
from registerwatch.errors import DatabaseUnavailable
from registerwatch.notifications.delivery.delivery import MAX_PER_TARGET, DeliveryService
from registerwatch.notifications.repository import FinishedDelivery
from registerwatch.notifications.tables import deliveries
from tests.notifications.steps import another_process, queue_change, queue_deliveries
from tests.support.harness import ServiceHarness

HOST, ALIVE = "hooks.acme.example", "alive.example"


@asynccontextmanager
async def working(deliveries: DeliveryService) -> AsyncIterator["asyncio.Task[None]"]:
    """A worker, which is ended with the block."""
    worker = asyncio.create_task(deliver(deliveries))
    try:
        yield worker
    finally:
        worker.cancel()
        with suppress(asyncio.CancelledError):
            await worker


class Forgetful(DeliveryService):
    """Stores nothing until it may. `refused` is how often it did not."""

    refused = 0
    may_store: asyncio.Event
    was_refused: asyncio.Event

    async def store(self, ended: Sequence[FinishedDelivery]) -> None:
        if not self.may_store.is_set():
            self.refused += 1
            self.was_refused.set()
            raise DatabaseUnavailable("The database does not answer.")
        await super().store(ended)


async def _ended(harness: ServiceHarness, number: int) -> None:
    async with asyncio.timeout(10):
        while sum(row["finished_at"] is not None for row in await harness.rows(deliveries)) < number:
            await asyncio.sleep(0.01)


async def test_what_is_due_is_delivered_and_remembered(harness: ServiceHarness) -> None:
    caller, _ = await harness.owner_with_webhook()
    async with working(harness.deliveries):
        await queue_change(harness, caller)
        await harness.receivers.wait_for(HOST)
        await _ended(harness, 1)
    assert (await harness.first_webhook(caller)).last_ok


async def test_a_receiver_that_never_answers_delays_no_other(harness: ServiceHarness) -> None:
    _, dead = await harness.owner_with_webhook()
    caller, _ = await harness.owner_with_webhook("alive@other.example", f"https://{ALIVE}/")
    await queue_deliveries(harness, dead, 50)
    harness.receivers.delays[HOST] = asyncio.Event()
    async with working(harness.deliveries):
        await harness.receivers.wait_for(HOST, MAX_PER_TARGET)
        for number in range(1, 4):
            await queue_change(harness, caller, batch=str(number))
            await harness.receivers.wait_for(ALIVE, number)
        assert len(harness.receivers.at(HOST)) == MAX_PER_TARGET
        harness.receivers.delays[HOST].set()
        await harness.receivers.wait_for(HOST, 50)
    assert harness.receivers.max_in_progress[HOST] == MAX_PER_TARGET


async def test_what_is_under_way_when_the_process_ends_is_finished_and_nothing_more_begun(
    harness: ServiceHarness,
) -> None:
    _, webhook = await harness.owner_with_webhook()
    await queue_deliveries(harness, webhook, 10)
    harness.receivers.delays[HOST] = asyncio.Event()
    worker = asyncio.create_task(deliver(harness.deliveries))
    await harness.receivers.wait_for(HOST, MAX_PER_TARGET)
    for _ in range(3):  # whoever ends loops says so again and again
        worker.cancel()
        await asyncio.sleep(0)
    harness.receivers.delays[HOST].set()
    await asyncio.gather(worker, return_exceptions=True)

    assert len(harness.receivers.requests) == MAX_PER_TARGET
    assert sum(bool(row["is_accepted"]) for row in await harness.rows(deliveries)) == MAX_PER_TARGET


async def test_an_end_that_could_not_be_stored_is_stored_later_and_not_delivered_twice(
    harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_forever, "PAUSE_AFTER_ERROR_SECONDS", 0.01)
    caller, _ = await harness.owner_with_webhook()
    await queue_change(harness, caller)
    deliveries = another_process(harness, Forgetful)
    assert isinstance(deliveries, Forgetful)
    deliveries.may_store, deliveries.was_refused = asyncio.Event(), asyncio.Event()
    async with working(deliveries):
        async with asyncio.timeout(10):
            await deliveries.was_refused.wait()
        harness.clock.move(3600)
        deliveries.may_store.set()
        await _ended(harness, 1)
    assert deliveries.refused
    assert deliveries.results == {"accepted": 1, "failed": 0}
    assert len(harness.receivers.requests) == 1


async def test_an_end_that_is_not_stored_when_the_process_ends_comes_again(harness: ServiceHarness) -> None:
    caller, _ = await harness.owner_with_webhook()
    await queue_change(harness, caller)
    deliveries = another_process(harness, Forgetful)
    assert isinstance(deliveries, Forgetful)
    deliveries.may_store, deliveries.was_refused = asyncio.Event(), asyncio.Event()
    worker = asyncio.create_task(deliver(deliveries))
    async with asyncio.timeout(10):
        await deliveries.was_refused.wait()
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)
    harness.clock.move(3600)
    assert await harness.deliver_due() == 1
    first, again = harness.receivers.requests
    assert first.headers["X-Service-Delivery"] == again.headers["X-Service-Delivery"]


async def test_an_unexpected_error_of_one_delivery_stops_no_other(harness: ServiceHarness) -> None:
    caller, _ = await harness.owner_with_webhook()
    await harness.webhooks.add(caller, f"https://{ALIVE}/")
    harness.receivers.answers[HOST] = [RuntimeError("boom")]
    await queue_change(harness, caller)
    with capture_logs() as logged:
        async with working(harness.deliveries):
            await harness.receivers.wait_for(ALIVE)
            await queue_change(harness, caller, batch="next")
            await harness.receivers.wait_for(ALIVE, 2)
            await _ended(harness, 3)
    assert [entry["event"] for entry in logged] == ["a delivery failed unexpectedly"]
