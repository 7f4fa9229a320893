"""The request budget: never more than the setting in any 60 seconds, whoever shares the database."""

import asyncio
import math
import random
from collections.abc import AsyncIterator, Coroutine
from contextvars import ContextVar
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from registerwatch.platform.db.engine import Database
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.budget_row import Host
from registerwatch.sources.request_budget import BudgetSpent, PaceState, RequestBudget
from registerwatch.sources.request_pace import PaceLimits
from registerwatch.sources.requester_queue import Requester
from tests.register.builders import FEW
from tests.sources.budget_day import BEGIN, jobs_of, most_sent_in_a_minute, simulate
from tests.sources.throttling_hours import StrictHost, ask_all_the_time
from tests.support.fakes import SteppedClock

PER_MINUTE = 10
FOREVER = float("inf")

arrivals = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.0, 0.4, 3.0, 17.3, 45.0, 61.5]),
        st.booleans(),
        st.sampled_from(RequestPriority),
        st.sampled_from([1, 1, 2]),
    ),
    min_size=12,
    max_size=24,
)


class NotedClock(SteppedClock):
    """Remembers for each task what time it last saw: another task may have moved the clock before it goes on."""

    def __init__(self, now: float) -> None:
        super().__init__(now)
        self._seen = ContextVar("seen", default=now)

    def now(self) -> float:
        self._seen.set(super().now())
        return super().now()

    @property
    def seen(self) -> float:
        """The time that this task saw last."""
        return self._seen.get()


@pytest.fixture
def clock() -> NotedClock:
    return NotedClock(1_800_000_000.25)


@pytest.fixture
async def node_databases(database_url: str) -> AsyncIterator[tuple[Database, Database]]:
    """One database as two processes see it."""
    one, other = Database(database_url), Database(database_url)
    yield one, other
    await one.close()
    await other.close()


@pytest.fixture
def nodes(node_databases: tuple[Database, Database], clock: SteppedClock) -> tuple[RequestBudget, RequestBudget]:
    """The budgets of two processes on one database."""
    one, other = node_databases
    return RequestBudget(one, PaceLimits(PER_MINUTE, start=PER_MINUTE), clock), RequestBudget(
        other, PaceLimits(PER_MINUTE, start=PER_MINUTE), clock
    )


async def forget(database: Database) -> None:
    """Begin with a budget that nobody has used."""
    async with database.transaction() as connection:
        await connection.execute(
            text("UPDATE request_budgets SET sent = '{}', asking = '{}', paused_until = 0, throttled = 0")
        )


def most_in_a_minute(left: list[tuple[float, int]]) -> int:
    """The largest number of places that were given in any 60 seconds."""
    return max((sum(cost for at, cost in left if begin <= at < begin + 60) for begin, _ in left), default=0)


@FEW
@given(arrivals)
async def test_no_minute_ever_sees_more_requests_than_the_setting(
    nodes: tuple[RequestBudget, RequestBudget],
    node_databases: tuple[Database, Database],
    clock: SteppedClock,
    arrivals: list[tuple[float, bool, RequestPriority, int]],
) -> None:
    await forget(node_databases[0])
    clock.move(1_000)
    left: list[tuple[float, int]] = []
    for gap, which, priority, cost in arrivals:
        clock.move(gap)
        await nodes[which].take(priority, deadline=FOREVER, cost=cost)
        left.append((clock.now(), cost))

    assert most_in_a_minute(left) <= PER_MINUTE


async def test_requests_that_come_at_once_from_two_processes_share_the_minute(
    nodes: tuple[RequestBudget, RequestBudget], clock: NotedClock
) -> None:
    left: list[tuple[float, int]] = []

    async def one(budget: RequestBudget) -> None:
        await budget.take(RequestPriority.WATCH, deadline=FOREVER)
        left.append((clock.seen, 1))

    await asyncio.gather(*(one(nodes[number % 2]) for number in range(3 * PER_MINUTE)))

    assert len(left) == 3 * PER_MINUTE
    assert most_in_a_minute(left) <= PER_MINUTE


async def test_all_places_are_given_where_nobody_waits_longer_than_needed(
    nodes: tuple[RequestBudget, RequestBudget], clock: SteppedClock
) -> None:
    begin = clock.now()
    for number in range(3 * PER_MINUTE):
        await nodes[number % 2].take(RequestPriority.WATCH, deadline=FOREVER)

    assert clock.now() - begin <= 3 * 61.1


async def test_a_bulk_load_leaves_places_for_accounts(
    nodes: tuple[RequestBudget, RequestBudget], clock: SteppedClock
) -> None:
    given = [
        await _places_left(nodes[0], priority, clock) for priority in (RequestPriority.BULK_LOAD, RequestPriority.WATCH)
    ]

    assert given == [2, 2], "of what may leave at once"


