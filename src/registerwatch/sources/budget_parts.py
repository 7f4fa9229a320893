"""The parts of the request budget: which kind of request may take the next slot. Pure, with the time passed in.

Each kind of request has a guaranteed part of a minute's slots, in whole slots. It may borrow slots that other kinds
leave unused:

- A request within its kind's part leaves free what is due to the kinds that were asking before its own began to ask.
  What is due to a kind is the rest of its part.
- A request beyond its kind's part leaves free what is due to every kind that asked within the last minute. It also
  leaves some slots for the next requests: the later its kind is in the order of borrowing, the more.
- Readers borrow nothing from watches for an hour after a read for a watch was asked for.
- A kind whose part of a minute is less than one request saves its part up. When its part has grown to a request since
  the kind was last served, the slots of one are due to it, out of those that rounding to whole slots leaves over. So no
  kind starves, however few the slots are.

A kind that has been asking for a minute therefore never waits for a slot of its part, whatever the others do: all slots
that are taken then were taken while its part was kept free. `tests/sources/test_budget_parts.py` proves it.
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
"""A kind counts as asking for this long after it asked for a slot. No request waits longer before it asks again."""
KEPT_SECONDS = 3600
"""Readers borrow nothing from watches for this long after a read for a watch: longer than between two rechecks."""


class RequestPriority(Enum):
    """The purpose of a request. A read for an earlier kind replaces one of the same subject for a later kind."""

    WATCH = "watch"
    """A new watch, a sync: an account waits for the answer."""
    RECHECK = "recheck"
    """The recheck of watches."""
    SWEEP = "sweep"
    """Listings that cover many watches, and reads of what they show."""
    READER = "reader"
    """A client without an account waits for the answer: a read-through or a requested refresh."""
    REFRESH = "refresh"
    """A background refresh of a record that was served as stored."""
    BULK_LOAD = "bulk_load"
    """Filling the copy."""

    def is_before(self, other: "RequestPriority") -> bool:
        """Whether this kind comes first."""
        return _ORDER[self] < _ORDER[other]


_ORDER = {priority: position for position, priority in enumerate(RequestPriority)}


class Share(msgspec.Struct, frozen=True):
    """A kind's guaranteed part of the budget, and the total use up to which it borrows, both in percent."""

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
"""Kinds for watches that may not ask for minutes; sweeps ask all the time."""
OF_READERS = frozenset({RequestPriority.READER, RequestPriority.REFRESH})


BULK_LOADS_ALONE: Mapping[RequestPriority, Share] = {RequestPriority.BULK_LOAD: Share(100, 100)}
"""The shares of a host that only bulk loads read."""


MAX_COST = 2
"""The most slots that a request takes."""


