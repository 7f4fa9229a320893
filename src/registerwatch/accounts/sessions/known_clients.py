"""Clients of each user's sign-ins. Functions run in the transaction of the connection that they are given."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Select, bindparam, delete, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.sessions.clients import UNKNOWN_CLIENT, Client
from registerwatch.accounts.tables import known_clients, users

KNOWN_SECONDS = 90 * 24 * 3600
"""How long a client is known after its last sign-in."""
MAX_CLIENTS = 20
"""Limit per user; the newest are kept."""


def _after_since(last: ColumnElement[int]) -> Select[int]:
    """One row where the user with an address was seen at a client after an instant, by a column that has its time."""
    return (
        select(known_clients.c.user_id)
        .join(users, users.c.id == known_clients.c.user_id)
        .where(
            users.c.email == bindparam("email"),
            known_clients.c.address == bindparam("address"),
            last > bindparam("since"),
        )
    )


IS_KNOWN = _after_since(known_clients.c.last_at)
"""One row where the user with this address signed in from this client, or used a link there, after an instant."""
SIGNED_IN = _after_since(known_clients.c.signed_in_at)
"""One row for a sign-in that was finished, with a code where there is a second factor."""

_REMEMBER = text(
    "INSERT INTO known_clients (user_id, address, last_at, signed_in_at)"
    " VALUES (:user_id, :address, :now, CAST(:signed_in_at AS BIGINT))"
    " ON CONFLICT (user_id, address) DO UPDATE SET last_at = excluded.last_at,"
    " signed_in_at = COALESCE(excluded.signed_in_at, known_clients.signed_in_at)"
)


async def remember(connection: AsyncConnection, user_id: int, client: Client, now: int, *, has_signed_in: bool) -> None:
    """Note that a user whose account is locked signed in from a client, or set a password by a mailed link there."""
    if client == UNKNOWN_CLIENT:
        return
    signed_in_at = now if has_signed_in else None
    values = {"user_id": user_id, "address": client.address, "now": now, "signed_in_at": signed_in_at}
    await connection.execute(_REMEMBER, values)
    of_user = known_clients.c.user_id == user_id
    newest = select(known_clients.c.address).where(of_user).order_by(known_clients.c.last_at.desc()).limit(MAX_CLIENTS)
    await connection.execute(delete(known_clients).where(of_user, known_clients.c.address.not_in(newest)))


async def has_signed_in(connection: AsyncConnection, user_id: int, client: Client, now: int) -> bool:
    """Whether a user finished a sign-in from a client within the last 90 days. A mailed link is not a sign-in."""
    found = select(known_clients.c.user_id).where(
        known_clients.c.user_id == user_id,
        known_clients.c.address == client.address,
        known_clients.c.signed_in_at > now - KNOWN_SECONDS,
    )
    return (await connection.execute(found)).one_or_none() is not None


async def addresses_of(connection: AsyncConnection, user_id: int, now: int) -> Sequence[str]:
    """The addresses from which a user signed in within the last 90 days."""
    recent = known_clients.c.user_id == user_id, known_clients.c.last_at > now - KNOWN_SECONDS
    return (await connection.execute(select(known_clients.c.address).where(*recent))).scalars().all()


async def forget_all_of(connection: AsyncConnection, user_id: int) -> None:
    """Forget a user's known clients: they were another person's."""
    await connection.execute(delete(known_clients).where(known_clients.c.user_id == user_id))


async def forget_old(connection: AsyncConnection, now: int) -> int:
    """Delete clients without a sign-in for long; returns how many."""
    return (
        await connection.execute(delete(known_clients).where(known_clients.c.last_at <= now - KNOWN_SECONDS))
    ).rowcount
