"""Who may send what when: leases, workers side by side, fairness among receivers, runs that hold deliveries back."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.errors import DatabaseUnavailable
from registerwatch.notifications import outbox, repository
from registerwatch.notifications.delivery.delivery import MAX_CONCURRENT, MAX_PER_TARGET, DeliveryService
from registerwatch.notifications.models import AttemptResult
from registerwatch.notifications.outbox import DeliveryOutbox
from registerwatch.notifications.repository import ClaimedDelivery, FinishedDelivery
from registerwatch.notifications.tables import deliveries, delivery_events
from registerwatch.notifications.targets import target_repository
from registerwatch.platform.db.engine import Database
from registerwatch.platform.leases import LEASE_SECONDS
from registerwatch.watches.tables import events
from tests.notifications.steps import another_process, channels_of, queue_change, queue_deliveries
from tests.support.harness import ServiceHarness

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


@pytest.mark.parametrize("candidates", [None, 50])
async def test_what_a_claim_costs_on_sqlite_does_not_grow_with_the_log(
    database: Database, database_kind: str, candidates: int | None
) -> None:
    if database_kind != "sqlite":
        pytest.skip("PostgreSQL knows how much there is")
    asked: list[tuple[str, Any]] = []

    @event.listens_for(database.engine.sync_engine, "before_cursor_execute")
    def _note(_connection: object, _cursor: object, statement: str, values: object, *_: object) -> None:
        asked.append((statement, values))

    async with database.transaction() as connection:
        await repository.claim(
            connection,
            ["webhook"],
            now=1_000,
            lease_until=1_060,
            limit=100,
            limit_per_target=MAX_PER_TARGET,
            candidates=candidates,
        )
        claim, values = asked[-1]
        plan = (await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {claim}", values)).all()

    steps = [row.detail for row in plan if " deliveries" in row.detail]
    assert claim.startswith("UPDATE deliveries")
    assert len(steps) >= 3
    assert [each for each in steps if "due_at" not in each and "(id=?)" not in each] == [], (
        "a step reads what has ended"
    )


async def test_what_a_dead_worker_claimed_falls_due_when_its_lease_ends(harness: ServiceHarness) -> None:
    caller, _ = await harness.owner_with_webhook()
    await queue_change(harness, caller)
    dead, alive = another_process(harness), another_process(harness)
    (lost,) = await dead.claim()

    harness.clock.move(LEASE_SECONDS - 1)
    assert await alive.claim() == []
    harness.clock.move(1)
    (found,) = await alive.claim()
    assert LEASE_SECONDS == 60
    assert (found.delivery.id, found.delivery.body) == (lost.delivery.id, lost.delivery.body)


async def test_a_delivery_whose_end_was_not_stored_comes_again_with_the_same_id_and_bytes(
    harness: ServiceHarness,
) -> None:
    caller, _ = await harness.owner_with_webhook()
    await queue_change(harness, caller)
    (claimed,) = await harness.deliveries.claim()
    await harness.deliveries.deliver(claimed)
    await queue_change(harness, caller, batch="later")
    harness.clock.move(LEASE_SECONDS)
    assert await harness.deliver_due() == 2

    first, *again = harness.receivers.requests
    (same,) = [each for each in again if each.headers["X-Service-Delivery"] == first.headers["X-Service-Delivery"]]
    assert same.content == first.content


@dataclass
class Stalled:
    """A database over which a worker that has claimed deliveries does not go on to read before the test says so."""

    database: Database
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    may_go_on: asyncio.Event = field(default_factory=asyncio.Event)

    def transaction(self) -> AbstractAsyncContextManager[AsyncConnection]:
        return self.database.transaction()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        self.reached.set()
        await self.may_go_on.wait()
        async with self.database.reading() as connection:
            yield connection


async def stalled_claim(harness: ServiceHarness) -> "tuple[Stalled, asyncio.Task[Sequence[ClaimedDelivery]]]":
    """A worker that has claimed what is due and has read nothing of it, and what it goes on with."""
    stalled = Stalled(harness.database)
    worker = DeliveryService(stalled, harness.clock, channels_of(harness))  # type: ignore[arg-type]  # claims need no more
    claiming = asyncio.create_task(worker.claim())
    async with asyncio.timeout(10):
        await stalled.reached.wait()
    return stalled, claiming


async def test_a_worker_that_stalls_before_it_reads_the_events_of_a_delivery_leaves_it_to_who_claims_it_next(
    harness: ServiceHarness,
) -> None:
    caller, _ = await harness.owner_with_webhook()
    await queue_change(harness, caller, number=2)
    stalled, claiming = await stalled_claim(harness)
    harness.clock.move(LEASE_SECONDS)
    assert await harness.deliver_due() == 1
    stalled.may_go_on.set()

    assert await claiming == []
    (request,) = harness.receivers.requests
    assert len(json.loads(request.content)["events"]) == 2
    assert [row["body"] for row in await harness.rows(deliveries)] == [request.content.decode()]


async def test_a_worker_goes_on_with_what_nobody_else_has_claimed(harness: ServiceHarness) -> None:
    caller, _ = await harness.owner_with_webhook()
    for batch in ("first", "second"):
        await queue_change(harness, caller, batch=batch)
        harness.clock.move(1)
    stalled, claiming = await stalled_claim(harness)
    harness.clock.move(LEASE_SECONDS)  # by the clock of another node, which is ahead
    (taken,) = await harness.deliveries.claim(1)
    harness.clock.move(-1)
    stalled.may_go_on.set()

    (kept,) = await claiming
    assert [taken.delivery.batch, kept.delivery.batch] == ["first", "second"]
    await harness.deliveries.store([await harness.deliveries.deliver(each) for each in (taken, kept)])
    assert [len(json.loads(each.content)["events"]) for each in harness.receivers.requests] == [1, 1]
    assert await harness.rows(delivery_events) == []


async def test_a_delivery_that_was_removed_before_it_was_read_is_not_sent(harness: ServiceHarness) -> None:
    caller, webhook = await harness.owner_with_webhook()
    await queue_change(harness, caller)
    stalled, claiming = await stalled_claim(harness)
    async with harness.database.transaction() as connection:
        await target_repository.remove(connection, caller.account.id, webhook.id)
    stalled.may_go_on.set()
    assert await claiming == []


async def test_workers_that_claim_at_once_claim_each_delivery_once(harness: ServiceHarness) -> None:
    caller = await harness.owner()
    for number in range(10):
        webhook = await harness.webhooks.add(caller, f"https://{number}.acme.example/")
        await queue_deliveries(harness, webhook, 6)
    workers = [another_process(harness) for _ in range(4)]
    claims = await asyncio.gather(*(worker.claim(15) for worker in workers for _ in range(2)))
    claimed = [each for claim in claims for each in claim]

    assert len({each.delivery.id for each in claimed}) == len(claimed) > 0
    assert max(Counter(each.target.id for each in claimed).values()) <= MAX_PER_TARGET
    rest = [each for _ in range(10) for each in await workers[0].claim()]
    assert len({each.delivery.id for each in claimed + rest}) == 10 * MAX_PER_TARGET


async def test_no_address_has_more_than_four_under_way_over_all_workers(harness: ServiceHarness) -> None:
    _, webhook = await harness.owner_with_webhook()
    await queue_deliveries(harness, webhook, 10)
    one, other = another_process(harness), another_process(harness)
    first = await one.claim(3)
    assert (len(first), len(await other.claim()), await one.claim()) == (3, 1, [])
    await one.store([await one.deliver(each) for each in first[:2]])
    assert len(await other.claim()) == 2


async def test_a_dead_receiver_with_a_long_backlog_delays_no_other(harness: ServiceHarness) -> None:
    _, dead = await harness.owner_with_webhook()
    caller, _ = await harness.owner_with_webhook("alive@other.example", "https://alive.example/")
    await queue_deliveries(harness, dead, 1_000)
    await queue_change(harness, caller)

    claimed = await harness.deliveries.claim()
    assert Counter(each.target.url for each in claimed) == {dead.url: MAX_PER_TARGET, "https://alive.example/": 1}


async def test_many_dead_receivers_leave_the_next_free_place_to_one_that_answers(harness: ServiceHarness) -> None:
    dead = []
    for account in range(4):
        caller = await harness.owner(f"dead{account}@acme.example")
        for number in range(10):
            dead.append(await harness.webhooks.add(caller, f"https://{number}.dead.example/"))
            await queue_deliveries(harness, dead[-1], 20)
    taken = await harness.deliveries.claim()
    assert len(taken) == MAX_CONCURRENT
    caller, _ = await harness.owner_with_webhook("alive@other.example", "https://alive.example/")
    await queue_change(harness, caller)

    await harness.deliveries.store(
        [FinishedDelivery(taken[0].delivery.id, taken[0].target.id, taken[0].leased_until, _refused(), 3)]
    )
    (next_one,) = await harness.deliveries.claim(1)
    assert next_one.target.url == "https://alive.example/"


async def test_the_oldest_comes_first_at_one_address(harness: ServiceHarness) -> None:
    caller, _ = await harness.owner_with_webhook()
    for batch in ("first", "second", "third"):
        await queue_change(harness, caller, batch=batch)
        harness.clock.move(1)
    order = []
    for _ in range(3):
        (claimed,) = await harness.deliveries.claim(1)
        order.append(claimed.delivery.batch)
    assert order == ["first", "second", "third"]


async def test_a_run_that_was_killed_holds_its_deliveries_back_no_longer_than_it_said(harness: ServiceHarness) -> None:
    caller, _ = await harness.owner_with_webhook()
    await queue_change(harness, caller, due_in=900)
    harness.clock.move(899)
    assert await harness.deliver_due() == 0
    await queue_change(harness, caller, due_in=900, subject="the same run sees more")
    harness.clock.move(1)
    assert await harness.deliver_due() == 1
    assert b"the same run sees more" in harness.receivers.requests[0].content


async def test_the_deliveries_of_a_run_go_out_when_it_ends(harness: ServiceHarness) -> None:
    caller, _ = await harness.owner_with_webhook()
    await queue_change(harness, caller, batch="run", due_in=900)
    await queue_change(harness, caller, batch="other run", due_in=900)
    await DeliveryOutbox(harness.database, harness.clock, channels_of(harness)).release("run")
    assert await harness.deliver_due() == 1
    await DeliveryOutbox(harness.database, harness.clock, channels_of(harness)).release("run")
    assert await harness.deliver_due() == 0


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
    harness: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "RETRY_SECONDS", 0.01)
    caller, _ = await harness.owner_with_webhook()
    await queue_change(harness, caller, batch="run", due_in=900)
    away = Away(harness.database, times=3)
    releasing = DeliveryOutbox(away, harness.clock, channels_of(harness))  # type: ignore[arg-type]  # transactions are all that it needs

    await releasing.release("run")
    assert await harness.deliver_due() == 0
    async with asyncio.timeout(10):
        while await harness.deliver_due() != 1:
            await asyncio.sleep(0.01)

    assert away.times == 0
    await releasing.close()


async def test_closing_leaves_what_cannot_be_let_go_to_its_time(harness: ServiceHarness) -> None:
    caller, _ = await harness.owner_with_webhook()
    await queue_change(harness, caller, batch="run", due_in=900)
    releasing = DeliveryOutbox(Away(harness.database, times=1_000), harness.clock, channels_of(harness))  # type: ignore[arg-type]  # as above
    await releasing.release("run")

    await releasing.close()

    assert await harness.deliver_due() == 0
    harness.clock.move(900)
    assert await harness.deliver_due() == 1


async def test_a_delivery_that_is_put_while_its_address_is_removed_breaks_nothing(
    harness: ServiceHarness, on_postgresql: None
) -> None:
    caller, webhook = await harness.owner_with_webhook()
    async with harness.database.transaction() as connection:
        await target_repository.remove(connection, caller.account.id, webhook.id)
        change = asyncio.create_task(queue_change(harness, caller))
        await _pending(harness.database, 1)
    await change
    assert await harness.rows(deliveries) == []
    assert len(await harness.rows(events)) == 1


async def test_an_end_that_is_stored_while_its_address_is_removed_breaks_nothing(
    harness: ServiceHarness, on_postgresql: None
) -> None:
    caller, webhook = await harness.owner_with_webhook()
    await queue_change(harness, caller)
    (claimed,) = await harness.deliveries.claim()
    ended = await harness.deliveries.deliver(claimed)
    async with harness.database.transaction() as connection:
        await connection.execute(text("SELECT 1 FROM webhooks FOR UPDATE"))
        storing = asyncio.create_task(harness.deliveries.store([ended]))
        await _pending(harness.database, 1)
        await target_repository.remove(connection, caller.account.id, webhook.id)
    await storing
    assert await harness.rows(deliveries) == []


def _refused() -> AttemptResult:
    return AttemptResult(is_accepted=False, status=None, error="the connection failed")
