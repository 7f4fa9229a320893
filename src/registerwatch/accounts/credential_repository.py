"""The SQL of credentials: sessions, reset tokens.

Functions run in the transaction of the connection that they are given.
"""

from dataclasses import dataclass

from sqlalchemy import delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.db.tables import api_keys, audit, reset_tokens, sessions, users


@dataclass(frozen=True, slots=True)
class TokenHolder:
    """The user whose password a reset token may set."""

    account_id: int
    user_id: int
    email: str


async def add_session(connection: AsyncConnection, user_id: int, digest: str, *, now: int, expires_at: int) -> None:
    """Open a session."""
    values = {"digest": digest, "user_id": user_id, "created_at": now, "expires_at": expires_at}
    await connection.execute(insert(sessions).values(values))


async def end_session(connection: AsyncConnection, digest: str) -> None:
    """End one session, if it is there."""
    await connection.execute(delete(sessions).where(sessions.c.digest == digest))


async def end_other_ways_in(connection: AsyncConnection, user_id: int, kept_session: str | None) -> None:
    """End a user's sessions but the one that is kept, and every reset token of theirs."""
    of_user = sessions.c.user_id == user_id
    if kept_session is not None:
        of_user &= sessions.c.digest != kept_session
    await connection.execute(delete(sessions).where(of_user))
    await connection.execute(delete(reset_tokens).where(reset_tokens.c.user_id == user_id))


async def add_token(connection: AsyncConnection, user_id: int, digest: str, *, now: int, expires_at: int) -> None:
    """Store a reset token."""
    values = {"digest": digest, "user_id": user_id, "created_at": now, "expires_at": expires_at}
    await connection.execute(insert(reset_tokens).values(values))


async def tokens_since(connection: AsyncConnection, user_id: int, since: int) -> int:
    """How many reset tokens were made for a user after an instant."""
    counted = select(func.count()).where(reset_tokens.c.user_id == user_id, reset_tokens.c.created_at > since)
    number: int = (await connection.execute(counted)).scalar_one()
    return number


async def token_holder(connection: AsyncConnection, digest: str, now: int) -> TokenHolder | None:
    """Whose password a token may set; None when it is unknown or over."""
    found = (
        select(users.c.account_id, users.c.id, users.c.email)
        .join(reset_tokens, reset_tokens.c.user_id == users.c.id)
        .where(reset_tokens.c.digest == digest, reset_tokens.c.expires_at > now)
    )
    row = (await connection.execute(found)).one_or_none()
    return TokenHolder(*row) if row is not None else None


async def delete_outdated(connection: AsyncConnection, *, now: int, keys_before: int, audit_before: int) -> int:
    """Delete what is over: sessions, reset tokens, keys revoked and lines of audit trails from before. Their number."""
    outdated = (
        delete(sessions).where(sessions.c.expires_at <= now),
        delete(reset_tokens).where(reset_tokens.c.expires_at <= now),
        delete(api_keys).where(api_keys.c.revoked_at < keys_before),
        delete(audit).where(audit.c.created_at < audit_before),
    )
    return sum([(await connection.execute(statement)).rowcount for statement in outdated])
