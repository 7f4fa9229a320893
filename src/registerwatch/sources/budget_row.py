"""A host's row in `request_budgets`: requests sent, kinds that ask, the pause and the pace.

`BudgetState` is the row at an instant, corrected where the clock was put forward or back. It decides without SQL.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec
from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.platform.clock import CLOCK_DIFFERENCE_SECONDS, Clock
from registerwatch.sources.budget_parts import (
    BULK_LOADS_ALONE,
    SHARES,
    BudgetWindow,
    Demand,
    RequestPriority,
    Sent,
    Share,
)
from registerwatch.sources.request_pace import WINDOW_SECONDS, PaceLimits, RequestPace

FIRST_PAUSE_SECONDS = 5
MAX_PAUSE_SECONDS = 60
MAX_RETRY_AFTER_SECONDS = 600
"""The longest pause that the host may ask for."""


class Host(StrEnum):
    """A host that records are read from. Each has a budget of its own."""

    REGISTER = "register"
    """EUDAMED's JSON interface."""
    DATA_LAKE = "data_lake"


SHARES_OF: Mapping[Host, Mapping[RequestPriority, Share]] = {
    Host.REGISTER: SHARES,
    Host.DATA_LAKE: BULK_LOADS_ALONE,
}


class Wait(msgspec.Struct, frozen=True):
    """Seconds until another try for a slot, 0 for now; whether the host throttles us."""

    seconds: float = 0.0
    throttled: bool = False


@dataclass(slots=True)
class BudgetState:
    """The budget of a host at an instant."""

    now: float
    limits: PaceLimits
    pace: RequestPace
    """The stored pace. A process whose settings allow less keeps within these without changing it."""
    window: BudgetWindow
    paused_until: int
    throttled: int
    """Pauses in a row."""
    is_put_right: bool

    def wait(self, priority: RequestPriority, cost: int) -> Wait:
        """How long a request that needs `cost` slots has to wait."""
        if self.paused_until > self.now:
            return Wait(self.paused_until - self.now, throttled=True)
        return Wait(self.window.seconds_until(priority, cost, self.now))

    def throttle(self, retry_after: float | None) -> None:
        """Pause, and halve the pace. A request that was sent before the pause only adds the host's `Retry-After`."""
        if retry_after is not None:
            seconds = min(retry_after, MAX_RETRY_AFTER_SECONDS)
        elif self.paused_until > self.now:
            seconds = 0.0
        else:
            seconds = min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 4**self.throttled)
        if self.paused_until <= self.now:
            self.throttled = min(self.throttled + 1, 9)
        self.paused_until = max(self.paused_until, math.ceil(self.now + seconds))
        self.pace = self.pace.within(self.limits).after_throttling(self.limits, self.now)

    def answer(self) -> bool:
        """Start pauses short again, raise the pace after a quiet minute. Whether that changes anything."""
        before = self.throttled, self.pace
        self.throttled, self.pace = 0, self.pace.after_answer(self.limits, self.now)
        return before != (self.throttled, self.pace)


async def read_state(connection: AsyncConnection, host: Host, limits: PaceLimits, clock: Clock) -> BudgetState:
    """The stored budget of a host."""
    row = (await connection.execute(_READ, {"host": host.value})).one()
    return _state_of(row, host, limits, clock.now(), 0)


async def lock_state(
    connection: AsyncConnection, host: Host, limits: PaceLimits, clock: Clock, jump: int = 0
) -> BudgetState:
    """The stored budget, locked for a transaction. The clock was put forward or back by `jump` seconds."""
    statement = _LOCK if connection.dialect.name == "postgresql" else _READ  # SQLite has locked everything
    row = (await connection.execute(statement, {"host": host.value})).one()
    return _state_of(row, host, limits, clock.now(), jump)


async def write_slots(connection: AsyncConnection, host: Host, state: BudgetState) -> None:
    """Store the requests, the asking kinds and the pace of a locked budget."""
    sent: dict[str, dict[int, int]] = {}
    for second, counts in state.window.sent.items():
        for priority, number in counts.items():
            sent.setdefault(priority.value, {})[second] = number
    asking = {priority.value: each for priority, each in state.window.asking.items()}
    values = {"sent": json.dumps(sent), "asking": msgspec.json.encode(asking).decode()}
    await connection.execute(_WRITE_SLOTS, {**values, **_pace_values(host, state)})


async def write_pace(connection: AsyncConnection, host: Host, state: BudgetState) -> None:
    """Store the pace and the pause of a budget that is locked."""
    await connection.execute(_WRITE_PACE, _pace_values(host, state))


def _pace_values(host: Host, state: BudgetState) -> dict[str, Any]:
    return {
        "host": host.value,
        "paused_until": state.paused_until,
        "throttled": state.throttled,
        "pace": state.pace.per_minute,
        "quiet_since": state.pace.quiet_since,
        "halved_at": state.pace.halved_at,
    }


def _state_of(row: Row[Any], host: Host, limits: PaceLimits, now: float, jump: int) -> BudgetState:
    """The state in a row, corrected where the clock was put forward or back (`jump` seconds)."""
    noted = _sent_of(json.loads(row.sent))
    sent, paused_until = _put_right(noted, now=math.floor(now), jump=jump), _possible_pause(row.paused_until, now)
    pace = RequestPace.first(limits, now)
    if row.pace is not None:
        pace = RequestPace(row.pace, row.quiet_since, row.halved_at)
    return BudgetState(
        now=now,
        limits=limits,
        pace=pace,
        window=BudgetWindow(pace.within(limits).per_minute, sent, _asking_of(row.asking), SHARES_OF[host]),
        paused_until=paused_until,
        throttled=row.throttled,
        is_put_right=sent != noted or paused_until != row.paused_until,
    )


def _sent_of(by_kind: Mapping[str, Mapping[str, int]]) -> Sent:
    """Requests sent per second, by kind."""
    sent: Sent = {}
    for name, numbers in by_kind.items():
        for second, number in numbers.items():
            sent.setdefault(int(second), Counter())[RequestPriority(name)] += number
    return sent


def _asking_of(stored: str) -> dict[RequestPriority, Demand]:
    return {RequestPriority(name): each for name, each in _demands.decode(stored).items()}


_demands = msgspec.json.Decoder(dict[str, Demand])


def _possible_pause(paused_until: int, now: float) -> int:
    """The end of a pause; 0 for an impossibly long one, since the clock was put back."""
    return paused_until if paused_until <= now + MAX_RETRY_AFTER_SECONDS + CLOCK_DIFFERENCE_SECONDS else 0


def _put_right(sent: Sent, *, now: int, jump: int) -> Sent:
    """The seconds at which requests were sent, corrected for a clock that was put forward or back by `jump`.

    Where it was put back before this process looked, the last request counts as sent now: none was sent later.
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


_READ = text(
    "SELECT sent, asking, paused_until, throttled, pace, quiet_since, halved_at FROM request_budgets WHERE host = :host"
)
_LOCK = text(_READ.text + " FOR UPDATE")
_WRITE_SLOTS = text(
    "UPDATE request_budgets SET sent = :sent, asking = :asking, paused_until = :paused_until, pace = :pace,"
    " quiet_since = :quiet_since, halved_at = :halved_at WHERE host = :host"
)
_WRITE_PACE = text(
    "UPDATE request_budgets SET paused_until = :paused_until, throttled = :throttled, pace = :pace,"
    " quiet_since = :quiet_since, halved_at = :halved_at WHERE host = :host"
)
