"""The pace of requests to a host: where it starts, what halves it, how it rises, how it is spread over a minute.

The pace is the most requests that leave in any 60 seconds. How many a host tolerates is not documented and changes, so
the pace looks for it: halved where the host throttles, a little more for each quiet minute. All of it is pure, with the
time passed in; `request_budget.py` stores the pace, which all processes share.
"""

import math
from collections.abc import Mapping

import msgspec

from registerwatch.platform.clock import CLOCK_DIFFERENCE_SECONDS, is_recent
from registerwatch.platform.structs import replace

WINDOW_SECONDS = 60
START_PER_MINUTE = 30
MIN_PER_MINUTE = 3
"""Halving stops here, so that answers still come by which the pace can rise again."""
MIN_STEP = 2
MAX_BURST = 10


class PaceLimits(msgspec.Struct, frozen=True):
    """Requests a minute: the most that the pace of a host may rise to, and where it starts."""

    most: int
    start: int = START_PER_MINUTE

    @property
    def least(self) -> int:
        """Where halving stops."""
        return min(MIN_PER_MINUTE, self.most)

    @property
    def step(self) -> int:
        """What a quiet minute adds: 2, and more where the most is far, which is reached within half an hour."""
        return max(MIN_STEP, self.most // 30)


class RequestPace(msgspec.Struct, frozen=True):
    """How many requests may leave in a minute, and since when that is so. Instants are unix seconds."""

    per_minute: int
    quiet_since: int
    """The host has not throttled since then, and the pace was not changed."""
    halved_at: int = 0
    """When it was halved last, 0 for never."""

    @classmethod
    def first(cls, limits: PaceLimits, now: float) -> "RequestPace":
        """The pace of a host to which nothing was sent so far."""
        return cls(min(limits.start, limits.most), math.floor(now))

    def within(self, limits: PaceLimits) -> "RequestPace":
        """The same pace, or the most where that was lowered below it."""
        return self if self.per_minute <= limits.most else replace(self, per_minute=limits.most)

    def after_throttling(self, limits: PaceLimits, now: float) -> "RequestPace":
        """The pace after the host throttled a request.

        It is halved once in a minute: what the host counts of the minute before was sent at the pace before.
        """
        second = math.floor(now)
        if is_recent(self.halved_at, now, WINDOW_SECONDS):
            return replace(self, quiet_since=second)
        return RequestPace(max(limits.least, self.per_minute // 2), second, second)

    def after_answer(self, limits: PaceLimits, now: float) -> "RequestPace":
        """The pace after the host answered a request: more where a minute has been quiet."""
        second = math.floor(now)
        if self.quiet_since > now + CLOCK_DIFFERENCE_SECONDS:  # of before the clock was put back
            return replace(self, quiet_since=second)
        if self.per_minute >= limits.most or now - self.quiet_since < WINDOW_SECONDS:
            return self
        return replace(self, per_minute=min(limits.most, self.per_minute + limits.step), quiet_since=second)


def burst_of(per_minute: int) -> int:
    """How many requests may leave at once: a third of a minute's, at most 10. Of a pace above 60 it is what leaves in
    ten seconds, since requests are counted by whole seconds.
    """
    return max(min(MAX_BURST, math.ceil(per_minute / 3)), per_minute // 6)


def seconds_until_spread(sent: Mapping[int, int], per_minute: int, burst: int, cost: int, now: float) -> float:
    """Seconds until a request may leave if no more than `burst + t * per_minute / 60` are to leave in any t seconds,
    up to a minute; 0 for now. `sent` is what left in each whole second; `cost` is what the request counts for.
    """
    wait, since = 0.0, 0
    for second in sorted(sent, reverse=True):
        if second < math.floor(now) - WINDOW_SECONDS:
            break
        since += sent[second]
        excess = since + cost - max(burst, cost)
        if excess > 0:  # at the end of that second at the latest they had left
            free_at = min(excess * WINDOW_SECONDS / per_minute, WINDOW_SECONDS) + second + 1
            wait = max(wait, free_at - now)
    return wait