async def test_a_request_that_counts_double_takes_two_places(
    nodes: tuple[RequestBudget, RequestBudget], clock: SteppedClock
) -> None:
    budget, soon = nodes[0], 8.0
    for _ in range(PER_MINUTE // 2):
        await budget.take(RequestPriority.WATCH, deadline=FOREVER, cost=2)
    with pytest.raises(BudgetSpent):
        await budget.take(RequestPriority.WATCH, deadline=clock.now() + soon)

    await forget(budget._database)
    for _ in range(PER_MINUTE - 1):
        await budget.take(RequestPriority.WATCH, deadline=FOREVER)
    with pytest.raises(BudgetSpent):
        await budget.take(RequestPriority.WATCH, deadline=clock.now() + soon, cost=2)
    await budget.take(RequestPriority.WATCH, deadline=clock.now() + soon)


@pytest.mark.parametrize("per_minute", [1, 2])
@pytest.mark.parametrize("priority", RequestPriority)
async def test_the_smallest_budgets_still_let_everybody_through_in_time(
    database: Database, clock: SteppedClock, per_minute: int, priority: RequestPriority
) -> None:
    budget = RequestBudget(database, PaceLimits(per_minute, start=per_minute), clock)
    for cost in (1, 2, 1):
        await budget.take(priority, deadline=FOREVER, cost=cost)


async def test_who_cannot_be_served_before_the_deadline_is_told_at_once_when_to_come_back(
    nodes: tuple[RequestBudget, RequestBudget], clock: SteppedClock
) -> None:
    begin = clock.now()
    for _ in range(PER_MINUTE):
        await nodes[0].take(RequestPriority.WATCH, deadline=FOREVER)
    clock.slept.clear()

    with pytest.raises(BudgetSpent, match="used up") as caught:
        await nodes[1].take(RequestPriority.WATCH, deadline=clock.now() + 10)

    assert clock.slept == []
    assert 60 <= clock.now() + caught.value.wait - begin <= 62
    clock.move(caught.value.wait)
    await nodes[1].take(RequestPriority.WATCH, deadline=clock.now())


class HeldClock(SteppedClock):
    """A clock on which whoever sleeps goes on sleeping until all are woken."""

    def __init__(self) -> None:
        super().__init__()
        self.awake = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        """Sleep until woken or cancelled."""
        self.slept.append(seconds)
        await self.awake.wait()


async def used_up_while_somebody_waits(database: Database) -> tuple[HeldClock, RequestBudget, "asyncio.Task[None]"]:
    """A budget of one request a minute, which was sent; a task waits for the next place."""
    clock = HeldClock()
    budget = RequestBudget(database, PaceLimits(1, start=1), clock)
    await budget.take(RequestPriority.WATCH, deadline=clock.now())
    waiting = asyncio.create_task(budget.take(RequestPriority.WATCH, deadline=FOREVER))
    while not clock.slept:
        await asyncio.sleep(0)
    return clock, budget, waiting


async def test_who_has_little_time_is_told_at_once_even_while_others_of_the_same_process_wait_longer(
    database: Database,
) -> None:
    clock, budget, patient = await used_up_while_somebody_waits(database)

    try:
        with pytest.raises(BudgetSpent):
            async with asyncio.timeout(2):
                await budget.take(RequestPriority.WATCH, deadline=clock.now())
    finally:
        patient.cancel()
        await asyncio.wait([patient])


async def test_who_waits_for_a_place_gets_it_before_who_comes_when_it_is_free(database: Database) -> None:
    clock, budget, first = await used_up_while_somebody_waits(database)

    clock.move(62)
    newcomer = asyncio.create_task(budget.take(RequestPriority.WATCH, deadline=FOREVER))
    await asyncio.wait([newcomer], timeout=0.3)
    assert not newcomer.done()
    clock.awake.set()
    await asyncio.wait_for(first, 10)

    clock.awake.clear()
    await asyncio.wait([newcomer], timeout=0.3)
    assert not newcomer.done()
    newcomer.cancel()
    await asyncio.wait([newcomer])


async def test_who_waits_in_line_gives_up_when_there_is_no_time_left(database: Database) -> None:
    clock, budget, patient = await used_up_while_somebody_waits(database)
    clock.move(61.9)

    with pytest.raises(BudgetSpent):
        async with asyncio.timeout(5):
            await budget.take(RequestPriority.WATCH, deadline=clock.monotonic() + 0.2)

    patient.cancel()
    await asyncio.wait([patient])


async def test_a_pause_after_throttling_holds_for_every_process(
    nodes: tuple[RequestBudget, RequestBudget], clock: SteppedClock
) -> None:
    await nodes[0].throttled(30)

    with pytest.raises(BudgetSpent, match="asked us to slow down") as caught:
        await nodes[1].take(RequestPriority.WATCH, deadline=clock.now() + 10)

    assert 30 <= caught.value.wait <= 31
    clock.move(31)
    await nodes[1].take(RequestPriority.WATCH, deadline=clock.now())


async def test_pauses_grow_while_the_register_goes_on_throttling_and_start_short_after_an_answer(
    nodes: tuple[RequestBudget, RequestBudget], clock: SteppedClock
) -> None:
    for least in (5, 20, 60, 60):
        await nodes[0].throttled(None)
        assert least <= await _pause_left(nodes[1], clock) <= least + 1
        clock.move(61)
    await nodes[1].answered()

    await nodes[1].throttled(None)

    assert 5 <= await _pause_left(nodes[0], clock) <= 6


@pytest.mark.parametrize(("said", "kept"), [(0, 0), (7, 7), (600, 600), (86_400, 600), (float("inf"), 600)])
async def test_the_registers_word_on_the_pause_counts_up_to_ten_minutes(
    nodes: tuple[RequestBudget, RequestBudget], clock: SteppedClock, said: float, kept: int
) -> None:
    await nodes[0].throttled(said)

    assert kept <= await _pause_left(nodes[1], clock) <= kept + 1


async def test_a_shorter_pause_does_not_end_a_longer_one(
    nodes: tuple[RequestBudget, RequestBudget], clock: SteppedClock
) -> None:
    await nodes[0].throttled(300)
    await nodes[1].throttled(1)

    assert await _pause_left(nodes[0], clock) >= 300


async def test_of_two_pauses_that_are_told_at_once_the_longer_one_holds(
    nodes: tuple[RequestBudget, RequestBudget], database: Database, clock: SteppedClock
) -> None:
    await _both_at_once(database, nodes[0].throttled(300), nodes[1].throttled(1))

    assert await _pause_left(nodes[0], clock) >= 300


async def test_places_return_only_when_they_are_a_minute_old(
    nodes: tuple[RequestBudget, RequestBudget], clock: SteppedClock
) -> None:
    chance = random.Random(4)
    taken: list[float] = []
    for _ in range(PER_MINUTE):
        clock.move(chance.random() * 3)
        await nodes[0].take(RequestPriority.WATCH, deadline=FOREVER)
        taken.append(clock.now())

    await nodes[1].take(RequestPriority.WATCH, deadline=FOREVER)

    assert 60 <= clock.now() - taken[0] <= 61.1


# The pace


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_the_pace_follows_a_register_that_tolerates_twenty_a_minute(
    database: Database, clock: SteppedClock
) -> None:
    budgets = [RequestBudget(database, PaceLimits(60), clock) for _ in range(2)]

    outcome = await ask_all_the_time(budgets, clock, StrictHost(20, counts_throttled=True), 2_400)

    assert outcome.paces[0] == 30
    assert all(7 <= pace <= 24 for pace in outcome.paces[5:])
    assert outcome.throttled_share(since=300) < 0.06
    assert outcome.answered_per_minute(300, 2_400) > 13


async def test_a_pace_that_a_process_found_out_is_that_of_all_and_survives_a_restart(
    node_databases: tuple[Database, Database], clock: SteppedClock
) -> None:
    one, other = (RequestBudget(database, PaceLimits(60), clock) for database in node_databases)
    await one.take(RequestPriority.WATCH, deadline=clock.now())
    assert await other.pace() == PaceState(30, 60, None)

    await one.throttled(None)

    until = math.ceil(clock.now() + 5)
    assert await other.pace() == PaceState(15, 60, until)
    assert await RequestBudget(node_databases[1], PaceLimits(60), clock).pace() == PaceState(15, 60, until)
    assert await RequestBudget(node_databases[1], PaceLimits(12), clock).pace() == PaceState(12, 12, until)
    clock.move(61)
    await other.answered()
    assert await one.pace() == PaceState(17, 60, None)


async def test_requests_that_were_under_way_when_the_register_throttled_halve_once_and_prolong_nothing(
    nodes: tuple[RequestBudget, RequestBudget], clock: SteppedClock
) -> None:
    for node in (0, 1, 0, 1):
        await nodes[node].throttled(None)

    assert (await nodes[0].pace()).per_minute == PER_MINUTE // 2
    assert 5 <= await _pause_left(nodes[1], clock) <= 6
    assert sum(node.throttlings for node in nodes) == 4


async def test_a_host_that_throttles_slows_no_other(database: Database, clock: SteppedClock) -> None:
    register = RequestBudget(database, PaceLimits(60), clock)
    lake = RequestBudget(database, PaceLimits(6), clock, Host.DATA_LAKE)
    await lake.take(RequestPriority.BULK_LOAD, deadline=clock.now())

    await lake.throttled(600)

    await register.take(RequestPriority.BULK_LOAD, deadline=clock.now())
    assert [(await each.pace()).per_minute for each in (register, lake)] == [30, 3]


async def test_the_only_kind_that_asks_the_data_lake_has_all_of_its_budget(
    database: Database, clock: SteppedClock
) -> None:
    lake, begin = RequestBudget(database, PaceLimits(6), clock, Host.DATA_LAKE), clock.now()

    for _ in range(12):
        await lake.take(RequestPriority.BULK_LOAD, deadline=FOREVER)

    assert clock.now() - begin <= 2 * 61


# Kinds of requests


async def test_each_kind_has_its_part_over_two_nodes_while_strangers_take_what_they_can(
    nodes: tuple[RequestBudget, RequestBudget], node_databases: tuple[Database, Database]
) -> None:
    clock = SteppedClock(BEGIN)
    jobs = jobs_of(1_200)
    budgets = [RequestBudget(database, PaceLimits(60, start=60), clock) for database in node_databases]

    await simulate(budgets, clock, jobs, 1_200)

    assert most_sent_in_a_minute([at for job in jobs for at in job.sent]) <= 60
    rechecks = [job for job in jobs if job.kind is RequestPriority.RECHECK]
    syncs = [job for job in jobs if job.kind is RequestPriority.WATCH]
    assert [len(job.sent) for job in rechecks] == [45, 45]
    assert len(syncs) == 2
    assert all(len(job.sent) >= 30 for job in syncs)
    assert all(job.sent for job in jobs if job.begin < 1_200), "nobody starves"


async def test_accounts_wait_for_places_in_turn(database: Database) -> None:
    clock, budget, first = await used_up_while_somebody_waits(database)
    order: list[str] = []

    async def take(account_id: int, name: str) -> None:
        await budget.take(RequestPriority.WATCH, deadline=FOREVER, requester=Requester(account_id))
        order.append(name)

    accounts = [(1, "many 0"), (1, "many 1"), (1, "many 2"), (2, "few")]
    tasks = []
    for account_id, name in accounts:
        tasks.append(asyncio.create_task(take(account_id, name)))
        await asyncio.sleep(0.1)  # it looks into the database before it stands in line
    clock.awake.set()
    while not all(task.done() for task in [first, *tasks]):
        clock.move(62)
        await asyncio.sleep(0.001)

    assert order == ["many 0", "few", "many 1", "many 2"]


async def test_many_trials_that_wait_leave_others_half_of_the_places(database: Database) -> None:
    clock, budget, first = await used_up_while_somebody_waits(database)
    order: list[str] = []

    async def take(requester: Requester, name: str) -> None:
        await budget.take(RequestPriority.WATCH, deadline=FOREVER, requester=requester)
        order.append(name)

    requesters = [*(Requester(number, is_trial=True) for number in range(8)), *[Requester(9)] * 4]
    tasks = []
    for each in requesters:
        tasks.append(asyncio.create_task(take(each, "trial" if each.is_trial else "customer")))
        await asyncio.sleep(0.1)  # it looks into the database before it stands in line
    clock.awake.set()
    while not all(task.done() for task in [first, *tasks]):
        clock.move(62)
        await asyncio.sleep(0.001)

    assert order == ["trial", "customer"] * 4 + ["trial"] * 4


async def _places_left(budget: RequestBudget, priority: RequestPriority, clock: SteppedClock) -> int:
    """Take all places that somebody of this priority can have now; how many they were."""
    taken = 0
    while True:
        try:
            await budget.take(priority, deadline=clock.now())
        except BudgetSpent:
            return taken
        taken += 1


async def _pause_left(budget: RequestBudget, clock: SteppedClock) -> float:
    """Seconds that a request would have to wait now."""
    try:
        await budget.take(RequestPriority.WATCH, deadline=clock.now())
    except BudgetSpent as spent:
        return spent.wait
    return 0


async def _both_at_once(database: Database, *writes: Coroutine[Any, Any, None]) -> None:
    """Run two writes of the budget so that on PostgreSQL both have begun before either can end."""
    if database.kind == "sqlite":  # a transaction holds the write lock from its start
        await asyncio.gather(*writes)
        return
    async with database.transaction() as holding, database.reading() as onlooker:
        await holding.execute(text("SELECT * FROM request_budgets FOR UPDATE"))
        tasks = []
        for count, write in enumerate(writes, start=1):
            tasks.append(asyncio.create_task(write))
            for _ in range(2_000):
                waiting = await onlooker.execute(_WAITING)
                if waiting.scalar_one() == count:
                    break
            else:
                raise AssertionError("the write does not wait for the row")
    await asyncio.gather(*tasks)


_WAITING = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
