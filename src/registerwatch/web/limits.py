"""Rate limits by client address, counted by the `limits` library."""

import math
import time
from dataclasses import dataclass
from enum import Enum

import limits
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter
from starlette.requests import Request

from registerwatch.errors import RateLimited
from registerwatch.settings import Network
from registerwatch.web.client_address import client_address


class Limit(Enum):
    """What is limited: how many requests of one client address in how many seconds."""

    SEARCH = (40, 60)
    REGISTER_READ = (20, 60)
    """Requests that make the service read the register: a refresh, a record that is not in the copy."""
    PAGES = (120, 60)

    @property
    def item(self) -> limits.RateLimitItem:
        """The limit as the library names it."""
        amount, seconds = self.value
        return limits.RateLimitItemPerSecond(amount, seconds)


@dataclass(frozen=True, slots=True)
class RateLimits:
    """Counts requests in this process. `enabled` false lets everything pass."""

    enabled: bool
    trusted_proxies: tuple[Network, ...]
    _limiter: MovingWindowRateLimiter

    async def check(self, request: Request, limit: Limit) -> dict[str, str]:
        """Count a request. The headers for its answer; raises `RateLimited` when it is one too many."""
        if not self.enabled:
            return {}
        item, key = limit.item, client_address(request, self.trusted_proxies)
        allowed = await self._limiter.hit(item, limit.name, key)
        reset_at, remaining = await self._limiter.get_window_stats(item, limit.name, key)
        reset = max(1, math.ceil(reset_at - time.time()))
        amount, seconds = limit.value
        if not allowed:
            message = f"Too many requests: {amount} in {seconds} s are allowed. Try again in {reset} s."
            raise RateLimited(message, retry_after=reset, limit=amount, window=seconds)
        return rate_headers(amount, remaining, reset, seconds)


def rate_headers(limit: int, remaining: int, reset: int, window: int) -> dict[str, str]:
    """`RateLimit-*` headers: requests allowed in the window, requests left, seconds until the window is free again."""
    return {
        "RateLimit-Limit": str(limit),
        "RateLimit-Remaining": str(remaining),
        "RateLimit-Reset": str(reset),
        "RateLimit-Policy": f"{limit};w={window}",
    }


def build_limits(*, enabled: bool, trusted_proxies: tuple[Network, ...]) -> RateLimits:
    """Limits that start from nothing counted."""
    return RateLimits(enabled, trusted_proxies, MovingWindowRateLimiter(MemoryStorage()))
