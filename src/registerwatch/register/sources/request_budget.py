"""The register's request budget: one row that every process paces itself by.

Never more requests than the setting allows leave in any 60 seconds. Requests are counted per second over the last 61
seconds, so the count errs on the polite side. `budget_parts.py` says which kind of request may take the next place.
"""

import asyncio
import json
import math
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from sqlalchemy import Row, text

from registerwatch.clock import CLOCK_DIFFERENCE_SECONDS, Clock, ClockJumps, SystemClock
from registerwatch.db.engine import Database
from registerwatch.register.sources.budget_parts import (
    WINDOW_SECONDS,
    BudgetWindow,
    Demand,
    RequestPriority,
    Sent,
)
from registerwatch.register.sources.turn_lock import Requester, TurnLock

FIRST_PAUSE_SECONDS = 5
MAX_PAUSE_SECONDS = 60
MAX_TOLD_PAUSE_SECONDS = 600
"""The register's word on a pause counts up to so much."""
FINISHING_SECONDS = 90.0
"""More than a place in the budget takes to come free, and a request to be answered."""


class BudgetSpent(Exception):
    """No place became free before the deadline; `wait` is the seconds until the next one."""

    def __init__(self, wait: float, throttled: bool) -> None:
        self.wait = max(1, math.ceil(wait))
        cause = (
            "the register asked us to slow down" if throttled else "this service's requests for the minute are used up"
        )
        super().__init__(f"{cause}; the next try is possible in {self.wait} s")


@dataclass(slots=True)
class PlaceWait:
    """How long one read waits for its places in the request budget, by the clock that only goes forward.

    It waits for its first place until `start_until`. From then on the register was asked, and what it said would be
    lost: for the others it waits until `finish_until`, and sets `overdue` where that is after `start_until`.
    The time that it waits does not count as time of the read, which ends at `finish_until` at the latest.
    """

    start_until: float
    finish_until: float
    requester: Requester | None = None
    """The account or client that it waits for. They wait for places in turn, trials by turns with all others."""
    has_begun: bool = False
    waited: float = 0.0
    overdue: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    def until(cls, instant: float, requester: Requester | None = None) -> "PlaceWait":
        """The wait of a read that should begin before an instant, and may end after it."""
        return cls(instant, instant + FINISHING_SECONDS, requester)

    @classmethod
    def as_long_as_a_read(cls, requester: Requester | None = None) -> "PlaceWait":
        """The wait of a read that has no other end than its deadline."""
        return cls(math.inf, math.inf, requester)

    def within(self, deadline: float) -> "PlaceWait":
        """The wait of a read that begins now and may go on until a deadline."""
        return self if math.isfinite(self.start_until) else PlaceWait(deadline, deadline, self.requester)

    @property
    def may_finish_later(self) -> bool:
        """Whether a place that does not come free before `start_until` is waited for all the same."""
        return self.has_begun and self.finish_until > self.start_until


