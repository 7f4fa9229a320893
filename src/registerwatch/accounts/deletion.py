"""The door by which others learn that an account goes away."""

from collections.abc import Sequence
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncConnection


class DeletionHook(Protocol):
    """Whoever has something outside of this service that ends with an account."""

    async def note(self, connection: AsyncConnection, account_id: int) -> Sequence[str]:
        """Store, in the transaction that deletes the account, what must be ended; gives their ids."""

    async def end(self, ids: Sequence[str], /) -> None:
        """End it after the account is gone. Raises nothing when that cannot be done now."""


class _NoDeletionHook:
    """Nothing ends with an account but what is stored here."""

    async def note(self, connection: AsyncConnection, account_id: int) -> Sequence[str]:
        """Nothing."""
        return ()

    async def end(self, ids: Sequence[str], /) -> None:
        """Nothing."""


NO_DELETION_HOOK: DeletionHook = _NoDeletionHook()
