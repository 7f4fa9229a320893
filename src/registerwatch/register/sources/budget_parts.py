"""The parts of the request budget: which kind of request may take the next place. Pure, with the time passed in.

Each kind of request has a guaranteed part of the places of a minute. What other kinds leave unused it may borrow:

- A request within its kind's part leaves free what is due to the kinds that were asking before its own began to ask.
  What is due to a kind is the rest of its part.
- A request beyond its kind's part leaves free what is due to every kind that asked within the last minute, and some
  places for whoever comes next: the later its kind is in the order of borrowing, the more.
- Readers borrow nothing from watches either, as long as a read for a watch was asked for within the last hour.

So a kind that has been asking for a minute never waits for a place of its part, whatever the others do: all places that
are taken then were taken while its part was kept free. `tests/register/sources/test_budget_parts.py` proves it.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

import msgspec

from registerwatch.clock import CLOCK_DIFFERENCE_SECONDS

WINDOW_SECONDS = 60
ASKING_SECONDS = 65
"""A kind is asking for so long after a request of it asked for a place. Nobody waits longer before asking again."""
KEPT_SECONDS = 3600
"""So long after a read for a watch readers borrow nothing from watches: more than from one recheck to the next."""


class RequestPriority(Enum):
    """What a request is for. A read for an earlier kind replaces one of the same subject for a later kind."""

    WATCH = "watch"
    """A new watch, a sync: an account waits for the answer."""
    RECHECK = "recheck"
    """The recheck of watches."""
    SWEEP = "sweep"
    """Listings that cover many watches, and what they show to have changed."""
    READER = "reader"
    """Somebody without an account waits for the answer: a read-through, a refresh that was asked for."""
    REFRESH = "refresh"
    """A stored record is brought up to date behind the reader's back."""
    BULK_LOAD = "bulk_load"
    """Filling the copy."""

    def is_before(self, other: "RequestPriority") -> bool:
        """Whether it is an earlier kind."""
        return _ORDER[self] < _ORDER[other]


_ORDER = {priority: place for place, priority in enumerate(RequestPriority)}


class Share(msgspec.Struct, frozen=True):
    """A kind's guaranteed part of the budget, and up to which sum of all requests it borrows, both in percent."""

    part: int
    borrows_up_to: int


SHARES: Mapping[RequestPriority, Share] = {
    RequestPriority.WATCH: Share(30, 100),
    RequestPriority.RECHECK: Share(20, 80),
    RequestPriority.SWEEP: Share(20, 75),
    RequestPriority.BULK_LOAD: Share(15, 60),
    RequestPriority.READER: Share(12, 90),
    RequestPriority.REFRESH: Share(3, 60),
}
OF_WATCHES = frozenset({RequestPriority.WATCH, RequestPriority.RECHECK, RequestPriority.SWEEP})
_ASKED_SELDOM = frozenset({RequestPriority.WATCH, RequestPriority.RECHECK})
"""Kinds of watches that may not have asked for minutes; sweeps ask all the time."""
OF_READERS = frozenset({RequestPriority.READER, RequestPriority.REFRESH})