def guaranteed(per_minute: int, shares: Mapping[RequestPriority, Share] = SHARES) -> dict[RequestPriority, int]:
    """The guaranteed part of each kind, in whole slots a minute.

    The parts leave enough slots for a request of the smallest kind that has saved its part up. Where rounding does not
    leave enough, the largest part is reduced.
    """
    parts = {priority: per_minute * share.part // 100 for priority, share in shares.items()}
    left, needed = per_minute - sum(parts.values()), MAX_COST - min(parts.values())
    largest = _largest(shares)
    parts[largest] = max(0, parts[largest] - max(0, needed - left))
    return parts


def _largest(shares: Mapping[RequestPriority, Share]) -> RequestPriority:
    return max(shares, key=lambda priority: shares[priority].part)


class Demand(msgspec.Struct, frozen=True):
    """A kind's demand. Instants are unix seconds."""

    since: int
    """Since when it asks without a break."""
    last: int
    """When it last asked."""
    cost: int = 1
    """The most slots that one of its requests has needed since it was last served."""
    served: int = 0
    """When it last got a slot, 0 for never."""


Sent = dict[int, Counter[RequestPriority]]
"""Slots that were taken in each second, by kind."""
Saved = Sequence[tuple[RequestPriority, int]]
"""Slots that kinds have saved up, in order of service."""


@dataclass(slots=True)
class BudgetWindow:
    """The requests of the last minute, and the kinds that asked for slots."""

    per_minute: int
    sent: Sent
    asking: dict[RequestPriority, Demand]
    shares: Mapping[RequestPriority, Share] = field(default_factory=lambda: SHARES)

    def ask(self, priority: RequestPriority, cost: int, now: float) -> bool:
        """Note that a request of this kind asks for slots; whether that is news."""
        second, known = math.floor(now), self.asking.get(priority)
        if known is None or not _is_within(known, second, ASKING_SECONDS):
            asking = Demand(second, second, cost, 0 if known is None else known.served)
        else:
            asking = replace(known, last=second, cost=max(cost, known.cost))
        self.asking[priority] = asking
        return asking != known

    def take(self, priority: RequestPriority, cost: int, now: float) -> None:
        """Take slots, and forget those older than the window."""
        second = math.floor(now)
        self.sent = {at: counts for at, counts in self.sent.items() if at >= second - WINDOW_SECONDS}
        self.sent.setdefault(second, Counter())[priority] += cost
        self.asking[priority] = replace(self.asking.get(priority, Demand(second, second)), cost=1, served=second)

    def saved(self, now: float) -> list[tuple[RequestPriority, int]]:
        """The kinds that have saved up the slots of a request that is larger than their part of a minute, with these
        slots. The kind that has had them for longest comes first.
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
        """Whether a request of this kind gets its slots at an instant, if no other request is sent before. `saved` are
        the slots that kinds have saved up now.
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
        """Seconds until a request of this kind gets its slots and the spread over the minute lets it leave; 0 for now.
        `ASKING_SECONDS` at most: after that the request asks again.
        """
        saved = self.saved(now)

        def may_leave(at: float) -> bool:
            return self.permits(priority, cost, at, saved) and self._spread_wait(priority, cost, at, saved) <= 0

        if may_leave(now):
            return 0.0
        waits = self._spread_wait(priority, cost, now, saved), self._wait_of_burst(burst_of(self.per_minute), cost, now)
        return min(max(0.01, self._first(may_leave, now, waits)), ASKING_SECONDS)

    def seconds_until_slots(self, priority: RequestPriority, cost: int, now: float) -> float:
        """Seconds until a request of this kind gets its slots."""
        saved = self.saved(now)

        def has_slots(at: float) -> bool:
            return self.permits(priority, cost, at, saved)

        return 0.0 if has_slots(now) else self._first(has_slots, now)

    def _first(self, permits: Callable[[float], bool], now: float, waits: Iterable[float] = ()) -> float:
        """Seconds until the first instant that permits a request. A later instant never permits less, so a binary
        search finds it.
        """
        instants = sorted(at for at in {*self._instants(), *(now + wait for wait in waits)} if at > now)
        found = bisect_left(instants, True, key=permits)
        return instants[found] - now if found < len(instants) else float(WINDOW_SECONDS)

    def _spread_wait(self, priority: RequestPriority, cost: int, at: float, saved: Saved) -> float:
        """Seconds until the spread over the minute lets a request leave.

        A request within its kind's part may use the whole burst. One that borrows leaves as much of it free as of the
        minute, and at least one request for each other kind that asks.
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
        """The parts, and the slots that are guaranteed to no kind and not taken. Kinds get the slots that they have
        saved up as far as these suffice, the first kind in any case; the largest part gets the others.
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
        """Instants at which slots come free or lapse for a kind."""
        yield from (second + WINDOW_SECONDS + 1 for second in self.sent)
        for asking in self.asking.values():
            yield from (asking.last + ASKING_SECONDS + 1, asking.last + KEPT_SECONDS + 1)

    def _spent(self, second: int) -> Counter[RequestPriority]:
        """Slots that are taken at a second, by kind."""
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
        """Other kinds that ask."""
        return {
            other
            for other, asking in self.asking.items()
            if other is not priority and _is_within(asking, second, ASKING_SECONDS)
        }


def _is_within(asking: Demand, second: int, seconds: int) -> bool:
    """Whether it asked within these seconds. A later instant is of before the clock was put back."""
    return second - seconds <= asking.last <= second + CLOCK_DIFFERENCE_SECONDS


def _due(
    parts: Mapping[RequestPriority, int], spent: Mapping[RequestPriority, int], others: Iterable[RequestPriority]
) -> int:
    """Slots of their parts still due to some kinds."""
    return sum(max(0, parts[other] - spent.get(other, 0)) for other in others)
