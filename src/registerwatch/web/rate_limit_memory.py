"""Counting requests: how many of one address came in the last so many seconds."""

import math
from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Protocol

from registerwatch.clock import Clock

MAX_ADDRESSES = 200_000
"""Addresses that this process remembers for one allowance, some 50 MB; beyond it the longest unseen is forgotten."""

FORGOTTEN_AT_ONCE = 1_000
"""Most addresses of one allowance that one request forgets, so that no request pays for all of them."""


@dataclass(frozen=True, slots=True)
class RateLimitRule:
    """At most `amount` requests of one address within any `seconds`. `name` tells it from others."""

    name: str
    amount: int
    seconds: int


@dataclass(frozen=True, slots=True)
class RateLimitUsage:
    """How much an address has used of an allowance after a request, which was `allowed` or one too many.

    `remaining` requests are left now; in `reset` whole seconds, at least 1, the oldest one counted counts no longer.
    """

    allowance: RateLimitRule
    allowed: bool
    remaining: int
    reset: int


class RateCounter(Protocol):
    """Counts requests by allowance and address. What is refused is not counted."""

    async def hit(self, allowance: RateLimitRule, address: str) -> RateLimitUsage:
        """Count a request, if it is allowed."""

    async def aclose(self) -> None:
        """Give connections back."""


class MemoryRateCounter:
    """Counts of this process alone: the times of each address's requests.

    Per allowance, addresses are in the order of their last counted request, so the ones to forget are in front: every
    request forgets what is over of every allowance. An address with one request takes about 240 bytes, each more
    request 32.
    """

    def __init__(self, clock: Clock, most_addresses: int = MAX_ADDRESSES) -> None:
        self._clock = clock
        self._most_addresses = most_addresses
        self._counted: dict[RateLimitRule, OrderedDict[str, list[float]]] = {}

    @property
    def addresses(self) -> int:
        """How many counts are remembered, an address once for each allowance."""
        return sum(map(len, self._counted.values()))

    async def hit(self, allowance: RateLimitRule, address: str) -> RateLimitUsage:
        """Count a request, if it is allowed."""
        now = self._clock.now()
        self._forget(now)
        counted = self._counted.setdefault(allowance, OrderedDict())
        times = counted.get(address, [])
        if times and times[-1] > now:
            times.clear()  # the clock was set back
        del times[: bisect_right(times, now - allowance.seconds)]
        allowed = len(times) < allowance.amount
        if allowed:
            times.append(now)
            counted[address] = times
            counted.move_to_end(address)
        return usage_of(allowance, allowed, len(times), times[0] + allowance.seconds - now)

    async def aclose(self) -> None:
        """There is nothing to give back."""

    def _forget(self, now: float) -> None:
        for allowance, counted in self._counted.items():
            for address in _leading(counted, now - allowance.seconds):
                del counted[address]
            while len(counted) > self._most_addresses:
                counted.popitem(last=False)


def _leading(counted: OrderedDict[str, list[float]], over: float) -> list[str]:
    """The addresses in front whose last request was at `over` or earlier."""
    oldest = islice(counted.items(), FORGOTTEN_AT_ONCE)
    return [address for address, _ in takewhile(lambda entry: entry[1][-1] <= over, oldest)]


def usage_of(allowance: RateLimitRule, allowed: bool, counted: int, seconds_left: float) -> RateLimitUsage:
    """The usage when `counted` requests count and the oldest does so for `seconds_left` more."""
    reset = min(allowance.seconds, max(1, math.ceil(seconds_left)))
    remaining = max(0, allowance.amount - counted) if allowed else 0
    return RateLimitUsage(allowance, allowed, remaining, reset)
