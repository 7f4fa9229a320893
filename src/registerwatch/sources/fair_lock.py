"""A lock that requesters get in rotation."""

import asyncio
from collections import OrderedDict, deque

import msgspec


class Requester(msgspec.Struct, frozen=True):
    """A client that waits: the number of an account, or a network without one; whether it is on trial."""

    id: int | str
    is_trial: bool = False


class FairLock:
    """Waiters of one requester get the lock in order of arrival; the requesters alternate.

    So one account or client whose many reads wait delays another's next read by one slot. None is a requester, too.
    Trials alternate among themselves. While others wait as well, trials and others alternate: however many trials wait,
    half of the slots are for the others.
    """

    def __init__(self) -> None:
        self._is_held = False
        self._had_by_trial = False
        """Whether its last holder was on trial."""
        self._lines: dict[bool, OrderedDict[Requester | None, deque[asyncio.Future[None]]]] = {
            False: OrderedDict(),
            True: OrderedDict(),
        }
        """Waiters on trial and others, each by requester; the next requester is first."""

    async def acquire(self, requester: Requester | None = None, *, has_begun: bool = False) -> None:
        """Wait for the lock. A read that `has_begun` comes before the others of its requester."""
        if not self._is_held:  # then no line has formed
            self._is_held, self._had_by_trial = True, _is_trial(requester)
            return
        waiter = asyncio.get_running_loop().create_future()
        line = self._lines[_is_trial(requester)].setdefault(requester, deque())
        if has_begun:
            line.appendleft(waiter)
        else:
            line.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():  # it was given the lock at the same moment
                self.release()
            else:
                self._leave(requester, waiter)
            raise

    def release(self) -> None:
        """Give the lock to the next waiter."""
        self._is_held = self._give(not self._had_by_trial) or self._give(self._had_by_trial)

    def _give(self, to_trials: bool) -> bool:
        """Give the lock to the next of these; false where none of them waits."""
        lines = self._lines[to_trials]
        while lines:
            requester, line = lines.popitem(last=False)
            waiting = deque(waiter for waiter in line if not waiter.cancelled())
            if waiting:
                waiter = waiting.popleft()
                if waiting:
                    lines[requester] = waiting
                waiter.set_result(None)
                self._had_by_trial = to_trials
                return True
        return False

    def _leave(self, requester: Requester | None, waiter: "asyncio.Future[None]") -> None:
        lines = self._lines[_is_trial(requester)]
        line = lines.get(requester)
        if line is not None and waiter in line:
            line.remove(waiter)
            if not line:
                del lines[requester]


def _is_trial(requester: Requester | None) -> bool:
    return requester is not None and requester.is_trial
