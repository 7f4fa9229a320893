"""Time as the service sees it, so that tests can bring their own."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What time it is, and letting it pass."""

    def now(self) -> float:
        """Unix seconds."""

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""


class SystemClock:
    """The machine's time."""

    def now(self) -> float:
        """Unix seconds."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""
        await asyncio.sleep(seconds)
