"""Rate limits in the memory of one process, and the types that all counters share."""

import math
from bisect import bisect_right
from collections import OrderedDict
from itertools import islice, takewhile
from typing import Protocol

import msgspec

from registerwatch.platform.clock import Clock

MAX_ADDRESSES = 200_000
"""Addresses that are counted for one rule, some 50 MB. Beyond it the least recent address is dropped."""

MAX_DROPPED_AT_ONCE = 1_000
"""Addresses of one rule that one request drops at most, so that it stays quick."""


class RateLimitRule(msgspec.Struct, frozen=True):
    """At most `amount` requests of one address within any `seconds`. `name` identifies it."""

    name: str
    amount: int
    seconds: int


class RateLimitUsage(msgspec.Struct, frozen=True):
    """The use of a rule by an address after a request, which was `allowed` or one too many.

    `remaining` requests are left now; in `reset` whole seconds, at least 1, the oldest counted one leaves the window.
    """

    rule: RateLimitRule
    allowed: bool
    remaining: int
    reset: int


class RateCounter(Protocol):
    """Counts requests by rule and address. Refused requests are not counted."""

    async def hit(self, rule: RateLimitRule, address: str) -> RateLimitUsage:
        """Count a request, if it is allowed."""

    async def aclose(self) -> None:
        """Close the connections."""


class MemoryRateCounter:
    """Counts for this process alone, by the times of each address's requests.

    The addresses of a rule are in the order of their last counted request, so the expired ones come first: every
    request drops them, for every rule. An address with one request takes about 240 bytes, each further request 32.
    """

    def __init__(self, clock: Clock, max_addresses: int = MAX_ADDRESSES) -> None:
        self._clock = clock
        self._max_addresses = max_addresses
        self._counted: dict[RateLimitRule, OrderedDict[str, list[float]]] = {}

    @property
    def addresses(self) -> int:
        """How many counts are kept, an address once for each rule."""
        return sum(map(len, self._counted.values()))

    async def hit(self, rule: RateLimitRule, address: str) -> RateLimitUsage:
        """Count a request, if it is allowed."""
        now = self._clock.now()
        self._drop_expired(now)
        counted = self._counted.setdefault(rule, OrderedDict())
        times = counted.get(address, [])
        if times and times[-1] > now:
            times.clear()  # the clock was set back
        del times[: bisect_right(times, now - rule.seconds)]
        allowed = len(times) < rule.amount
        if allowed:
            times.append(now)
            counted[address] = times
            counted.move_to_end(address)
        return usage_of(rule, allowed, len(times), times[0] + rule.seconds - now)

    async def aclose(self) -> None:
        """Do nothing."""

    def _drop_expired(self, now: float) -> None:
        for rule, counted in self._counted.items():
            for address in _expired(counted, now - rule.seconds):
                del counted[address]
            while len(counted) > self._max_addresses:
                counted.popitem(last=False)


def _expired(counted: OrderedDict[str, list[float]], until: float) -> list[str]:
    """The addresses at the front whose last request was at `until` or earlier."""
    oldest = islice(counted.items(), MAX_DROPPED_AT_ONCE)
    return [address for address, _ in takewhile(lambda entry: entry[1][-1] <= until, oldest)]


def usage_of(rule: RateLimitRule, allowed: bool, counted: int, seconds_left: float) -> RateLimitUsage:
    """The usage with `counted` requests, the oldest of which counts for `seconds_left` more."""
    reset = min(rule.seconds, max(1, math.ceil(seconds_left)))
    remaining = max(0, rule.amount - counted) if allowed else 0
    return RateLimitUsage(rule, allowed, remaining, reset)
