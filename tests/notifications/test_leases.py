"""Who may send what when: leases, workers side by side, fairness among receivers, runs that hold deliveries back."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.db.engine import Database
from registerwatch.errors import DatabaseUnavailable
from registerwatch.net.safe_http import PostResult
from registerwatch.notifications import outbox, repository
from registerwatch.notifications.delivery import LEASE_SECONDS, MAX_CONCURRENT, MAX_PER_WEBHOOK
from registerwatch.notifications.outbox import Outbox
from registerwatch.notifications.repository import FinishedDelivery
from tests.notifications.post_room import PostRoom

pytestmark = pytest.mark.anyio

HOST = "hooks.acme.example"


async def _pending(database: Database, number: int) -> None:
    """Wait until so many sessions of PostgreSQL wait for a lock."""
    asked = text(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    async with asyncio.timeout(10), database.reading() as connection:
        while (await connection.execute(asked)).scalar_one() < number:
            await asyncio.sleep(0.01)


@pytest.fixture
def on_postgresql(database_kind: str) -> None:
    """SQLite lets one transaction write at a time."""
    if database_kind != "postgresql":
        pytest.skip("only PostgreSQL writes side by side")


async def test_what_a_dead_worker_claimed_falls_due_when_its_lease_ends(room: PostRoom) -> None:
    caller, _ = await room.with_first()
    await room.change(caller)
    dead, alive = room.another_worker(), room.another_worker()
    (lost,) = await dead.claim()

    room.clock.move(LEASE_SECONDS - 1)
    assert await alive.claim() == []
    room.clock.move(1)
    (found,) = await alive.claim()
    assert LEASE_SECONDS == 60
    assert (found.delivery.id, found.delivery.body) == (lost.delivery.id, lost.delivery.body)


async def test_a_delivery_whose_end_was_not_stored_comes_again_with_the_same_id_and_bytes(room: PostRoom) -> None:
    caller, _ = await room.with_first()
    await room.change(caller)
    (claimed,) = await room.deliveries.claim()
    await room.deliveries.deliver(claimed)
    await room.change(caller, batch="later")
    room.clock.move(LEASE_SECONDS)
    assert await room.deliver() == 2

    first, *again = room.receivers.requests
    (same,) = [each for each in again if each.headers["X-Service-Delivery"] == first.headers["X-Service-Delivery"]]
    assert same.content == first.content


async def test_workers_that_claim_at_once_claim_each_delivery_once(room: PostRoom) -> None:
    caller = await room.owner()
    for number in range(10):
        webhook = await room.webhook_service.add(caller, f"https://{number}.acme.example/")
        await room.backlog(webhook, 6)
    workers = [room.another_worker() for _ in range(4)]
    claims = await asyncio.gather(*(worker.claim(15) for worker in workers for _ in range(2)))
    claimed = [each for claim in claims for each in claim]

    assert len({each.delivery.id for each in claimed}) == len(claimed) > 0
    assert max(Counter(each.webhook.id for each in claimed).values()) <= MAX_PER_WEBHOOK
    rest = [each for _ in range(10) for each in await workers[0].claim()]
    assert len({each.delivery.id for each in claimed + rest}) == 10 * MAX_PER_WEBHOOK


async def test_no_address_has_more_than_four_under_way_over_all_workers(room: PostRoom) -> None:
    _, webhook = await room.with_first()
    await room.backlog(webhook, 10)
    one, other = room.another_worker(), room.another_worker()
    first = await one.claim(3)
    assert (len(first), len(await other.claim()), await one.claim()) == (3, 1, [])
    await one.store([await one.deliver(each) for each in first[:2]])
    assert len(await other.claim()) == 2


async def test_a_dead_receiver_with_a_long_backlog_delays_no_other(room: PostRoom) -> None:
    _, dead = await room.with_first()
    caller, _ = await room.with_first("alive@other.example", "https://alive.example/")
    await room.backlog(dead, 1_000)
    await room.change(caller)

    claimed = await room.deliveries.claim()
    assert Counter(each.webhook.url for each in claimed) == {dead.url: MAX_PER_WEBHOOK, "https://alive.example/": 1}


async def test_many_dead_receivers_leave_the_next_free_place_to_one_that_answers(room: PostRoom) -> None:
    dead = []
    for account in range(4):
        caller = await room.owner(f"dead{account}@acme.example")
        for number in range(10):
            dead.append(await room.webhook_service.add(caller, f"https://{number}.dead.example/"))
            await room.backlog(dead[-1], 20)
    taken = await room.deliveries.claim()
    assert len(taken) == MAX_CONCURRENT
    caller, _ = await room.with_first("alive@other.example", "https://alive.example/")
    await room.change(caller)

    await room.deliveries.store(
        [FinishedDelivery(taken[0].delivery.id, taken[0].webhook.id, taken[0].leased_until, _refused(), 3)]
    )
    (next_one,) = await room.deliveries.claim(1)
    assert next_one.webhook.url == "https://alive.example/"


async def test_the_oldest_comes_first_at_one_address(room: PostRoom) -> None:
    caller, _ = await room.with_first()
    for batch in ("first", "second", "third"):
        await room.change(caller, batch=batch)
        room.clock.move(1)
    order = []
    for _ in range(3):
        (claimed,) = await room.deliveries.claim(1)
        order.append(claimed.delivery.batch)
    assert order == ["first", "second", "third"]


async def test_a_run_that_was_killed_holds_its_deliveries_back_no_longer_than_it_said(room: PostRoom) -> None:
    caller, _ = await room.with_first()
    await room.change(caller, due_in=900)
    room.clock.move(899)
    assert await room.deliver() == 0
    await room.change(caller, due_in=900, subject="the same run sees more")
    room.clock.move(1)
    assert await room.deliver() == 1
    assert b"the same run sees more" in room.receivers.requests[0].content


async def test_the_deliveries_of_a_run_go_out_when_it_ends(room: PostRoom) -> None:
    caller, _ = await room.with_first()
    await room.change(caller, batch="run", due_in=900)
    await room.change(caller, batch="other run", due_in=900)
    await Outbox(room.database, room.clock).release("run")
    assert await room.deliver() == 1
    await Outbox(room.database, room.clock).release("run")
    assert await room.deliver() == 0


@dataclass
class Away:
    """A database that does not answer the next few transactions."""

    database: Database
    times: int

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        if self.times:
            self.times -= 1
            raise DatabaseUnavailable("away")
        async with self.database.transaction() as connection:
            yield connection


async def test_what_a_run_held_goes_out_as_soon_as_the_database_is_back(
    room: PostRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "AGAIN_SECONDS", 0.01)
    caller, _ = await room.with_first()
    await room.change(caller, batch="run", due_in=900)
    away = Away(room.database, times=3)
    releasing = Outbox(away, room.clock)  # type: ignore[arg-type]  # transactions are all that it needs

    await releasing.release("run")
    assert await room.deliver() == 0
    async with asyncio.timeout(10):
        while await room.deliver() != 1:
            await asyncio.sleep(0.01)

    assert away.times == 0
    await releasing.close()


async def test_closing_leaves_what_cannot_be_let_go_to_its_time(room: PostRoom) -> None:
    caller, _ = await room.with_first()
    await room.change(caller, batch="run", due_in=900)
    releasing = Outbox(Away(room.database, times=1_000), room.clock)  # type: ignore[arg-type]  # as above
    await releasing.release("run")

    await releasing.close()

    assert await room.deliver() == 0
    room.clock.move(900)
    assert await room.deliver() == 1


async def test_a_delivery_that_is_put_while_its_address_is_removed_breaks_nothing(
    room: PostRoom, on_postgresql: None
) -> None:
    caller, webhook = await room.with_first()
    async with room.database.transaction() as connection:
        await repository.remove(connection, caller.account.id, webhook.id)
        change = asyncio.create_task(room.change(caller))
        await _pending(room.database, 1)
    await change
    assert await room.rows() == []
    assert len(await room.events()) == 1


async def test_an_end_that_is_stored_while_its_address_is_removed_breaks_nothing(
    room: PostRoom, on_postgresql: None
) -> None:
    caller, webhook = await room.with_first()
    await room.change(caller)
    (claimed,) = await room.deliveries.claim()
    ended = await room.deliveries.deliver(claimed)
    async with room.database.transaction() as connection:
        await connection.execute(text("SELECT 1 FROM webhooks FOR UPDATE"))
        storing = asyncio.create_task(room.deliveries.store([ended]))
        await _pending(room.database, 1)
        await repository.remove(connection, caller.account.id, webhook.id)
    await storing
    assert await room.rows() == []


def _refused() -> PostResult:
    return PostResult(None, "the connection failed")
