"""A clock that tests move."""

import asyncio
import time


class SteppedClock:
    """Stands still until it is moved; sleeping moves it at once."""

    def __init__(self, now: float | None = None) -> None:
        self._now = time.time() if now is None else now
        self.slept: list[float] = []

    def now(self) -> float:
        """Unix seconds."""
        return self._now

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds

    async def sleep(self, seconds: float) -> None:
        """Let time pass for everybody, without waiting."""
        self.slept.append(seconds)
        self._now += seconds
        await asyncio.sleep(0)
