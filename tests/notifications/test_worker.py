"""The loop that delivers: side by side, through trouble with the database, and to a clean end."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import pytest
from structlog.testing import capture_logs

from registerwatch.background import run_forever
from registerwatch.background.deliver import deliver_due
from registerwatch.errors import DatabaseUnavailable
from registerwatch.notifications.delivery import MAX_PER_WEBHOOK, DeliveryService
from registerwatch.notifications.repository import FinishedDelivery
from tests.notifications.post_room import PostRoom

pytestmark = pytest.mark.anyio

HOST, ALIVE = "hooks.acme.example", "alive.example"


@asynccontextmanager
async def working(deliveries: DeliveryService) -> AsyncIterator["asyncio.Task[None]"]:
    """A worker, which is ended with the block."""
    worker = asyncio.create_task(deliver_due(deliveries))
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


async def _ended(room: PostRoom, number: int) -> None:
    async with asyncio.timeout(10):
        while sum(row["finished_at"] is not None for row in await room.rows()) < number:
            await asyncio.sleep(0.01)


async def test_what_is_due_is_delivered_and_remembered(room: PostRoom) -> None:
    caller, _ = await room.with_first()
    async with working(room.deliveries):
        await room.change(caller)
        await room.receivers.wait_for(HOST)
        await _ended(room, 1)
    assert (await room.first(caller)).last_ok


async def test_a_receiver_that_never_answers_delays_no_other(room: PostRoom) -> None:
    _, dead = await room.with_first()
    caller, _ = await room.with_first("alive@other.example", f"https://{ALIVE}/")
    await room.backlog(dead, 50)
    room.receivers.asleep[HOST] = asyncio.Event()
    async with working(room.deliveries):
        await room.receivers.wait_for(HOST, MAX_PER_WEBHOOK)
        for number in range(1, 4):
            await room.change(caller, batch=str(number))
            await room.receivers.wait_for(ALIVE, number)
        assert len(room.receivers.at(HOST)) == MAX_PER_WEBHOOK
        room.receivers.asleep[HOST].set()
        await room.receivers.wait_for(HOST, 50)
    assert room.receivers.most_under_way[HOST] == MAX_PER_WEBHOOK


async def test_what_is_under_way_when_the_process_ends_is_finished_and_nothing_more_begun(room: PostRoom) -> None:
    _, webhook = await room.with_first()
    await room.backlog(webhook, 10)
    room.receivers.asleep[HOST] = asyncio.Event()
    worker = asyncio.create_task(deliver_due(room.deliveries))
    await room.receivers.wait_for(HOST, MAX_PER_WEBHOOK)
    for _ in range(3):  # whoever ends loops says so again and again
        worker.cancel()
        await asyncio.sleep(0)
    room.receivers.asleep[HOST].set()
    await asyncio.gather(worker, return_exceptions=True)

    assert len(room.receivers.requests) == MAX_PER_WEBHOOK
    assert sum(bool(row["is_accepted"]) for row in await room.rows()) == MAX_PER_WEBHOOK


async def test_an_end_that_could_not_be_stored_is_stored_later_and_not_delivered_twice(
    room: PostRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_forever, "PAUSE_AFTER_ERROR_SECONDS", 0.01)
    caller, _ = await room.with_first()
    await room.change(caller)
    deliveries = room.another_worker(Forgetful)
    assert isinstance(deliveries, Forgetful)
    deliveries.may_store, deliveries.was_refused = asyncio.Event(), asyncio.Event()
    async with working(deliveries):
        async with asyncio.timeout(10):
            await deliveries.was_refused.wait()
        room.clock.move(3600)
        deliveries.may_store.set()
        await _ended(room, 1)
    assert deliveries.refused
    assert len(room.receivers.requests) == 1


async def test_an_end_that_is_not_stored_when_the_process_ends_comes_again(room: PostRoom) -> None:
    caller, _ = await room.with_first()
    await room.change(caller)
    deliveries = room.another_worker(Forgetful)
    assert isinstance(deliveries, Forgetful)
    deliveries.may_store, deliveries.was_refused = asyncio.Event(), asyncio.Event()
    worker = asyncio.create_task(deliver_due(deliveries))
    async with asyncio.timeout(10):
        await deliveries.was_refused.wait()
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)
    room.clock.move(3600)
    assert await room.deliver() == 1
    first, again = room.receivers.requests
    assert first.headers["X-Service-Delivery"] == again.headers["X-Service-Delivery"]


async def test_an_unexpected_error_of_one_delivery_stops_no_other(room: PostRoom) -> None:
    caller, _ = await room.with_first()
    await room.webhook_service.add(caller, f"https://{ALIVE}/")
    room.receivers.answers[HOST] = [RuntimeError("boom")]
    await room.change(caller)
    with capture_logs() as logged:
        async with working(room.deliveries):
            await room.receivers.wait_for(ALIVE)
            await room.change(caller, batch="next")
            await room.receivers.wait_for(ALIVE, 2)
            await _ended(room, 3)
    assert [entry["event"] for entry in logged] == ["a delivery failed unexpectedly"]
