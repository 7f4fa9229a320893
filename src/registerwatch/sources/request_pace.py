"""The pace of requests to a host: its start, what halves and raises it, its spread over a minute.

The pace is the most requests that leave in any 60 seconds. The number that a host tolerates is not documented and
changes. So the pace is halved where the host throttles, and rises a little after each quiet minute. All of it is pure,
with the time passed in; `request_budget.py` stores the pace, which all processes share.
"""

import math
from collections.abc import Mapping

import msgspec

from registerwatch.platform.clock import CLOCK_DIFFERENCE_SECONDS, is_recent
from registerwatch.platform.structs import replace

WINDOW_SECONDS = 60
START_PER_MINUTE = 30
MIN_PER_MINUTE = 3
"""Halving stops here, so that there still are answers after which the pace can rise."""
MIN_STEP = 2
MAX_BURST = 10


class PaceLimits(msgspec.Struct, frozen=True):
    """Requests a minute: the most that the pace of a host may rise to, and where it starts."""

    most: int
    start: int = START_PER_MINUTE

    @property
    def least(self) -> int:
        """The lowest pace."""
        return min(MIN_PER_MINUTE, self.most)

    @property
    def step(self) -> int:
        """The rise after a quiet minute: 2, or more so that the most is reached within half an hour."""
        return max(MIN_STEP, self.most // 30)


class RequestPace(msgspec.Struct, frozen=True):
    """The requests that may leave in a minute, and since when. Instants are unix seconds."""

    per_minute: int
    quiet_since: int
    """Since then the host has not throttled, and the pace has not changed."""
    halved_at: int = 0
    """When it was last halved, 0 for never."""

    @classmethod
    def first(cls, limits: PaceLimits, now: float) -> "RequestPace":
        """The pace of a host to which nothing was sent so far."""
        return cls(min(limits.start, limits.most), math.floor(now))

    def within(self, limits: PaceLimits) -> "RequestPace":
        """The pace, or the limits' most where that is lower."""
        return self if self.per_minute <= limits.most else replace(self, per_minute=limits.most)

    def after_throttling(self, limits: PaceLimits, now: float) -> "RequestPace":
        """The pace after the host throttled a request.

        It is halved once a minute at most: the host also counts requests of the minute before, sent at the old pace.
        """
        second = math.floor(now)
        if is_recent(self.halved_at, now, WINDOW_SECONDS):
            return replace(self, quiet_since=second)
        return RequestPace(max(limits.least, self.per_minute // 2), second, second)

    def after_answer(self, limits: PaceLimits, now: float) -> "RequestPace":
        """The pace after the host answered a request: more where a minute has been quiet."""
        second = math.floor(now)
        if self.quiet_since > now + CLOCK_DIFFERENCE_SECONDS:  # from before the clock was put back
            return replace(self, quiet_since=second)
        if self.per_minute >= limits.most or now - self.quiet_since < WINDOW_SECONDS:
            return self
        return replace(self, per_minute=min(limits.most, self.per_minute + limits.step), quiet_since=second)


def burst_of(per_minute: int) -> int:
    """How many requests may leave at once: a third of a minute's, at most 10. Above a pace of 60 it is those of ten
    seconds, since requests are counted by whole seconds.
    """
    return max(min(MAX_BURST, math.ceil(per_minute / 3)), per_minute // 6)


def seconds_until_spread(sent: Mapping[int, int], per_minute: int, burst: int, cost: int, now: float) -> float:
    """Seconds until a request may leave, if no more than `burst + t * per_minute / 60` may leave in any t seconds up to
    a minute; 0 for now. `sent` counts requests by whole second; `cost` is the weight of the request.
    """
    wait, since = 0.0, 0
    for second in sorted(sent, reverse=True):
        if second < math.floor(now) - WINDOW_SECONDS:
            break
        since += sent[second]
        excess = since + cost - max(burst, cost)
        if excess > 0:  # they left by the end of that second
            free_at = min(excess * WINDOW_SECONDS / per_minute, WINDOW_SECONDS) + second + 1
            wait = max(wait, free_at - now)
    return wait
