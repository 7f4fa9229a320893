"""The SQL of accounts. Whatever belongs to an account takes the account's id.

Functions run in the transaction of the connection that they are given.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import BigInteger, Select, bindparam, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.audit import Action, AuditEntry
from registerwatch.accounts.credentials import digest_of, masked
from registerwatch.accounts.models import Key, Role, User
from registerwatch.db.tables import accounts, api_keys, audit, users, watches, webhooks

_OF_ACCOUNT = bindparam("account_id", type_=BigInteger)


@dataclass(frozen=True, slots=True)
class StoredAccount:
    """A row of accounts; the plan by its name."""

    id: int
    email: str
    name: str
    plan: str
    expires_at: int
    created_at: int


@dataclass(frozen=True, slots=True)
class StoredUser:
    """A user with what signing in needs."""

    id: int
    account_id: int
    email: str
    role: Role
    password_hash: str | None = field(repr=False)


_USER = select(users.c.id, users.c.account_id, users.c.email, users.c.role, users.c.password_hash)
USER_BY_EMAIL = _USER.where(users.c.email == bindparam("email"))
_USER_BY_ID = _USER.where(users.c.id == bindparam("user_id"), users.c.account_id == _OF_ACCOUNT)
_OWNERS = _USER.where(users.c.account_id == _OF_ACCOUNT, users.c.role == Role.OWNER).order_by(users.c.id)
_ACCOUNT = select(*accounts.c).where(accounts.c.id == _OF_ACCOUNT)
USERS = (
    select(users.c.id, users.c.email, users.c.role, users.c.created_at)
    .where(users.c.account_id == _OF_ACCOUNT)
    .order_by(users.c.id)
)
KEYS = (
    select(api_keys.c.id, api_keys.c.label, api_keys.c.prefix, api_keys.c.created_at, api_keys.c.revoked_at)
    .where(api_keys.c.account_id == _OF_ACCOUNT)
    .order_by(api_keys.c.id)
)
_AUDIT = (
    select(audit.c.id, audit.c.created_at, audit.c.actor, audit.c.action, audit.c.subject)
    .where(audit.c.account_id == _OF_ACCOUNT)
    .order_by(audit.c.id.desc())
    .limit(bindparam("newest"))
)


async def add_account(
    connection: AsyncConnection, *, email: str, name: str, plan: str, expires_at: int, now: int
) -> StoredAccount:
    """Open an account; it has nobody yet."""
    values = {"email": email, "name": name, "plan": plan, "expires_at": expires_at, "created_at": now}
    added = await connection.execute(insert(accounts).values(values).returning(*accounts.c))
    return StoredAccount(*added.one())


async def account(connection: AsyncConnection, account_id: int) -> StoredAccount | None:
    """An account."""
    row = (await connection.execute(_ACCOUNT, {"account_id": account_id})).one_or_none()
    return StoredAccount(*row) if row is not None else None


async def lock_account(connection: AsyncConnection, account_id: int) -> StoredAccount | None:
    """An account whose users and keys nobody else changes until this transaction ends.

    On SQLite a transaction holds the whole database from its start.
    """
    row = (await connection.execute(_ACCOUNT.with_for_update(key_share=True), {"account_id": account_id})).one_or_none()
    return StoredAccount(*row) if row is not None else None


async def set_period(connection: AsyncConnection, account_id: int, *, plan: str, expires_at: int) -> None:
    """Set the plan and the end of the period."""
    changed = update(accounts).where(accounts.c.id == account_id).values(plan=plan, expires_at=expires_at)
    await connection.execute(changed)


async def delete_account(connection: AsyncConnection, account_id: int) -> None:
    """Delete an account with all that belongs to it.

    Its watches and webhooks are locked first and in order, as those do who store what was read and what was sent: else
    the two could wait for each other.
    """
    for table in (watches, webhooks):
        locked = select(table.c.id).where(table.c.account_id == account_id).order_by(table.c.id).with_for_update()
        await connection.execute(locked)
    await connection.execute(delete(accounts).where(accounts.c.id == account_id))


async def all_accounts(connection: AsyncConnection) -> Sequence[tuple[StoredAccount, int]]:
    """Every account with the number of its users, oldest first; for the operator."""
    counted = (
        select(*accounts.c, func.count(users.c.id))
        .outerjoin(users, users.c.account_id == accounts.c.id)
        .group_by(*accounts.c)
        .order_by(accounts.c.id)
    )
    return [(StoredAccount(*row[:-1]), row[-1]) for row in await connection.execute(counted)]


async def user_by_email(connection: AsyncConnection, email: str) -> StoredUser | None:
    """The one user with this address. It says which account they belong to."""
    return await _one_user(connection, USER_BY_EMAIL, {"email": email})


async def user(connection: AsyncConnection, account_id: int, user_id: int) -> StoredUser | None:
    """A user of the account."""
    return await _one_user(connection, _USER_BY_ID, {"account_id": account_id, "user_id": user_id})


async def owners(connection: AsyncConnection, account_id: int) -> Sequence[StoredUser]:
    """The account's owners, the first one first."""
    return [stored_user(row) for row in await connection.execute(_OWNERS, {"account_id": account_id})]


