"""The register's request budget: one row that every process paces itself by.

Never more requests than the setting allows leave in any 60 seconds. Requests are counted per second over the last 61
seconds, so the count errs on the polite side. Requests that a person
waits for may use the whole budget. Rechecks and bulk loads stop below it, so they never take the last places.
"""

import asyncio
import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from sqlalchemy import Row, text

from registerwatch.clock import CLOCK_DIFFERENCE_SECONDS, Clock, ClockJumps, SystemClock
from registerwatch.db.engine import Database

WINDOW_SECONDS = 60
FIRST_PAUSE_SECONDS = 5
MAX_PAUSE_SECONDS = 60
MAX_TOLD_PAUSE_SECONDS = 600
"""The register's word on a pause counts up to so much."""
PATIENCE_SECONDS = 65.0
"""More than it takes until every place of the budget has come free once."""
FINISHING_SECONDS = 90.0
"""More than a place in the budget takes to come free, and a request to be answered."""


class RequestPriority(Enum):
    """What a request is for, with the share of the budget that may be used up before it has to wait."""

    INTERACTIVE = 1.0
    """A person waits for the answer: a new watch, a sync, a read-through, a refresh."""
    RECHECK = 0.8
    BULK_LOAD = 0.6


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

    From `whole_from` on, and once it has begun, such a read may use the whole budget, whatever its priority: so work in
    the background goes on while people use up all the rest.
    """

    start_until: float
    finish_until: float
    whole_from: float = math.inf
    has_begun: bool = False
    waited: float = 0.0
    overdue: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    def until(cls, instant: float, now: float) -> "PlaceWait":
        """The wait of a read that is asked for now, should begin before an instant, and may end after it."""
        return cls(instant, instant + FINISHING_SECONDS, now + PATIENCE_SECONDS)

    def steps(self) -> list[tuple[float, bool]]:
        """Until when the next place is waited for, and whether of the whole budget; then until when else."""
        if self.whole_from == math.inf:
            return [(self.start_until, False)]
        if self.has_begun:
            return [(self.start_until, True), (self.finish_until, True)]
        return [(min(self.start_until, self.whole_from), False), (self.start_until, True)]


class RequestBudget:
    """Hands out places to send one request each.

    `per_minute` requests leave in any 60 seconds, over all processes that share the database.
    """

    def __init__(self, database: Database, per_minute: int, clock: Clock | None = None) -> None:
        self._database = database
        self._per_minute = per_minute
        self._clock: Clock = clock or SystemClock()
        self._jumps = ClockJumps(self._clock)
        # In each process, one request of each priority asks the database; the others wait for this lock, in order.
        self._locks = {priority: asyncio.Lock() for priority in RequestPriority}
        self._awaited = dict.fromkeys(RequestPriority, False)
        """Whether the one who has the lock waits for a place to come free."""

    @property
    def clock(self) -> Clock:
        """The clock that deadlines are measured by, as it only goes forward."""
        return self._clock

    async def take(self, priority: RequestPriority, *, deadline: float, cost: int = 1, whole: bool = False) -> None:
        """Wait for a place. Raises `BudgetSpent` when none comes free before `deadline`, in seconds of the clock that
        only goes forward.

        `cost` is how many places the request counts for: actor searches count double, as the register tolerates half.
        With `whole` it may use the whole budget, whatever its priority.
        """
        share = RequestPriority.INTERACTIVE if whole else priority
        ceiling = max(cost, math.floor(self._per_minute * share.value))
        if self._awaited[priority]:  # a request that cannot be sent in time fails without standing in line
            async with self._database.reading() as connection:
                now = _State.of((await connection.execute(_ROW)).one(), self._clock.now(), 0)
            self._check(now.wait(ceiling, cost), deadline)
        await self._stand_in_line(priority, deadline)
        try:
            while (wait := await self._try(ceiling, cost)).seconds > 0:
                self._check(wait, deadline)
                self._awaited[priority] = True
                await self._clock.sleep(wait.seconds + random.uniform(0, 0.05))  # so that nodes do not wake together
        finally:
            self._awaited[priority] = False
            self._locks[priority].release()

    def _check(self, wait: "_Wait", deadline: float) -> None:
        if self._clock.monotonic() + wait.seconds > deadline:
            raise BudgetSpent(wait.seconds, wait.throttled)

    async def _stand_in_line(self, priority: RequestPriority, deadline: float) -> None:
        """Come to the head of those of this process who wait for a place: who came first gets the next one."""
        left = max(0.1, deadline - self._clock.monotonic())
        try:
            async with asyncio.timeout(left):
                await self._locks[priority].acquire()
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

    async def _try(self, ceiling: int, cost: int) -> "_Wait":
        """Take a place now, or tell how long to wait for one."""
        async with self._database.transaction() as connection:
            row = (await connection.execute(_LOCK[self._database.kind])).one()
            state = _State.of(row, self._clock.now(), round(self._jumps.since_last_look()))
            wait = state.wait(ceiling, cost)
            if wait.seconds <= 0:
                state.spend(cost)
            if wait.seconds <= 0 or state.is_put_right:
                values = {"spent": json.dumps(state.spent), "until": state.paused_until}
                await connection.execute(_SPEND, values)
            return wait


@dataclass(frozen=True, slots=True)
class _Wait:
    """Seconds until another try for a place makes sense, 0 for now; whether the register throttles us."""

    seconds: float = 0.0
    throttled: bool = False


@dataclass(slots=True)
class _State:
    """The row of the budget at an instant: requests sent by second, the end of a pause."""

    now: float
    spent: dict[int, int]
    paused_until: int
    is_put_right: bool

    @classmethod
    def of(cls, row: Row[Any], now: float, jump: int) -> "_State":
        """What the row says, put right where the clock was put forward or back (`jump` seconds)."""
        noted = {int(at): number for at, number in json.loads(row.spent).items()}
        spent, paused_until = _put_right(noted, now=math.floor(now), jump=jump), _possible_pause(row.paused_until, now)
        return cls(now, spent, paused_until, spent != noted or paused_until != row.paused_until)

    def wait(self, ceiling: int, cost: int) -> _Wait:
        """How long who needs `cost` places of `ceiling` has to wait."""
        if self.paused_until > self.now:
            return _Wait(self.paused_until - self.now, throttled=True)
        spent = self._spent_lately()
        is_free = sum(spent.values()) + cost <= ceiling
        return _Wait() if is_free else _Wait(_seconds_until_free(spent, ceiling - cost, self.now))

    def spend(self, cost: int) -> None:
        """Take places; what is older than the window is forgotten."""
        second, self.spent = math.floor(self.now), self._spent_lately()
        self.spent[second] = self.spent.get(second, 0) + cost

    def _spent_lately(self) -> dict[int, int]:
        return {at: number for at, number in self.spent.items() if at >= math.floor(self.now) - WINDOW_SECONDS}


def _possible_pause(paused_until: int, now: float) -> int:
    """The end of a pause; none where no pause can be so long, since the clock was put back."""
    return paused_until if paused_until <= now + MAX_TOLD_PAUSE_SECONDS + CLOCK_DIFFERENCE_SECONDS else 0


def _put_right(spent: dict[int, int], *, now: int, jump: int) -> dict[int, int]:
    """The seconds at which requests were sent, as the clock counts them since it was put forward or back by `jump`.

    Where it was put back before this process looked, the last of them counts as sent now: none was sent later.
    """
    if jump > 0:
        put_at = now - jump
        spent = _moved(spent, jump, lambda at: put_at - WINDOW_SECONDS <= at <= put_at)
    elif jump < 0:
        spent = _moved(spent, jump, lambda at: at > now + 1)
    latest = max(spent, default=now)
    return _moved(spent, now - latest, lambda at: at >= now - WINDOW_SECONDS) if latest > now + 2 else spent


def _moved(spent: dict[int, int], seconds: int, is_moved: Callable[[int], bool]) -> dict[int, int]:
    moved: dict[int, int] = {}
    for at, number in spent.items():
        then = at + seconds if is_moved(at) else at
        moved[then] = moved.get(then, 0) + number
    return moved


def _seconds_until_free(spent: dict[int, int], allowed: int, now: float) -> float:
    """Seconds until so many of the counted requests are over a minute old that at most `allowed` remain."""
    remaining = sum(spent.values())
    for second in sorted(spent):
        remaining -= spent[second]
        if remaining <= allowed:
            return max(0.01, second + WINDOW_SECONDS + 1 - now)
    return float(WINDOW_SECONDS)


_ROW = text("SELECT spent, paused_until, throttled FROM register_budget WHERE id = 1")
_ROW_UNLOCKED = text("SELECT throttled FROM register_budget WHERE id = 1")
_LOCK = {
    "sqlite": _ROW,
    "postgresql": text("SELECT spent, paused_until, throttled FROM register_budget WHERE id = 1 FOR UPDATE"),
}
_SPEND = text("UPDATE register_budget SET spent = :spent, paused_until = :until WHERE id = 1")
_PAUSE = text("UPDATE register_budget SET paused_until = :until, throttled = :throttled WHERE id = 1")
_CALM = text("UPDATE register_budget SET throttled = 0 WHERE id = 1 AND throttled > 0")
