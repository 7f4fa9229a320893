"""Who of those that wait in this process sends its next request to the register."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from registerwatch.platform.fair_queue import FairQueue


class Requester(msgspec.Struct, frozen=True):
    """A client that waits: the number of an account, or a network without one; whether it is on trial."""

    id: int | str
    is_trial: bool = False


class RequesterQueue:
    """One at a time. Waiters of one requester come in order of arrival; the requesters alternate.

    So one account or client whose many reads wait delays another's next read by one request. None is a requester, too.
    Trials alternate among themselves. While others wait as well, trials and others alternate: however many trials wait,
    half of the requests are for the others.
    """

    def __init__(self) -> None:
        self._of_trials, self._of_others, self._both = FairQueue(1), FairQueue(1), FairQueue(1)

    @asynccontextmanager
    async def slot(self, requester: Requester | None = None, *, has_begun: bool = False) -> AsyncIterator[None]:
        """Wait to be the one. A read that `has_begun` comes before the others of its requester."""
        is_trial = requester is not None and requester.is_trial
        own = self._of_trials if is_trial else self._of_others
        async with own.slot(requester, comes_first=has_begun), self._both.slot(is_trial):
            yield
