"""Hours of the request budget at a host that tolerates fewer requests a minute than the pace may rise to.

`python -m tests.sources.throttling_hours` prints the table of `docs/scaling.md`.
"""

import asyncio
import tempfile
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import msgspec

from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.migrate import upgrade
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.request_budget import BudgetSpent, RequestBudget
from registerwatch.sources.request_pace import PaceLimits
from tests.support.fakes import SteppedClock

BEGIN, HOUR = 1_800_000_000.25, 3_600.0
AT_ONCE = 8
"""Requests that are under way when the first of them is answered."""


class StrictHost:
    """Answers so many requests in any 60 seconds, and throttles the others; whether it counts those, too."""

    def __init__(self, tolerated: int, *, counts_throttled: bool) -> None:
        self._tolerated, self._counts_throttled = tolerated, counts_throttled
        self._counted: deque[float] = deque()

    def answers(self, now: float) -> bool:
        """Whether it answers a request."""
        while self._counted and self._counted[0] <= now - 60:
            self._counted.popleft()
        is_answered = len(self._counted) < self._tolerated
        if is_answered or self._counts_throttled:
            self._counted.append(now)
        return is_answered


class Outcome(msgspec.Struct, frozen=True):
    """When requests were answered, when they were throttled, and the pace once a minute."""

    answered: Sequence[float]
    throttled: Sequence[float]
    paces: Sequence[int]

    def throttled_share(self, since: float) -> float:
        """The share of throttled requests from an instant on."""
        throttled = sum(at >= since for at in self.throttled)
        return throttled / max(1, throttled + sum(at >= since for at in self.answered))

    def answered_per_minute(self, since: float, until: float) -> float:
        """Answers a minute from an instant to the end."""
        return sum(at >= since for at in self.answered) * 60 / (until - since)


async def ask_all_the_time(
    budgets: Sequence[RequestBudget], clock: SteppedClock, host: StrictHost, seconds: float
) -> Outcome:
    """Processes that always have requests to send, for so many seconds; instants count from the beginning."""
    begin, answered, throttled, paces = clock.now(), list[float](), list[float](), list[int]()
    while (now := clock.now() - begin) < seconds:
        if now >= 60 * len(paces):
            paces.append((await budgets[0].pace()).per_minute)
        sent, wait = 0, 0.5
        try:
            while sent < AT_ONCE:
                await budgets[sent % len(budgets)].take(RequestPriority.WATCH, deadline=clock.monotonic())
                sent += 1
        except BudgetSpent as spent:
            wait = max(wait, spent.wait)
        for number in range(sent):
            if host.answers(clock.now()):
                answered.append(now)
                await budgets[number % len(budgets)].answered()
            else:
                throttled.append(now)
                await budgets[number % len(budgets)].throttled(None)
        clock.move(wait)
    return Outcome(answered, throttled, paces)


async def _simulated(tolerated: int, *, counts_throttled: bool) -> Outcome:
    clock = SteppedClock(BEGIN)
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder) / 'hours.db'}")
        await upgrade(database)
        budgets = [RequestBudget(database, PaceLimits(60), clock) for _ in range(2)]
        host = StrictHost(tolerated, counts_throttled=counts_throttled)
        outcome = await ask_all_the_time(budgets, clock, host, 4 * HOUR)
        await database.close()
    return outcome


def main() -> None:
    """Simulate hosts of several patience, print the table."""
    print("| tolerated a minute | it counts what it throttles | answered a minute | throttled | pace, least to most |")
    for tolerated in (5, 10, 20, 40, 57, 80):
        for counts_throttled in (False, True):
            outcome = asyncio.run(_simulated(tolerated, counts_throttled=counts_throttled))
            late = outcome.paces[60:]
            cells = [
                tolerated,
                "yes" if counts_throttled else "no",
                f"{outcome.answered_per_minute(HOUR, 4 * HOUR):.1f}",
                f"{100 * outcome.throttled_share(HOUR):.1f} %",
                f"{min(late)} to {max(late)}",
            ]
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
