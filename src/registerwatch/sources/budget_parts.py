"""The parts of the request budget: which kind of request may take the next place. Pure, with the time passed in.

Each kind of request has a guaranteed part of the places of a minute, in whole places. What other kinds leave unused it
may borrow:

- A request within its kind's part leaves free what is due to the kinds that were asking before its own began to ask.
  What is due to a kind is the rest of its part.
- A request beyond its kind's part leaves free what is due to every kind that asked within the last minute, and some
  places for requests that come next: the later its kind is in the order of borrowing, the more.
- Readers borrow nothing from watches either, as long as a read for a watch was asked for within the last hour.
- A kind whose part of a minute is less than its request saves its part up: once that has grown to the request since it
  was last served, so many places are due to it, out of those that rounding to whole places leaves over. So no kind
  starves, however few the places are.

So a kind that has been asking for a minute never waits for a place of its part, whatever the others do: all places that
are taken then were taken while its part was kept free. `tests/sources/test_budget_parts.py` proves it.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import msgspec

from registerwatch.platform.clock import CLOCK_DIFFERENCE_SECONDS
from registerwatch.platform.structs import replace
from registerwatch.sources.request_pace import WINDOW_SECONDS, burst_of, seconds_until_spread

ASKING_SECONDS = 65
"""A kind is asking for so long after a request of it asked for a place. None waits longer before it asks again."""
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


_ORDER = {priority: position for position, priority in enumerate(RequestPriority)}


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


BULK_LOADS_ALONE: Mapping[RequestPriority, Share] = {RequestPriority.BULK_LOAD: Share(100, 100)}
"""The shares of a host that is asked for nothing else."""


MAX_COST = 2
"""The most places that a request counts for."""


def guaranteed(per_minute: int, shares: Mapping[RequestPriority, Share] = SHARES) -> dict[RequestPriority, int]:
    """The guaranteed part of each kind, in whole places a minute.

    They leave enough of the minute for a request of the smallest kind that has saved its part up: what rounding does
    not leave is missing from the largest.
    """
    parts = {priority: per_minute * share.part // 100 for priority, share in shares.items()}
    left, needed = per_minute - sum(parts.values()), MAX_COST - min(parts.values())
    largest = _largest(shares)
    parts[largest] = max(0, parts[largest] - max(0, needed - left))
    return parts


def _largest(shares: Mapping[RequestPriority, Share]) -> RequestPriority:
    return max(shares, key=lambda priority: shares[priority].part)


class Demand(msgspec.Struct, frozen=True):
    """What a kind asks for. Instants are unix seconds."""

    since: int
    """Since when it has been asking without a break."""
    last: int
    """When it last asked."""
    cost: int = 1
    """The most places that one of its requests has needed since it was last served."""
    served: int = 0
    """When it last got a place, 0 for never."""


Sent = dict[int, Counter[RequestPriority]]
"""Places that were taken in each second, by kind."""
Saved = Sequence[tuple[RequestPriority, int]]
"""Places that kinds have saved up, which of them first."""


@dataclass(slots=True)
class BudgetWindow:
    """What was sent within the last minute, and which kinds asked for places."""

    per_minute: int
    sent: Sent
    asking: dict[RequestPriority, Demand]
    shares: Mapping[RequestPriority, Share] = field(default_factory=lambda: SHARES)

    def ask(self, priority: RequestPriority, cost: int, now: float) -> bool:
        """Note that a request of this kind asks for places; whether that is news."""
        second, known = math.floor(now), self.asking.get(priority)
        if known is None or not _is_within(known, second, ASKING_SECONDS):
            asking = Demand(second, second, cost, 0 if known is None else known.served)
        else:
            asking = replace(known, last=second, cost=max(cost, known.cost))
        self.asking[priority] = asking
        return asking != known

    def take(self, priority: RequestPriority, cost: int, now: float) -> None:
        """Take places; what is older than the window is forgotten."""
        second = math.floor(now)
        self.sent = {at: counts for at, counts in self.sent.items() if at >= second - WINDOW_SECONDS}
        self.sent.setdefault(second, Counter())[priority] += cost
        self.asking[priority] = replace(self.asking.get(priority, Demand(second, second)), cost=1, served=second)

    def saved(self, now: float) -> list[tuple[RequestPriority, int]]:
        """The kinds whose part of a minute is less than their request and that have saved the places of one up, with
        these places; the kind that has had them for longest comes first.
        """
        second, parts = math.floor(now), guaranteed(self.per_minute, self.shares)
        found: list[tuple[float, RequestPriority, int]] = []
        for priority, asking in self.asking.items():
            if asking.cost > parts[priority] and _is_within(asking, second, ASKING_SECONDS):
                served = asking.served if asking.served <= second + CLOCK_DIFFERENCE_SECONDS else 0
                since = served + asking.cost * WINDOW_SECONDS * 100 / (self.per_minute * self.shares[priority].part)
                if since <= second:
                    found.append((since, priority, asking.cost))
        return [(priority, cost) for _, priority, cost in sorted(found, key=lambda each: each[0])]

    def permits(self, priority: RequestPriority, cost: int, at: float, saved: Saved) -> bool:
        """Whether a request of this kind has its places at an instant, if none is sent before. `saved` are the places
        that kinds have saved up now.
        """
        second = math.floor(at)
        spent = self._spent(second)
        whole, parts = max(self.per_minute, cost), guaranteed(self.per_minute, self.shares)
        if spent.total() + cost > whole:
            return False
        if spent[priority] + cost <= parts[priority]:
            return spent.total() + cost + _due(parts, spent, self._earlier(priority, second)) <= whole
        parts = self._with_rest(parts, spent, saved)
        borrows = spent[priority] + cost > parts[priority]
        ceiling = max(cost, self.per_minute * self.shares[priority].borrows_up_to // 100) if borrows else whole
        return spent.total() + cost + _due(parts, spent, self._others(priority, second)) <= ceiling

    def seconds_until(self, priority: RequestPriority, cost: int, now: float) -> float:
        """Seconds until a request of this kind may be sent, 0 for now: until it has its places, and requests are spread
        over the minute. For longer than it counts as asking it does not wait: it asks again.
        """
        saved = self.saved(now)

        def may_leave(at: float) -> bool:
            return self.permits(priority, cost, at, saved) and self._spread_wait(priority, cost, at, saved) <= 0

        if may_leave(now):
            return 0.0
        waits = self._spread_wait(priority, cost, now, saved), self._wait_of_burst(burst_of(self.per_minute), cost, now)
        return min(max(0.01, self._first(may_leave, now, waits)), ASKING_SECONDS)

    def seconds_until_slots(self, priority: RequestPriority, cost: int, now: float) -> float:
        """Seconds until a request of this kind has its places."""
        saved = self.saved(now)

        def has_slots(at: float) -> bool:
            return self.permits(priority, cost, at, saved)

        return 0.0 if has_slots(now) else self._first(has_slots, now)

    def _first(self, permits: Callable[[float], bool], now: float, waits: Iterable[float] = ()) -> float:
        """Seconds until the first instant that permits a request. With time, fewer requests are in its way, so it
        is found by halves.
        """
        instants = sorted(at for at in {*self._instants(), *(now + wait for wait in waits)} if at > now)
        found = bisect_left(instants, True, key=permits)
        return instants[found] - now if found < len(instants) else float(WINDOW_SECONDS)

    def _spread_wait(self, priority: RequestPriority, cost: int, at: float, saved: Saved) -> float:
        """Seconds until the spread over the minute lets a request leave.

        Of what may leave at once a request within its kind's part may be the last. One that borrows leaves as much free
        as of the whole, and one for each other kind that asks.
        """
        second, burst = math.floor(at), burst_of(self.per_minute)
        spent = self._spent(second)
        parts = self._with_rest(guaranteed(self.per_minute, self.shares), spent, saved)
        if spent[priority] + cost > parts[priority]:
            others = len(self._asking_others(priority, second))
            burst = max(1, min(burst * self.shares[priority].borrows_up_to // 100, burst - others))
        return self._wait_of_burst(burst, cost, at)

    def _wait_of_burst(self, burst: int, cost: int, at: float) -> float:
        sent = {second: counts.total() for second, counts in self.sent.items()}
        return seconds_until_spread(sent, self.per_minute, burst, cost, at)

    def _with_rest(
        self, parts: Mapping[RequestPriority, int], spent: Mapping[RequestPriority, int], saved: Saved
    ) -> dict[RequestPriority, int]:
        """The parts with the places that are guaranteed to none and were not taken: those that kinds have saved up are
        due to them, as far as they suffice, and to the first in any case; the others are due to the largest.
        """
        given = dict(parts)
        left = self.per_minute - sum(max(part, spent.get(priority, 0)) for priority, part in parts.items())
        for position, (priority, cost) in enumerate(saved):
            more = cost - max(parts[priority], spent.get(priority, 0))
            if position == 0 or more <= left:
                given[priority], left = cost, left - more
        given[_largest(self.shares)] += max(0, left)
        return given

    def _instants(self) -> Iterable[int]:
        """When places come free, or are kept for a kind no longer."""
        yield from (second + WINDOW_SECONDS + 1 for second in self.sent)
        for asking in self.asking.values():
            yield from (asking.last + ASKING_SECONDS + 1, asking.last + KEPT_SECONDS + 1)

    def _spent(self, second: int) -> Counter[RequestPriority]:
        """Places that are taken at a second, by kind."""
        spent: Counter[RequestPriority] = Counter()
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

    def _others(self, priority: RequestPriority, second: int) -> Collection[RequestPriority]:
        """The kinds from which this one borrows nothing."""
        kept = self._asking_others(priority, second)
        if priority in OF_READERS and any(
            _is_within(asking, second, KEPT_SECONDS) for other, asking in self.asking.items() if other in _ASKED_SELDOM
        ):
            kept |= _ASKED_SELDOM
        return kept - {priority}

    def _asking_others(self, priority: RequestPriority, second: int) -> set[RequestPriority]:
        """The other kinds that ask."""
        return {
            other
            for other, asking in self.asking.items()
            if other is not priority and _is_within(asking, second, ASKING_SECONDS)
        }


def _is_within(asking: Demand, second: int, seconds: int) -> bool:
    """Whether it asked so lately. What lies ahead is of before the clock was put back."""
    return second - seconds <= asking.last <= second + CLOCK_DIFFERENCE_SECONDS


def _due(
    parts: Mapping[RequestPriority, int], spent: Mapping[RequestPriority, int], others: Iterable[RequestPriority]
) -> int:
    """What is still due to some kinds of their parts."""
    return sum(max(0, parts[other] - spent.get(other, 0)) for other in others)
