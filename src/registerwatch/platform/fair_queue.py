"""Slots for work that is limited in number, shared out fairly between the parties that request them."""

import asyncio
import sys
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

from registerwatch.errors import Overloaded


class FairQueue:
    """Serves parties in a fair order, and each party's requests in the order of their arrival.

    A party is an account or a network, for example. A free slot goes to the party with the fewest slots, unless it has
    as many as a party may have; among equals, to the one that has waited longest. A full queue drops the newest request
    of the party with the most entries for a newcomer that has fewer.
    """

    def __init__(
        self, slots: int, max_entries: int = sys.maxsize, refusal: str = "", *, most_of_party: int | None = None
    ) -> None:
        """`max_entries` may wait or have a slot at once; `refusal` is the message to the others. A party has
        `most_of_party` slots at most, where that is given.
        """
        self._free = slots
        self._max_entries = max_entries
        self._refusal = refusal
        self._most_of_party = slots if most_of_party is None else most_of_party
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        self._served: Counter[Hashable] = Counter()

    def entries_of(self, party: Hashable) -> int:
        """How many of a party wait or have a slot."""
        return self._served[party] + len(self._waiting.get(party, ()))

    @asynccontextmanager
    async def slot(self, party: Hashable, *, comes_first: bool = False) -> AsyncIterator[None]:
        """Wait for a slot and hold it; `comes_first` puts it before the others of its party. Raises `Overloaded` where
        the queue is full.
        """
        await self._arrive(party, comes_first=comes_first)
        try:
            yield
        finally:
            self._leave(party)

    async def _arrive(self, party: Hashable, *, comes_first: bool) -> None:
        if self._served.total() + sum(map(len, self._waiting.values())) >= self._max_entries:
            self._make_room(party)
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiters = self._waiting.setdefault(party, deque())
        (waiters.appendleft if comes_first else waiters.append)(waiter)
        self._hand_out()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._leave(party)  # it had just got its slot
            else:
                self._forget(party, waiter)
            raise

    def _make_room(self, party: Hashable) -> None:
        """Refuse the newest of the party with the most. Raises `Overloaded` where the newcomer would have as much."""
        most = max(self._waiting, key=self.entries_of, default=party)
        if self.entries_of(most) <= self.entries_of(party) + 1:
            raise Overloaded(self._refusal)
        newest = self._waiting[most][-1]
        self._forget(most, newest)
        if not newest.cancelled():
            newest.set_exception(Overloaded(self._refusal))

    def _leave(self, party: Hashable) -> None:
        self._free += 1
        self._served[party] -= 1
        if not self._served[party]:
            del self._served[party]
        self._hand_out()

    def _hand_out(self) -> None:
        while self._free:
            may_enter = [each for each in self._waiting if self._served[each] < self._most_of_party]
            if not may_enter:
                return
            party = min(may_enter, key=self._served.__getitem__)
            waiter = self._waiting[party][0]
            self._forget(party, waiter)
            if waiter.cancelled():  # its caller has not run since
                continue
            if party in self._waiting:
                self._waiting.move_to_end(party)
            self._free -= 1
            self._served[party] += 1
            waiter.set_result(None)

    def _forget(self, party: Hashable, waiter: asyncio.Future[None]) -> None:
        """Remove a waiting request from the queue, if it is there."""
        waiters = self._waiting.get(party)
        if waiters is None or waiter not in waiters:
            return
        waiters.remove(waiter)
        if not waiters:
            del self._waiting[party]
