"""A register and a service over it in simulated time, which passes only where somebody waits for it.

Requests take their time, the request budget makes them wait, and between two of them the register changes. One thing
is done after the other, so whatever could be done at the same time in a running service is done later here.
"""

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import httpx2

from registerwatch_standins.register.records import BRUSSELS

BEGINS = datetime(2026, 1, 5, 8, tzinfo=BRUSSELS).timestamp()
REQUEST_SECONDS = 0.4
"""What a request to the register takes."""


class SimulatedClock:
    """Time that passes where somebody waits."""

    def __init__(self) -> None:
        self._now = BEGINS

    def now(self) -> float:
        """Unix seconds."""
        return self._now

    def monotonic(self) -> float:
        """Seconds that only go forward."""
        return self._now

    def brussels(self) -> datetime:
        """The register's wall clock."""
        return datetime.fromtimestamp(self._now, BRUSSELS).replace(tzinfo=None)

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds

    def move_to(self, instant: float) -> None:
        """Let time pass until an instant."""
        self._now = max(self._now, instant)

    async def sleep(self, seconds: float) -> None:
        """Wait. Who waits at the same time waits for the same seconds."""
        until = self._now + seconds
        await asyncio.sleep(0)
        self.move_to(until)


class SlowTransport(httpx2.AsyncBaseTransport):
    """The way to the register: what was to happen there until now happens, then the answer takes its time."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, clock: SimulatedClock, catch_up: Callable[[], None]) -> None:
        self._inner, self._clock, self._catch_up = inner, clock, catch_up
        self.requests = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Carry one request."""
        self.requests += 1
        self._catch_up()
        response = await self._inner.handle_async_request(request)
        self._clock.move(REQUEST_SECONDS)
        return response


@dataclass(order=True)
class Activity:
    """What is done again and again: when it is due, and what it is; it tells in how many seconds it is due again."""

    due_at: float
    place: int
    act: Callable[[], Awaitable[float]] = field(compare=False)


async def let_pass(clock: SimulatedClock, until: float, activities: Sequence[Callable[[], Awaitable[float]]]) -> None:
    """Let time pass. All activities are due at the beginning; what is due first is done first."""
    places = itertools.count()
    waiting = [Activity(clock.now(), next(places), act) for act in activities]
    heapq.heapify(waiting)
    while waiting and waiting[0].due_at < until:
        activity = heapq.heappop(waiting)
        clock.move_to(activity.due_at)
        pause = await activity.act()
        activity.due_at, activity.place = clock.now() + pause, next(places)
        heapq.heappush(waiting, activity)
    clock.move_to(until)
