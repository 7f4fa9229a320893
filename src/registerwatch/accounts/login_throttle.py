"""Whoever signs in waits for a turn: few at a time, so that a burst of them does not hold up other requests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from registerwatch.accounts.passwords import CROWDED, MAX_WAITING
from registerwatch.errors import Overloaded

AT_A_TIME = 8
"""More than passwords are compared at a time, so that no comparing thread waits for a transaction."""


class LoginThrottle:
    """Turns in the order in which they are asked for."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(AT_A_TIME)
        self._present = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn, and have it. Raises `Overloaded` when as many are here as may wait for their passwords."""
        if self._present >= MAX_WAITING:
            raise Overloaded(CROWDED)
        self._present += 1
        try:
            async with self._places:
                yield
        finally:
            self._present -= 1
