"""The SQL of second factors: authenticator apps, recovery codes, and their users.

Functions run in the transaction of the connection that they are given. Those of one user take the user's id, which the
caller has from a session or from a sign-in whose account is locked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from sqlalchemy import Select, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.second_factors import guessed_codes
from registerwatch.accounts.tables import (
    passkey_challenges,
    passkeys,
    provider_requests,
    recovery_codes,
    sign_in_steps,
    totp_factors,
    users,
)

UNCONFIRMED_SECONDS = 24 * 3600
"""A secret without a first code by then is deleted."""


class SecondFactors(msgspec.Struct, frozen=True):
    """A user's factors beside their password."""

    totp_since: int | None = None
    """None where no authenticator app is set up."""
    passkeys: int = 0
    recovery_codes: int = 0

    @property
    def is_on(self) -> bool:
        """Whether a sign-in by password needs more. For recovery codes alone where a mailed link ended passkeys."""
        return bool(self.names)

    @property
    def names(self) -> Sequence[str]:
        """The needed factors, in words for people; empty for none."""
        names = ["authenticator app"] if self.totp_since is not None else []
        if self.passkeys:
            names.append("passkey" if self.passkeys == 1 else f"{self.passkeys} passkeys")
        return names or (["recovery codes"] if self.recovery_codes else [])

    @property
    def can_lose_passkeys(self) -> bool:
        """Whether a sign-in by password would still need more without them."""
        return self.totp_since is not None or self.recovery_codes > 0


@dataclass(frozen=True, slots=True)
class StoredTotp:
    """A user's authenticator app. `secret` is in its stored form."""

    secret: str = field(repr=False)
    created_at: int
    confirmed_at: int | None
    last_step: int


async def second_factors_of(connection: AsyncConnection, account_id: int) -> Mapping[int, SecondFactors]:
    """The second factors of all users of an account, by the users' ids."""
    return {row[0]: SecondFactors(*row[1:]) for row in await connection.execute(_factors(account_id))}


async def factors_of(connection: AsyncConnection, account_id: int, user_id: int) -> SecondFactors:
    """The second factors of one user."""
    row = (await connection.execute(_factors(account_id).where(users.c.id == user_id))).one_or_none()
    return SecondFactors(*row[1:]) if row is not None else SecondFactors()


def _factors(account_id: int) -> Select[int, int | None, int, int]:
    app = select(totp_factors.c.confirmed_at).where(totp_factors.c.user_id == users.c.id).scalar_subquery()
    keys = select(func.count()).where(passkeys.c.user_id == users.c.id).scalar_subquery()
    codes = select(func.count()).where(recovery_codes.c.user_id == users.c.id).scalar_subquery()
    return select(users.c.id, app, keys, codes).where(users.c.account_id == account_id).order_by(users.c.id)


async def totp(connection: AsyncConnection, user_id: int) -> StoredTotp | None:
    """A user's authenticator app, also one without a first code."""
    columns = (totp_factors.c.secret, totp_factors.c.created_at, totp_factors.c.confirmed_at, totp_factors.c.last_step)
    row = (await connection.execute(select(*columns).where(totp_factors.c.user_id == user_id))).one_or_none()
    return StoredTotp(*row) if row is not None else None


async def begin_totp(connection: AsyncConnection, user_id: int, secret: str, now: int) -> None:
    """Store a secret to be confirmed, which replaces an earlier one."""
    await connection.execute(delete(totp_factors).where(totp_factors.c.user_id == user_id))
    values = {"user_id": user_id, "secret": secret, "created_at": now, "last_step": 0}
    await connection.execute(insert(totp_factors).values(values))


async def confirm_totp(connection: AsyncConnection, user_id: int, *, step: int, now: int) -> None:
    """Note that the first code was given, by its time step."""
    changed = update(totp_factors).where(totp_factors.c.user_id == user_id)
    await connection.execute(changed.values(confirmed_at=now, last_step=step))


