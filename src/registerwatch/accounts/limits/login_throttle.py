"""A limit on concurrent sign-ins, so that a burst of them does not slow down other requests."""

from collections.abc import Hashable
from contextlib import AbstractAsyncContextManager

from registerwatch.accounts.passwords.passwords import MAX_WAITING, TOO_MANY_SIGN_INS
from registerwatch.platform.fair_queue import FairQueue

MAX_CONCURRENT = 5
"""More than the threads that compare passwords, so that none is idle while a sign-in waits for a transaction."""


class LoginThrottle:
    """Lets the networks that sign-ins come from take turns, and those of one network proceed in order of arrival."""

    def __init__(self) -> None:
        self._queue = FairQueue(MAX_CONCURRENT, MAX_WAITING, TOO_MANY_SIGN_INS)

    def slot(self, network: Hashable = None) -> AbstractAsyncContextManager[None]:
        """Wait for a slot and hold it. Raises `Overloaded` when too many sign-ins are waiting or in progress."""
        return self._queue.place(network)
