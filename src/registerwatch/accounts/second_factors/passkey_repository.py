"""The SQL of passkeys and of challenges. Functions run in the transaction of the connection that they are given."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.sessions.credentials import digest_of
from registerwatch.accounts.tables import passkey_challenges, passkeys, users

CHALLENGE_SECONDS = 300


class Passkey(msgspec.Struct, frozen=True):
    """A passkey as its user sees it."""

    id: int
    label: str
    created_at: int
    last_used_at: int | None


@dataclass(frozen=True, slots=True)
class NewCredential:
    """A passkey that an authenticator made, as it is stored."""

    credential_id: str
    public_key: str = field(repr=False)
    sign_count: int


@dataclass(frozen=True, slots=True)
class StoredPasskey:
    """A passkey as a sign-in needs it, with its user."""

    id: int
    label: str
    user_id: int
    account_id: int
    public_key: str = field(repr=False)
    sign_count: int


async def of_user(connection: AsyncConnection, user_id: int) -> Sequence[Passkey]:
    """A user's passkeys, the oldest first."""
    columns = (passkeys.c.id, passkeys.c.label, passkeys.c.created_at, passkeys.c.last_used_at)
    found = select(*columns).where(passkeys.c.user_id == user_id).order_by(passkeys.c.id)
    return [Passkey(*row) for row in await connection.execute(found)]


async def credential_ids_of(connection: AsyncConnection, user_id: int) -> Sequence[str]:
    """The authenticators' ids of a user's passkeys."""
    found = select(passkeys.c.credential_id).where(passkeys.c.user_id == user_id).order_by(passkeys.c.id)
    return (await connection.execute(found)).scalars().all()


async def by_credential_id(connection: AsyncConnection, credential_id: str) -> StoredPasskey | None:
    """The passkey that a browser names."""
    found = (
        select(
            passkeys.c.id,
            passkeys.c.label,
            passkeys.c.user_id,
            users.c.account_id,
            passkeys.c.public_key,
            passkeys.c.sign_count,
        )
        .join(users, users.c.id == passkeys.c.user_id)
        .where(passkeys.c.credential_id == credential_id)
    )
    row = (await connection.execute(found)).one_or_none()
    return StoredPasskey(*row) if row is not None else None


async def add(connection: AsyncConnection, user_id: int, new: NewCredential, label: str, now: int) -> None:
    """Store a passkey. Raises SQLAlchemy's `IntegrityError` where it is there already."""
    values = {
        "user_id": user_id,
        "credential_id": new.credential_id,
        "public_key": new.public_key,
        "sign_count": new.sign_count,
        "label": label,
        "created_at": now,
    }
    await connection.execute(insert(passkeys).values(values))


async def note_use(connection: AsyncConnection, passkey: StoredPasskey, sign_count: int, now: int) -> None:
    """Note that a passkey signed its user in."""
    changed = update(passkeys).where(passkeys.c.id == passkey.id)
    await connection.execute(changed.values(sign_count=sign_count, last_used_at=now))


async def rename(connection: AsyncConnection, user_id: int, passkey_id: int, label: str) -> None:
    """Give a passkey of the user another name."""
    own = passkeys.c.id == passkey_id, passkeys.c.user_id == user_id
    await connection.execute(update(passkeys).where(*own).values(label=label))


async def remove(connection: AsyncConnection, user_id: int, passkey_id: int) -> str | None:
    """Remove a passkey of the user; returns its name or None."""
    own = passkeys.c.id == passkey_id, passkeys.c.user_id == user_id
    removed = await connection.execute(delete(passkeys).where(*own).returning(passkeys.c.label))
    label: str | None = removed.scalar_one_or_none()
    return label


async def remove_all(connection: AsyncConnection, user_id: int) -> int:
    """Remove the passkeys of a user; returns how many."""
    return (await connection.execute(delete(passkeys).where(passkeys.c.user_id == user_id))).rowcount


async def add_challenge(connection: AsyncConnection, challenge: str, user_id: int | None, now: int) -> None:
    """Store a challenge: for a user who adds a passkey, None for a person who signs in."""
    values = {"digest": digest_of(challenge), "user_id": user_id, "expires_at": now + CHALLENGE_SECONDS}
    await connection.execute(insert(passkey_challenges).values(values))


async def take_challenge(connection: AsyncConnection, challenge: str, user_id: int | None, now: int) -> bool:
    """Use a challenge up; returns whether it was for this purpose, is not over, and was not used."""
    table = passkey_challenges
    same = table.c.digest == digest_of(challenge), table.c.user_id.is_not_distinct_from(user_id)
    return (await connection.execute(delete(table).where(*same, table.c.expires_at > now))).rowcount > 0