class RequestBudget:
    """Hands out places to send one request each.

    `per_minute` requests leave in any 60 seconds, over all processes that share the database.
    """

    def __init__(self, database: Database, per_minute: int, clock: Clock | None = None) -> None:
        self._database = database
        self._per_minute = per_minute
        self._clock: Clock = clock or SystemClock()
        self._jumps = ClockJumps(self._clock)
        # In each process, one request of each kind asks the database; the others wait for this lock in turn.
        self._locks = {priority: TurnLock() for priority in RequestPriority}
        self._awaited = dict.fromkeys(RequestPriority, False)
        """Whether the one who has the lock waits for a place to come free."""
        self.sent = dict.fromkeys(RequestPriority, 0)
        """Requests of this process that had their place, by kind."""

    @property
    def clock(self) -> Clock:
        """The clock that deadlines are measured by, as it only goes forward."""
        return self._clock

    async def take(
        self,
        priority: RequestPriority,
        *,
        deadline: float,
        cost: int = 1,
        requester: Requester | None = None,
        has_begun: bool = False,
    ) -> None:
        """Wait for a place. Raises `BudgetSpent` when none comes free before `deadline`, in seconds of the clock that
        only goes forward.

        `cost` is how many places the request counts for: actor searches count double, as the register tolerates half.
        `requester` is the account or client that waits for it. Reads that have sent a request (`has_begun`) come
        before its others: so few places end some of many reads.
        """
        if self._awaited[priority]:  # a request that cannot be sent in time fails without standing in line
            async with self._database.reading() as connection:
                now = self._state((await connection.execute(_ROW)).one(), 0)
            self._check(now.wait(priority, cost), deadline)
        line = self._locks[priority].acquire(requester, has_begun=has_begun)
        await self._stand_in_line(line, deadline)
        try:
            while (wait := await self._try(priority, cost)).seconds > 0:
                self._check(wait, deadline)
                self._awaited[priority] = True
                await self._clock.sleep(wait.seconds + random.uniform(0, 0.05))  # so that nodes do not wake together
        finally:
            self._awaited[priority] = False
            self._locks[priority].release()
        self.sent[priority] += 1

    def _check(self, wait: "_Wait", deadline: float) -> None:
        if self._clock.monotonic() + wait.seconds > deadline:
            raise BudgetSpent(wait.seconds, wait.throttled)

    async def _stand_in_line(self, line: Awaitable[None], deadline: float) -> None:
        """Come to the head of those of this process who wait for a place: of each requester who came first."""
        left = max(0.1, deadline - self._clock.monotonic())
        try:
            async with asyncio.timeout(left):
                await line
        except TimeoutError:
            raise BudgetSpent(WINDOW_SECONDS, throttled=False) from None

    async def throttled(self, retry_after: float | None) -> None:
        """The register throttled us: no request is sent before `retry_after` seconds, else 5 s, 20 s, 60 s."""
        async with self._database.transaction() as connection:
            row = (await connection.execute(_LOCK[self._database.kind])).one()
            pause = (
                retry_after
                if retry_after is not None
                else min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 4**row.throttled)
            )
            now = self._clock.now()
            until = max(_possible_pause(row.paused_until, now), math.ceil(now + min(pause, MAX_TOLD_PAUSE_SECONDS)))
            await connection.execute(_PAUSE, {"until": until, "throttled": min(row.throttled + 1, 9)})

    async def answered(self) -> None:
        """The register gave a real answer; pauses start short again."""
        async with self._database.reading() as connection:
            throttled = (await connection.execute(_ROW_UNLOCKED)).one().throttled
        if throttled:
            async with self._database.transaction() as connection:
                await connection.execute(_CALM)

    async def _try(self, priority: RequestPriority, cost: int) -> "_Wait":
        """Take a place now, or tell how long to wait for one."""
        async with self._database.transaction() as connection:
            row = (await connection.execute(_LOCK[self._database.kind])).one()
            state = self._state(row, round(self._jumps.since_last_look()))
            is_news = state.window.ask(priority, state.now)
            wait = state.wait(priority, cost)
            if wait.seconds <= 0:
                state.window.take(priority, cost, state.now)
            if wait.seconds <= 0 or state.is_put_right or is_news:
                await connection.execute(_SPEND, state.values())
            return wait

    def _state(self, row: Row[Any], jump: int) -> "_State":
        return _State.of(row, self._per_minute, self._clock.now(), jump)


class _Wait(msgspec.Struct, frozen=True):
    """Seconds until another try for a place makes sense, 0 for now; whether the register throttles us."""

    seconds: float = 0.0
    throttled: bool = False


