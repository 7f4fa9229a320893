"""Time as the service sees it, so that tests can bring their own, and how it writes instants."""

import asyncio
import time
from functools import lru_cache
from typing import Protocol


class Clock(Protocol):
    """What time it is, and letting it pass."""

    def now(self) -> float:
        """Unix seconds. Somebody may put the clock forward or back."""

    def monotonic(self) -> float:
        """Seconds since some instant, for durations in this process: nobody puts them forward or back."""

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""


class SystemClock:
    """The machine's time."""

    def now(self) -> float:
        """Unix seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some instant."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""
        await asyncio.sleep(seconds)


@lru_cache(maxsize=4096)
def iso_utc(unix_seconds: int | float) -> str:
    """Unix seconds as `2026-11-21T03:38:00Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(unix_seconds))
