"""A limit on concurrent sign-ins, so that a burst of them does not slow down other requests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from registerwatch.accounts.passwords import MAX_WAITING, TOO_MANY_SIGN_INS
from registerwatch.errors import Overloaded

MAX_CONCURRENT = 8
"""More than the threads that compare passwords, so that none is idle while a sign-in waits for a transaction."""


class LoginThrottle:
    """Lets sign-ins proceed in the order in which they arrive."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)
        self._waiting = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it. Raises `Overloaded` when too many sign-ins are waiting or in progress."""
        if self._waiting >= MAX_WAITING:
            raise Overloaded(TOO_MANY_SIGN_INS)
        self._waiting += 1
        try:
            async with self._slots:
                yield
        finally:
            self._waiting -= 1
