"""Places for slow work that accounts ask for: few for each account, so that one never takes those of the others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from registerwatch.errors import Overloaded

T = TypeVar("T")

MAX_USERS = 40
"""Requests of one account that have or await a place."""


@dataclass(slots=True)
class _Account:
    """The places of one account, and how many of its requests have or await one."""

    places: asyncio.Semaphore
    users: int = 0


class AccountPlaces:
    """At most `most` at a time, and `most_per_account` of one account. Who finds none free waits, first come first."""

    def __init__(self, *, most: int, most_per_account: int) -> None:
        self._places = asyncio.Semaphore(most)
        self._most_per_account = most_per_account
        self._accounts: dict[int, _Account] = {}

    @asynccontextmanager
    async def place(self, account_id: int) -> AsyncIterator[None]:
        """A place while the block lasts. An account first waits for one of its own, so its crowd waits outside.

        Raises `Overloaded` where too many of the account wait already.
        """
        async with self.own_place(account_id), self.shared_place():
            yield

    @asynccontextmanager
    async def shared_place(self) -> AsyncIterator[None]:
        """One of the places of all while the block lasts, for who has one of the account."""
        async with self._places:
            yield

    @asynccontextmanager
    async def own_place(self, account_id: int) -> AsyncIterator[None]:
        """One of the account's places alone while the block lasts.

        Raises `Overloaded` where too many of the account wait already.
        """
        if account_id in self._accounts and self._accounts[account_id].users >= MAX_USERS:
            raise Overloaded("The account has too many of these requests under way. Try again when some have ended.")
        account = self._accounts.setdefault(account_id, _Account(asyncio.Semaphore(self._most_per_account)))
        account.users += 1
        try:
            async with account.places:
                yield
        finally:
            account.users -= 1
            if not account.users:
                del self._accounts[account_id]


async def enter_within(
    seconds: float, held: AsyncExitStack, place: AbstractAsyncContextManager[T], *, otherwise: str
) -> T:
    """Enter a place on a stack. Raises `Overloaded`, which says `otherwise`, where none is free in time."""
    try:
        async with asyncio.timeout(seconds):
            return await held.enter_async_context(place)
    except TimeoutError:
        raise Overloaded(otherwise) from None
