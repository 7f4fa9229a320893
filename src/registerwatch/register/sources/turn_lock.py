"""A lock for which several requesters wait in turn."""

import asyncio
from collections import OrderedDict, deque

Requester = int | str | None
"""Who waits: the number of an account, or the network of a client without one."""


class TurnLock:
    """Of those who wait for one requester, who came first is first; the requesters take turns.

    So one account or client whose many reads wait delays the next read of another by one place. None is a requester,
    too.
    """

    def __init__(self) -> None:
        self._is_held = False
        self._lines: OrderedDict[Requester, deque[asyncio.Future[None]]] = OrderedDict()
        """Those who wait, by requester; whose turn is next is first."""

    async def acquire(self, requester: Requester = None) -> None:
        """Wait for the lock."""
        if not self._is_held:  # then nobody waits
            self._is_held = True
            return
        place = asyncio.get_running_loop().create_future()
        self._lines.setdefault(requester, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # it was given the lock at the same moment
                self.release()
            else:
                self._leave(requester, place)
            raise

    def release(self) -> None:
        """Give the lock to who is next."""
        while self._lines:
            requester, line = self._lines.popitem(last=False)
            waiting = deque(place for place in line if not place.cancelled())
            if waiting:
                place = waiting.popleft()
                if waiting:
                    self._lines[requester] = waiting
                place.set_result(None)
                return
        self._is_held = False

    def _leave(self, requester: Requester, place: "asyncio.Future[None]") -> None:
        line = self._lines.get(requester)
        if line is not None and place in line:
            line.remove(place)
            if not line:
                del self._lines[requester]