@dataclass(slots=True)
class _State:
    """The row of the budget at an instant: what was sent, who asks, the end of a pause."""

    now: float
    window: BudgetWindow
    paused_until: int
    is_put_right: bool

    @classmethod
    def of(cls, row: Row[Any], per_minute: int, now: float, jump: int) -> "_State":
        """What the row says, put right where the clock was put forward or back (`jump` seconds)."""
        by_kind = json.loads(row.by_kind)
        noted = _sent_of(json.loads(row.spent), by_kind.get("sent", {}))
        sent, paused_until = _put_right(noted, now=math.floor(now), jump=jump), _possible_pause(row.paused_until, now)
        window = BudgetWindow(per_minute, sent, _asking_of(by_kind.get("asking", {})))
        return cls(now, window, paused_until, sent != noted or paused_until != row.paused_until)

    def wait(self, priority: RequestPriority, cost: int) -> _Wait:
        """How long who needs `cost` places has to wait."""
        if self.paused_until > self.now:
            return _Wait(self.paused_until - self.now, throttled=True)
        return _Wait(self.window.seconds_until(priority, cost, self.now))

    def values(self) -> dict[str, Any]:
        """What the row is to say. `spent` is all that a node of the release before reads and writes."""
        sent: dict[str, dict[int, int]] = {}
        for second, counts in self.window.sent.items():
            for priority, number in counts.items():
                if priority is not None:
                    sent.setdefault(priority.value, {})[second] = number
        asking = {priority.value: [each.since, each.last] for priority, each in self.window.asking.items()}
        return {
            "spent": json.dumps({second: counts.total() for second, counts in self.window.sent.items()}),
            "by_kind": json.dumps({"sent": sent, "asking": asking}),
            "until": self.paused_until,
        }


def _sent_of(spent: Mapping[str, int], by_kind: Mapping[str, Mapping[str, int]]) -> Sent:
    """What was sent in each second, by kind. What `spent` has beyond that was sent by a node of the release before."""
    sent: Sent = {int(second): Counter({None: number}) for second, number in spent.items()}
    for name, numbers in by_kind.items():
        priority = _PRIORITIES.get(name)
        for second, number in numbers.items():
            counts = sent.get(int(second))
            if priority is not None and counts is not None:
                counts[priority] += number
                counts[None] = max(0, counts[None] - number)
    return {second: +counts for second, counts in sent.items()}


def _asking_of(by_kind: Mapping[str, tuple[int, int]]) -> dict[RequestPriority, Demand]:
    return {_PRIORITIES[name]: Demand(*each) for name, each in by_kind.items() if name in _PRIORITIES}


_PRIORITIES = {priority.value: priority for priority in RequestPriority}


def _possible_pause(paused_until: int, now: float) -> int:
    """The end of a pause; none where no pause can be so long, since the clock was put back."""
    return paused_until if paused_until <= now + MAX_TOLD_PAUSE_SECONDS + CLOCK_DIFFERENCE_SECONDS else 0


def _put_right(sent: Sent, *, now: int, jump: int) -> Sent:
    """The seconds at which requests were sent, as the clock counts them since it was put forward or back by `jump`.

    Where it was put back before this process looked, the last of them counts as sent now: none was sent later.
    """
    if jump > 0:
        put_at = now - jump
        sent = _moved(sent, jump, lambda at: put_at - WINDOW_SECONDS <= at <= put_at)
    elif jump < 0:
        sent = _moved(sent, jump, lambda at: at > now + 1)
    latest = max(sent, default=now)
    return _moved(sent, now - latest, lambda at: at >= now - WINDOW_SECONDS) if latest > now + 2 else sent


def _moved(sent: Sent, seconds: int, is_moved: Callable[[int], bool]) -> Sent:
    moved: Sent = {}
    for at, counts in sent.items():
        moved.setdefault(at + seconds if is_moved(at) else at, Counter()).update(counts)
    return moved


_ROW = text("SELECT spent, by_kind, paused_until, throttled FROM register_budget WHERE id = 1")
_ROW_UNLOCKED = text("SELECT throttled FROM register_budget WHERE id = 1")
_LOCK = {
    "sqlite": _ROW,
    "postgresql": text("SELECT spent, by_kind, paused_until, throttled FROM register_budget WHERE id = 1 FOR UPDATE"),
}
_SPEND = text("UPDATE register_budget SET spent = :spent, by_kind = :by_kind, paused_until = :until WHERE id = 1")
_PAUSE = text("UPDATE register_budget SET paused_until = :until, throttled = :throttled WHERE id = 1")
_CALM = text("UPDATE register_budget SET throttled = 0 WHERE id = 1 AND throttled > 0")
