"""Deletes an account, and ends what belongs to it outside of this service."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.models import Caller
from registerwatch.accounts.passwords import unproven_passwords
from registerwatch.accounts.passwords.passwords import Passwords
from registerwatch.errors import PasswordTooNew, WrongPassword
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database

WRONG_OWNER_PASSWORD = "The password is not that of an owner."  # noqa: S105  # a message


class DeletionHook(Protocol):
    """Implemented by packages with something outside of this service that ends with an account."""

    async def note(self, connection: AsyncConnection, account_id: int) -> Sequence[str]:
        """Store, in the transaction that deletes the account, what to end; returns its ids."""

    async def end(self, ids: Sequence[str], /) -> None:
        """End these after the account is deleted. Raises nothing when that cannot be done now."""


class DeletionService:
    """Deletes accounts. The surface checks whether the caller may."""

    def __init__(
        self, database: Database, passwords: Passwords, clock: Clock, hook: DeletionHook | None = None
    ) -> None:
        self._clock = clock
        self._database = database
        self._passwords = passwords
        self._hook = hook

    async def delete(self, caller: Caller, password: str) -> None:
        """Delete the account with its contents, and end what it pays for.

        Raises `WrongPassword` unless it is an owner's password, and `PasswordTooNew` for 24 hours after it was set
        without the previous one.
        """
        await self._check_password(caller, password)
        await self.delete_without_password(caller.account.id)

    async def delete_without_password(self, account_id: int) -> None:
        """Delete an account as `delete` does, where another check replaces the password: a page's or the operator's."""
        await self.delete_where(account_id, _always)

    async def delete_where(self, account_id: int, is_due: Callable[[AsyncConnection], Awaitable[bool]]) -> bool:
        """Delete an account if `is_due`, with it locked, says so; returns that."""
        ids: Sequence[str] = ()
        async with self._database.transaction() as connection:
            await repository.lock_account(connection, account_id)
            if not await is_due(connection):
                return False
            if self._hook is not None:
                ids = await self._hook.note(connection, account_id)
            await repository.delete_account(connection, account_id)
        if self._hook is not None:
            await self._hook.end(ids)
        return True

    async def _check_password(self, caller: Caller, password: str) -> None:
        """Compare all owners' passwords, so that the time reveals nothing."""
        async with self._database.reading() as connection:
            owners = await repository.owners(connection, caller.account.id)
        matches = [
            await self._passwords.is_right(password, owner.password_hash, account_id=caller.account.id)
            for owner in owners
        ]
        if not any(matches):
            raise WrongPassword(WRONG_OWNER_PASSWORD)
        now = self._clock.now()
        matching = [owner for owner, is_right in zip(owners, matches, strict=True) if is_right]
        if not any(unproven_passwords.proves(owner, now) for owner in matching):
            raise PasswordTooNew(unproven_passwords.TOO_NEW)


async def _always(_connection: AsyncConnection) -> bool:
    return True