async def add_user(
    connection: AsyncConnection, account_id: int, *, email: str, role: Role, password_hash: str | None, now: int
) -> int:
    """Add a user. Raises SQLAlchemy's `IntegrityError` when a user has this address."""
    values = {
        "account_id": account_id,
        "email": email,
        "role": role,
        "password_hash": password_hash,
        "created_at": now,
    }
    added: int = (await connection.execute(insert(users).values(values).returning(users.c.id))).scalar_one()
    return added


async def remove_user(connection: AsyncConnection, account_id: int, user_id: int) -> None:
    """Remove a user with their sessions and reset tokens."""
    await connection.execute(delete(users).where(users.c.id == user_id, users.c.account_id == account_id))


async def set_password(connection: AsyncConnection, account_id: int, user_id: int, password_hash: str) -> None:
    """Store what a user's new password is compared with."""
    of_user = users.c.id == user_id, users.c.account_id == account_id
    await connection.execute(update(users).where(*of_user).values(password_hash=password_hash))


async def users_of(connection: AsyncConnection, account_id: int) -> Sequence[User]:
    """The account's users, oldest first."""
    rows = await connection.execute(USERS, {"account_id": account_id})
    return [listed_user(row) for row in rows]


async def add_key(connection: AsyncConnection, account_id: int, label: str, key: str, now: int) -> None:
    """Add an API key; what is stored of it is its digest."""
    values = {
        "account_id": account_id,
        "label": label,
        "prefix": masked(key),
        "digest": digest_of(key),
        "created_at": now,
    }
    await connection.execute(insert(api_keys).values(values))


async def keys_of(connection: AsyncConnection, account_id: int) -> Sequence[Key]:
    """The account's keys, oldest first, revoked ones too."""
    rows = await connection.execute(KEYS, {"account_id": account_id})
    return [listed_key(row) for row in rows]


async def revoke_key(connection: AsyncConnection, account_id: int, key_id: int, now: int) -> None:
    """Revoke a key of the account; one that is revoked already keeps its time."""
    of_key = api_keys.c.id == key_id, api_keys.c.account_id == account_id, api_keys.c.revoked_at.is_(None)
    await connection.execute(update(api_keys).where(*of_key).values(revoked_at=now))


async def note(
    connection: AsyncConnection, account_id: int, *, now: int, actor: str, action: Action, subject: str = ""
) -> None:
    """Write a line into the account's audit trail."""
    values = {"account_id": account_id, "created_at": now, "actor": actor, "action": action, "subject": subject}
    await connection.execute(insert(audit).values(values))


async def trail(connection: AsyncConnection, account_id: int, newest: int) -> Sequence[AuditEntry]:
    """The account's audit trail, newest first."""
    rows = await connection.execute(_AUDIT, {"account_id": account_id, "newest": newest})
    return [AuditEntry(*row) for row in rows]


async def _one_user(
    connection: AsyncConnection, statement: Select[*tuple[Any, ...]], values: dict[str, object]
) -> StoredUser | None:
    row = (await connection.execute(statement, values)).one_or_none()
    return stored_user(row) if row is not None else None


def stored_user(row: Sequence[Any]) -> StoredUser:
    """A row of `USER_BY_EMAIL`."""
    user_id, account_id, email, role, password_hash = row
    return StoredUser(user_id, account_id, email, Role(role), password_hash)


def listed_user(row: Sequence[Any]) -> User:
    """A row of `USERS`."""
    user_id, email, role, created_at = row
    return User(user_id, email, Role(role), created_at)


def listed_key(row: Sequence[Any]) -> Key:
    """A row of `KEYS`."""
    key_id, label, prefix, created_at, revoked_at = row
    return Key(key_id, label, prefix, created_at, revoked_at is not None)