async def use_step(connection: AsyncConnection, user_id: int, step: int) -> None:
    """Note that the code of a time step was used."""
    await connection.execute(update(totp_factors).where(totp_factors.c.user_id == user_id).values(last_step=step))


async def remove_totp(connection: AsyncConnection, user_id: int) -> bool:
    """Remove a user's authenticator app; returns whether there was a confirmed one."""
    was_on = totp_factors.c.user_id == user_id, totp_factors.c.confirmed_at.is_not(None)
    removed = (await connection.execute(delete(totp_factors).where(*was_on))).rowcount > 0
    await connection.execute(delete(totp_factors).where(totp_factors.c.user_id == user_id))
    return removed


async def replace_recovery_codes(connection: AsyncConnection, user_id: int, digests: Sequence[str], now: int) -> None:
    """Replace a user's recovery codes by new ones; none to have none."""
    await connection.execute(delete(recovery_codes).where(recovery_codes.c.user_id == user_id))
    if digests:
        rows = [{"digest": each, "user_id": user_id, "created_at": now} for each in digests]
        await connection.execute(insert(recovery_codes), rows)


async def use_recovery_code(connection: AsyncConnection, user_id: int, digest: str) -> bool:
    """Use up a recovery code; whether it was valid."""
    of_code = recovery_codes.c.user_id == user_id, recovery_codes.c.digest == digest
    return (await connection.execute(delete(recovery_codes).where(*of_code))).rowcount > 0


async def remove_all(connection: AsyncConnection, user_id: int) -> bool:
    """Remove a user's second factors with their data; returns whether there were any."""
    removed = await remove_totp(connection, user_id)
    for table in (passkeys, recovery_codes):
        removed |= (await connection.execute(delete(table).where(table.c.user_id == user_id))).rowcount > 0
    for table in (passkey_challenges, sign_in_steps):
        await connection.execute(delete(table).where(table.c.user_id == user_id))
    await guessed_codes.forget_all_of(connection, user_id)
    return removed


async def remove_newer(connection: AsyncConnection, user_id: int, since: int) -> bool:
    """Remove what a user set up since an instant: apps, passkeys, recovery codes, and all codes with the last factor;
    returns whether any was.
    """
    newer = (
        delete(totp_factors).where(
            totp_factors.c.user_id == user_id,
            or_(totp_factors.c.confirmed_at.is_(None), totp_factors.c.confirmed_at >= since),
        ),
        delete(passkeys).where(passkeys.c.user_id == user_id, passkeys.c.created_at >= since),
        delete(recovery_codes).where(recovery_codes.c.user_id == user_id, recovery_codes.c.created_at >= since),
    )
    removed = sum([(await connection.execute(statement)).rowcount for statement in newer])
    left = select(totp_factors.c.user_id).where(totp_factors.c.user_id == user_id)
    left_too = select(passkeys.c.user_id).where(passkeys.c.user_id == user_id)
    if removed and not (await connection.execute(left.union_all(left_too).limit(1))).all():
        await connection.execute(delete(recovery_codes).where(recovery_codes.c.user_id == user_id))
    return removed > 0


async def delete_expired(connection: AsyncConnection, now: int) -> int:
    """Delete expired steps, challenges, requests, counts, and secrets that were never confirmed; returns how many."""
    over = (
        delete(sign_in_steps).where(sign_in_steps.c.expires_at <= now),
        delete(passkey_challenges).where(passkey_challenges.c.expires_at <= now),
        delete(provider_requests).where(provider_requests.c.expires_at <= now),
        delete(totp_factors).where(
            totp_factors.c.confirmed_at.is_(None), totp_factors.c.created_at <= now - UNCONFIRMED_SECONDS
        ),
    )
    rows = sum([(await connection.execute(statement)).rowcount for statement in over])
    return rows + await guessed_codes.forget_old(connection, now)
