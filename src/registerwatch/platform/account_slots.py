"""Slots for slow work that accounts request: few for each account and each client network, in a fair order, so that
none uses up the slots of others.
"""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from registerwatch.errors import Overloaded
from registerwatch.platform.fair_queue import FairQueue

T = TypeVar("T")

MAX_USERS = 40
"""Requests of one account that have or await a slot."""
MAX_WAITING = 200
"""Requests that wait for one of the shared slots."""
TOO_MANY_OF_ACCOUNT = "The account has too many of these requests under way. Try again when some have ended."
TOO_MANY = "Too many of these requests are waiting. Try again in a few seconds."


@dataclass(slots=True)
class _Account:
    """The slots of one account, and how many of its requests have or await one."""

    slots: asyncio.Semaphore
    users: int = 0


class AccountSlots:
    """At most `most` slots at a time, `most_per_account` of one account and `most_per_network` of one client network.
    Waiting networks are served in a fair order, as are accounts of no known network.
    """

    def __init__(self, *, most: int, most_per_account: int, most_per_network: int | None = None) -> None:
        self._queue = FairQueue(most, most + MAX_WAITING, TOO_MANY, most_of_party=most_per_network)
        self._most_per_account = most_per_account
        self._accounts: dict[int, _Account] = {}

    @asynccontextmanager
    async def slot(self, account_id: int, network: str | None = None) -> AsyncIterator[None]:
        """A slot while the block lasts. An account first waits for one of its own, so its others wait outside.

        Raises `Overloaded` where too many of the account or of all wait already.
        """
        async with self.own_slot(account_id), self.shared_slot(account_id if network is None else network):
            yield

    def shared_slot(self, party: Hashable) -> AbstractAsyncContextManager[None]:
        """A shared slot while the block lasts, for a request with one of the account. Parties are served fairly.

        Raises `Overloaded` where too many wait already.
        """
        return self._queue.slot(party)

    @asynccontextmanager
    async def own_slot(self, account_id: int) -> AsyncIterator[None]:
        """One of the account's own slots while the block lasts.

        Raises `Overloaded` where too many of the account wait already.
        """
        if account_id in self._accounts and self._accounts[account_id].users >= MAX_USERS:
            raise Overloaded(TOO_MANY_OF_ACCOUNT)
        account = self._accounts.setdefault(account_id, _Account(asyncio.Semaphore(self._most_per_account)))
        account.users += 1
        try:
            async with account.slots:
                yield
        finally:
            account.users -= 1
            if not account.users:
                del self._accounts[account_id]


async def enter_within(
    seconds: float, held: AsyncExitStack, slot: AbstractAsyncContextManager[T], *, otherwise: str
) -> T:
    """Enter a slot on a stack. Raises `Overloaded`, which says `otherwise`, where none is free in time."""
    try:
        async with asyncio.timeout(seconds):
            return await held.enter_async_context(slot)
    except TimeoutError:
        raise Overloaded(otherwise) from None