def places(per_minute: int) -> dict[RequestPriority, int]:
    """The guaranteed part of each kind, in places a minute. What rounding leaves is of new watches and syncs."""
    parts = {priority: per_minute * share.part // 100 for priority, share in SHARES.items()}
    parts[RequestPriority.WATCH] += per_minute - sum(parts.values())
    return parts


class Demand(msgspec.Struct, frozen=True):
    """When a kind last asked for a place, and since when it has been asking without a break (unix seconds)."""

    since: int
    last: int


Sent = dict[int, Counter[RequestPriority | None]]
"""Places that were taken in each second, by kind; None where a node of the release before took them."""


@dataclass(slots=True)
class BudgetWindow:
    """What was sent within the last minute, and who asked for places."""

    per_minute: int
    sent: Sent
    asking: dict[RequestPriority, Demand]

    def ask(self, priority: RequestPriority, now: float) -> bool:
        """Note that somebody asks for a place; whether that is news."""
        second, known = math.floor(now), self.asking.get(priority)
        goes_on = known is not None and _is_within(known, second, ASKING_SECONDS)
        asking = Demand(known.since if known and goes_on else second, second)
        self.asking[priority] = asking
        return asking != known

    def take(self, priority: RequestPriority, cost: int, now: float) -> None:
        """Take places; what is older than the window is forgotten."""
        second = math.floor(now)
        self.sent = {at: counts for at, counts in self.sent.items() if at >= second - WINDOW_SECONDS}
        self.sent.setdefault(second, Counter())[priority] += cost

    def permits(self, priority: RequestPriority, cost: int, at: float) -> bool:
        """Whether a request of this kind may be sent at an instant, if none is sent before."""
        second = math.floor(at)
        spent = self._spent(second)
        whole, parts = max(self.per_minute, cost), places(self.per_minute)
        if spent.total() + cost > whole:
            return False
        if spent[priority] == 0 or spent[priority] + cost <= parts[priority]:
            due = _due(parts, spent, self._earlier(priority, second))
            return spent.total() + cost + due <= whole
        ceiling = max(cost, self.per_minute * SHARES[priority].borrows_up_to // 100)
        return spent.total() + cost + _due(parts, spent, self._others(priority, second)) <= ceiling

    def seconds_until(self, priority: RequestPriority, cost: int, now: float) -> float:
        """Seconds until a request of this kind may be sent, 0 for now. The less time is left, the fewer are in its way,
        so the first instant that permits it is found by halves.
        """
        if self.permits(priority, cost, now):
            return 0.0
        instants = sorted(at for at in set(self._instants()) if at > now)
        found = bisect_left(instants, True, key=lambda at: self.permits(priority, cost, at))
        return max(0.01, instants[found] - now) if found < len(instants) else float(WINDOW_SECONDS)

    def _instants(self) -> Iterable[int]:
        """When places come free, or are kept for somebody no longer."""
        yield from (second + WINDOW_SECONDS + 1 for second in self.sent)
        for asking in self.asking.values():
            yield from (asking.last + ASKING_SECONDS + 1, asking.last + KEPT_SECONDS + 1)

    def _spent(self, second: int) -> Counter[RequestPriority | None]:
        """Places that are taken at a second, by kind."""
        spent: Counter[RequestPriority | None] = Counter()
        for at, counts in self.sent.items():
            if at >= second - WINDOW_SECONDS:
                spent.update(counts)
        return spent

    def _earlier(self, priority: RequestPriority, second: int) -> list[RequestPriority]:
        """The kinds that were asking before this one began to."""
        own = self.asking.get(priority)
        since = own.since if own is not None else second
        return [
            other
            for other, asking in self.asking.items()
            if asking.since < since and _is_within(asking, second, ASKING_SECONDS)
        ]

    def _others(self, priority: RequestPriority, second: int) -> set[RequestPriority]:
        """The kinds from which this one borrows nothing."""
        kept = {other for other, asking in self.asking.items() if _is_within(asking, second, ASKING_SECONDS)}
        if priority in OF_READERS and any(
            _is_within(asking, second, KEPT_SECONDS) for other, asking in self.asking.items() if other in _ASKED_SELDOM
        ):
            kept |= _ASKED_SELDOM
        return kept - {priority}


def _is_within(asking: Demand, second: int, seconds: int) -> bool:
    """Whether it asked so lately. What lies ahead is of before the clock was put back."""
    return second - seconds <= asking.last <= second + CLOCK_DIFFERENCE_SECONDS


def _due(
    parts: Mapping[RequestPriority, int],
    spent: Mapping[RequestPriority | None, int],
    others: Iterable[RequestPriority],
) -> int:
    """What is still due to some kinds of their parts."""
    return sum(max(0, parts[other] - spent.get(other, 0)) for other in others)
