"""Holding an account still while what belongs to it is changed."""

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.repository import StoredAccount
from registerwatch.accounts.sessions import UNKNOWN
from registerwatch.errors import Unauthenticated


async def locked(connection: AsyncConnection, account_id: int) -> StoredAccount:
    """The account, as it is now, which nobody else changes until the end of the transaction.

    Raises `Unauthenticated` when it was deleted since the request was let in.
    """
    stored = await repository.lock_account(connection, account_id)
    if stored is None:
        raise Unauthenticated(UNKNOWN)
    return stored
