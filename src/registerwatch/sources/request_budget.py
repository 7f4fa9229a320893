"""The request budget of a host: one row that every process paces itself by.

No more requests than the pace allows leave in any 60 seconds, and they are spread over the minute. Requests are
counted per second over the last 61 seconds, so the count errs on the polite side. `request_pace.py` says how the pace
follows the host's answers, `budget_parts.py` which kind of request may take the next slot, `budget_row.py` how both
are stored.
"""

import asyncio
import math
import random
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import msgspec

from registerwatch.platform.clock import Clock, ClockJumps, SystemClock
from registerwatch.platform.db.engine import Database
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.budget_row import Host, Wait, lock_state, read_state, write_pace, write_slots
from registerwatch.sources.request_pace import WINDOW_SECONDS, PaceLimits
from registerwatch.sources.requester_queue import Requester, RequesterQueue

FINISHING_SECONDS = 90.0
"""Longer than a slot takes to come free, and a request to be answered."""


class BudgetSpent(Exception):
    """No slot came free before the deadline. `seconds` is the time until the next one, `wait` in whole seconds."""

    def __init__(self, wait: float, throttled: bool) -> None:
        self.seconds = wait
        self.wait = max(1, math.ceil(wait))
        cause = (
            "the register asked us to slow down" if throttled else "this service's requests for the minute are used up"
        )
        super().__init__(f"{cause}; the next try is possible in {self.wait} s")


@dataclass(slots=True)
class SlotWait:
    """How long one read waits for its slots in the request budget, by the monotonic clock.

    It waits for its first slot until `start_until`. From then on the register was asked, and its answers would be
    lost: so it waits for the other slots until `finish_until`, and sets `overdue` where that is after `start_until`.
    The time that it waits does not count as time of the read, which ends at `finish_until` at the latest.
    """

    start_until: float
    finish_until: float
    requester: Requester | None = None
    """The account or client that waits. They get slots in rotation, trials alternating with all others."""
    has_begun: bool = False
    waited: float = 0.0
    overdue: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    def until(cls, instant: float, requester: Requester | None = None) -> "SlotWait":
        """The wait of a read that should begin before an instant, and may end after it."""
        return cls(instant, instant + FINISHING_SECONDS, requester)

    @classmethod
    def as_long_as_a_read(cls, requester: Requester | None = None) -> "SlotWait":
        """The wait of a read that only its deadline ends."""
        return cls(math.inf, math.inf, requester)

    def within(self, deadline: float) -> "SlotWait":
        """The wait of a read that begins now and may go on until a deadline."""
        return self if math.isfinite(self.start_until) else SlotWait(deadline, deadline, self.requester)

    @property
    def may_finish_later(self) -> bool:
        """Whether to go on waiting for a slot that does not come free before `start_until`."""
        return self.has_begun and self.finish_until > self.start_until


class PaceState(msgspec.Struct, frozen=True):
    """The pace of a host as it is now: requests a minute, the most that it may rise to, and the end of a pause after
    throttling (unix seconds), None where there is none.
    """

    per_minute: int
    most: int
    paused_until: int | None


