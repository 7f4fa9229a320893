"""Steps between a password or a provider's sign-in and a session: a user with a second factor gets one for ten minutes.

Functions run in the transaction of the connection that they are given.
"""

from dataclasses import dataclass, field

import msgspec
from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.sessions import credentials
from registerwatch.accounts.sessions.credentials import digest_of
from registerwatch.accounts.tables import sign_in_steps, users

STEP_SECONDS = 600
MAX_TRIES = 5
MAX_TOKEN_LENGTH = 200
PROVIDER_PREFIX = "pv_"
"""Prefix of the token of a step that a provider began. The stored digest is of the prefix too."""


@dataclass(frozen=True, slots=True)
class NewStep:
    """A step that was just begun. Only the browser gets `token`."""

    token: str = field(repr=False)
    seconds: int = STEP_SECONDS


class StoredStep(msgspec.Struct, frozen=True):
    """A step that is not over, with its user."""

    digest: str
    account_id: int
    user_id: int
    email: str
    tries: int
    is_by_password: bool


async def begin(connection: AsyncConnection, user_id: int, now: int, *, is_by_password: bool = True) -> NewStep:
    """Begin a step for a user whose account is locked, and whose password was right, or whom a provider signs in."""
    token = ("" if is_by_password else PROVIDER_PREFIX) + credentials.new_token()
    values = {"digest": digest_of(token), "user_id": user_id, "expires_at": now + STEP_SECONDS, "tries": 0}
    await connection.execute(insert(sign_in_steps).values(values))
    return NewStep(token)


async def find(connection: AsyncConnection, token: str, now: int) -> StoredStep | None:
    """The step of a token; None when it is unknown or over."""
    steps = sign_in_steps
    found = (
        select(steps.c.digest, users.c.account_id, users.c.id, users.c.email, steps.c.tries)
        .join(users, users.c.id == steps.c.user_id)
        .where(steps.c.digest == digest_of(token[:MAX_TOKEN_LENGTH]), steps.c.expires_at > now)
        .where(steps.c.tries < MAX_TRIES)
    )
    row = (await connection.execute(found)).one_or_none()
    return StoredStep(*row, not token.startswith(PROVIDER_PREFIX)) if row is not None else None


async def count_try(connection: AsyncConnection, step: StoredStep) -> None:
    """Count a wrong code; the fifth ends the step."""
    changed = update(sign_in_steps).where(sign_in_steps.c.digest == step.digest)
    await connection.execute(changed.values(tries=sign_in_steps.c.tries + 1))


async def end_all_of(connection: AsyncConnection, user_id: int) -> None:
    """End every step of a user: they are in."""
    await connection.execute(delete(sign_in_steps).where(sign_in_steps.c.user_id == user_id))