class RequestBudget:
    """Gives slots, each for one request to a host.

    The pace is shared by all processes that use the database.
    """

    def __init__(
        self, database: Database, limits: PaceLimits, clock: Clock | None = None, host: Host = Host.REGISTER
    ) -> None:
        self._database = database
        self._limits = limits
        self._host = host
        self._clock: Clock = clock or SystemClock()
        self._jumps = ClockJumps(self._clock)
        # In each process, one request of each kind asks the database; the others wait in this queue.
        self._queues = {priority: RequesterQueue() for priority in RequestPriority}
        self._awaited = dict.fromkeys(RequestPriority, False)
        """Whether the first of the queue waits for a slot to come free."""
        self.sent = dict.fromkeys(RequestPriority, 0)
        """Requests of this process that got their slot, by kind."""
        self.throttlings = 0
        """Requests of this process that the host throttled."""

    @property
    def clock(self) -> Clock:
        """The monotonic clock of the deadlines."""
        return self._clock

    async def pace(self) -> PaceState:
        """How many requests a minute may leave now. Raises `DatabaseUnavailable`."""
        async with self._database.reading() as connection:
            state = await read_state(connection, self._host, self._limits, self._clock)
        paused_until = state.paused_until if state.paused_until > state.now else None
        return PaceState(state.window.per_minute, self._limits.most, paused_until)

    async def take(
        self,
        priority: RequestPriority,
        *,
        deadline: float,
        cost: int = 1,
        requester: Requester | None = None,
        has_begun: bool = False,
    ) -> None:
        """Wait for a slot. Raises `BudgetSpent` when none comes free before `deadline`, in seconds of the clock that
        only goes forward.

        `cost` is how many slots the request takes: actor searches take two, as the register tolerates half as many.
        `requester` is the account or client that waits for it. Its reads that have sent a request (`has_begun`) come
        before its others: so with few slots some of many reads end.
        """
        if self._awaited[priority]:  # a request that cannot be sent in time fails without waiting in line
            async with self._database.reading() as connection:
                state = await read_state(connection, self._host, self._limits, self._clock)
            self._check(state.wait(priority, cost), deadline)
        async with AsyncExitStack() as held:
            slot = self._queues[priority].slot(requester, has_begun=has_begun)
            await self._be_first(held.enter_async_context(slot), deadline)
            try:
                while (wait := await self._try(priority, cost)).seconds > 0:
                    self._check(wait, deadline)
                    self._awaited[priority] = True
                    await self._clock.sleep(
                        wait.seconds + random.uniform(0, 0.05)
                    )  # so that nodes do not wake together
            finally:
                self._awaited[priority] = False
        self.sent[priority] += 1

    def _check(self, wait: Wait, deadline: float) -> None:
        if self._clock.monotonic() + wait.seconds > deadline:
            raise BudgetSpent(wait.seconds, wait.throttled)

    async def _be_first(self, slot: Awaitable[None], deadline: float) -> None:
        """Wait until this request is the first in this process: of each requester, in order of arrival."""
        left = max(0.1, deadline - self._clock.monotonic())
        try:
            async with asyncio.timeout(left):
                await slot
        except TimeoutError:
            raise BudgetSpent(WINDOW_SECONDS, throttled=False) from None

    async def throttled(self, retry_after: float | None) -> None:
        """Note that the host throttled: halve the pace, and send nothing before `retry_after` seconds, else 5 s,
        20 s, 60 s.
        """
        self.throttlings += 1
        async with self._database.transaction() as connection:
            state = await lock_state(connection, self._host, self._limits, self._clock)
            state.throttle(retry_after)
            await write_pace(connection, self._host, state)

    async def answered(self) -> None:
        """Note a real answer of the host: pauses start short again, and after a quiet minute the pace rises."""
        async with self._database.reading() as connection:
            if not (await read_state(connection, self._host, self._limits, self._clock)).answer():
                return
        async with self._database.transaction() as connection:
            state = await lock_state(connection, self._host, self._limits, self._clock)
            if state.answer():
                await write_pace(connection, self._host, state)

    async def _try(self, priority: RequestPriority, cost: int) -> Wait:
        """Take a slot now, or return how long to wait for one."""
        async with self._database.transaction() as connection:
            jump = round(self._jumps.since_last_look())
            state = await lock_state(connection, self._host, self._limits, self._clock, jump)
            is_news = state.window.ask(priority, cost, state.now)
            wait = state.wait(priority, cost)
            if wait.seconds <= 0:
                state.window.take(priority, cost, state.now)
            if wait.seconds <= 0 or state.is_put_right or is_news:
                await write_slots(connection, self._host, state)
            return wait
