"""The SQL of accounts, users, credentials and audit trails. Functions for an account's rows take the account's id.

Functions run in the transaction of the connection that they are given.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from sqlalchemy import BigInteger, Select, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.audit import audit_trail
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.models import Caller, Key, Role, Scope, User
from registerwatch.accounts.plans import PlanName
from registerwatch.accounts.sessions.credentials import UNKNOWN_CREDENTIAL, digest_of, masked
from registerwatch.accounts.tables import (
    accounts,
    api_keys,
    audit,
    deletion_notices,
    idempotent_requests,
    reset_tokens,
    sessions,
    sign_in_steps,
    users,
)
from registerwatch.errors import Unauthenticated
from registerwatch.notifications.tables import webhooks
from registerwatch.watches.tables import events, watches

_OF_ACCOUNT = bindparam("account_id", type_=BigInteger)


class StoredAccount(msgspec.Struct, frozen=True):
    """A row of accounts; the plan by its name."""

    id: int
    email: str
    name: str
    plan: str
    expires_at: int
    created_at: int
    paused_until: int | None = None
    """Until when (unix seconds) its notifications wait; None or past where they do not."""


@dataclass(frozen=True, slots=True)
class StoredUser:
    """A user with the hash of their password."""

    id: int
    account_id: int
    email: str
    role: Role
    password_hash: str | None = field(repr=False)
    is_confirmed: bool = False
    unproven_password_at: int | None = None
    """When a key or a session set the password without the previous one; None where the user proved who they are."""
    time_zone: str = "UTC"
    """Zone of the times they see, an IANA name."""


_USER = select(
    users.c.id,
    users.c.account_id,
    users.c.email,
    users.c.role,
    users.c.password_hash,
    users.c.confirmed_at,
    users.c.key_set_password_at,
    users.c.time_zone,
)
USER_BY_EMAIL = _USER.where(users.c.email == bindparam("email"))
_USER_BY_ID = _USER.where(users.c.id == bindparam("user_id"), users.c.account_id == _OF_ACCOUNT)
_OWNERS = _USER.where(users.c.account_id == _OF_ACCOUNT, users.c.role == Role.OWNER).order_by(users.c.id)
_ACCOUNT = select(*accounts.c).where(accounts.c.id == _OF_ACCOUNT)
USERS = (
    select(users.c.id, users.c.email, users.c.role, users.c.created_at, users.c.confirmed_at, users.c.signed_in_at)
    .where(users.c.account_id == _OF_ACCOUNT)
    .order_by(users.c.id)
)
KEYS = (
    select(
        api_keys.c.id,
        api_keys.c.label,
        api_keys.c.prefix,
        api_keys.c.created_at,
        api_keys.c.revoked_at,
        api_keys.c.scope,
        api_keys.c.expires_at,
        api_keys.c.last_used_at,
    )
    .where(api_keys.c.account_id == _OF_ACCOUNT)
    .order_by(api_keys.c.id)
)


async def add_account(
    connection: AsyncConnection, *, email: str, name: str, plan: str, expires_at: int, now: int
) -> StoredAccount:
    """Add an account without users."""
    values = {"email": email, "name": name, "plan": plan, "expires_at": expires_at, "created_at": now}
    added = await connection.execute(insert(accounts).values(values).returning(*accounts.c))
    return StoredAccount(*added.one())


async def open_trial(
    connection: AsyncConnection,
    *,
    email: str,
    name: str,
    password_hash: str,
    time_zone: str,
    expires_at: int,
    now: int,
) -> tuple[StoredAccount, int]:
    """Add a trial account that ends at `expires_at` (unix seconds), with its owner; returns it and the owner's id.

    Raises SQLAlchemy's `IntegrityError` when a user has this address.
    """
    stored = await add_account(connection, email=email, name=name, plan=PlanName.TRIAL, expires_at=expires_at, now=now)
    user_id = await add_user(
        connection,
        stored.id,
        email=email,
        role=Role.OWNER,
        password_hash=password_hash,
        now=now,
        time_zone=time_zone,
    )
    await note(connection, stored.id, now=now, actor=email, action=Action.ACCOUNT_OPENED)
    return stored, user_id


async def account(connection: AsyncConnection, account_id: int) -> StoredAccount | None:
    """An account."""
    row = (await connection.execute(_ACCOUNT, {"account_id": account_id})).one_or_none()
    return StoredAccount(*row) if row is not None else None


async def lock_account(connection: AsyncConnection, account_id: int) -> StoredAccount | None:
    """An account whose users and keys cannot change elsewhere until this transaction ends.

    On SQLite a transaction holds the whole database from its start.
    """
    row = (await connection.execute(_ACCOUNT.with_for_update(key_share=True), {"account_id": account_id})).one_or_none()
    return StoredAccount(*row) if row is not None else None


async def locked(connection: AsyncConnection, caller: Caller) -> StoredAccount:
    """Like `lock_account`, for requests of an account.

    Raises `Unauthenticated` where, while the request waited, the account was deleted, the caller's credential ended, or
    an owner became a member: a request may be sent slowly. So no change of theirs follows a transaction that locks the
    account and ends all its credentials.
    """
    stored = await lock_account(connection, caller.account.id)
    if stored is None or not await _is_in(connection, caller):
        raise Unauthenticated(UNKNOWN_CREDENTIAL)
    return stored


async def _is_in(connection: AsyncConnection, caller: Caller) -> bool:
    """Whether the caller's credential still works, as an owner's if it was one; the operator has none."""
    if caller.key_id is not None:
        found = select(api_keys.c.id).where(api_keys.c.id == caller.key_id, api_keys.c.revoked_at.is_(None))
    elif caller.session is not None:
        found = select(sessions.c.user_id).where(sessions.c.digest == caller.session)
        if caller.role is Role.OWNER:
            found = found.join(users, users.c.id == sessions.c.user_id).where(users.c.role == Role.OWNER)
    else:
        return True
    return (await connection.execute(found)).one_or_none() is not None


async def set_period(connection: AsyncConnection, account_id: int, *, plan: str, expires_at: int) -> None:
    """Set the plan and the end of the period."""
    changed = update(accounts).where(accounts.c.id == account_id).values(plan=plan, expires_at=expires_at)
    await connection.execute(changed)


async def rename_account(connection: AsyncConnection, account_id: int, name: str) -> None:
    """Give an account another name."""
    await connection.execute(update(accounts).where(accounts.c.id == account_id).values(name=name))


async def delete_account(connection: AsyncConnection, account_id: int) -> None:
    """Delete an account with all its rows.

    Its watches and webhooks are locked first, in the order in which observations and deliveries lock them: that
    prevents deadlocks.
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
    """The one user with this address, with the id of their account."""
    return await _one_user(connection, USER_BY_EMAIL, {"email": email})


async def user(connection: AsyncConnection, account_id: int, user_id: int) -> StoredUser | None:
    """A user of the account."""
    return await _one_user(connection, _USER_BY_ID, {"account_id": account_id, "user_id": user_id})


async def owners(connection: AsyncConnection, account_id: int) -> Sequence[StoredUser]:
    """The account's owners, the first one first."""
    return [stored_user(row) for row in await connection.execute(_OWNERS, {"account_id": account_id})]


async def note_period_mail(connection: AsyncConnection, account_id: int, mailed_at: int | None) -> None:
    """Note when an account, which is locked, was last mailed about its period or its deletion (unix seconds); None for
    never.
    """
    await connection.execute(delete(deletion_notices).where(deletion_notices.c.account_id == account_id))
    if mailed_at is not None:
        await connection.execute(insert(deletion_notices).values(account_id=account_id, noticed_at=mailed_at))


async def add_user(
    connection: AsyncConnection,
    account_id: int,
    *,
    email: str,
    role: Role,
    password_hash: str | None,
    now: int,
    time_zone: str = "UTC",
) -> int:
    """Add a user, who has seen the account's events so far. Raises SQLAlchemy's `IntegrityError` when a user has this
    address.
    """
    newest = select(func.coalesce(func.max(events.c.id), 0)).where(events.c.account_id == account_id)
    values = {
        "account_id": account_id,
        "email": email,
        "role": role,
        "password_hash": password_hash,
        "created_at": now,
        "time_zone": time_zone,
        "events_seen_through": newest.scalar_subquery(),
    }
    added: int = (await connection.execute(insert(users).values(values).returning(users.c.id))).scalar_one()
    return added


async def remove_user(connection: AsyncConnection, account_id: int, user_id: int) -> None:
    """Remove a user with their sessions and reset tokens."""
    await connection.execute(delete(users).where(users.c.id == user_id, users.c.account_id == account_id))


async def set_role(connection: AsyncConnection, account_id: int, user_id: int, role: Role) -> None:
    """Give a user of the account a role."""
    of_user = users.c.id == user_id, users.c.account_id == account_id
    await connection.execute(update(users).where(*of_user).values(role=role))


async def set_time_zone(connection: AsyncConnection, account_id: int, user_id: int, zone: str) -> None:
    """Store the time zone in which a user sees times."""
    of_user = users.c.id == user_id, users.c.account_id == account_id
    await connection.execute(update(users).where(*of_user).values(time_zone=zone))


async def set_password(connection: AsyncConnection, account_id: int, user_id: int, password_hash: str) -> None:
    """Store the hash of a user's new password."""
    of_user = users.c.id == user_id, users.c.account_id == account_id
    await connection.execute(update(users).where(*of_user).values(password_hash=password_hash))


async def note_password_setter(
    connection: AsyncConnection, account_id: int, user_id: int, *, unproven_at: int | None
) -> None:
    """Note when a user's password was set without the previous one; None where they proved who they are."""
    of_user = users.c.id == user_id, users.c.account_id == account_id
    await connection.execute(update(users).where(*of_user).values(key_set_password_at=unproven_at))


async def users_of(connection: AsyncConnection, account_id: int) -> Sequence[User]:
    """The account's users, oldest first."""
    rows = await connection.execute(USERS, {"account_id": account_id})
    return [listed_user(row) for row in rows]


async def add_key(
    connection: AsyncConnection,
    account_id: int,
    label: str,
    key: str,
    now: int,
    *,
    scope: Scope = Scope.MANAGE,
    expires_at: int | None = None,
) -> int:
    """Add an API key, of which a digest is stored; returns its id."""
    values = {
        "account_id": account_id,
        "label": label,
        "prefix": masked(key),
        "digest": digest_of(key),
        "created_at": now,
        "scope": scope,
        "expires_at": expires_at,
    }
    added: int = (await connection.execute(insert(api_keys).values(values).returning(api_keys.c.id))).scalar_one()
    return added


async def keys_of(connection: AsyncConnection, account_id: int) -> Sequence[Key]:
    """The account's keys, oldest first, revoked ones too."""
    rows = await connection.execute(KEYS, {"account_id": account_id})
    return [listed_key(row) for row in rows]


async def revoke_key(connection: AsyncConnection, account_id: int, key_id: int, now: int) -> None:
    """Revoke a key of the account; one that is revoked already keeps its time."""
    of_key = api_keys.c.id == key_id, api_keys.c.account_id == account_id, api_keys.c.revoked_at.is_(None)
    await connection.execute(update(api_keys).where(*of_key).values(revoked_at=now))


async def remove_keys(connection: AsyncConnection, account_id: int, key_ids: Sequence[int]) -> None:
    """Forget keys of the account."""
    for at in range(0, len(key_ids), 500):
        of_keys = api_keys.c.id.in_(key_ids[at : at + 500]), api_keys.c.account_id == account_id
        await connection.execute(delete(api_keys).where(*of_keys))


async def add_session(
    connection: AsyncConnection, user_id: int, digest: str, *, now: int, expires_at: int, proved_at: int | None
) -> None:
    """Open a session. `proved_at` is None where its user gave no proof of identity."""
    values = {"digest": digest, "user_id": user_id, "created_at": now, "expires_at": expires_at, "proved_at": proved_at}
    await connection.execute(insert(sessions).values(values))
    await connection.execute(update(users).where(users.c.id == user_id).values(signed_in_at=now))


async def note_proof(connection: AsyncConnection, digest: str, now: int) -> None:
    """Note that a session's user proved their identity again."""
    await connection.execute(update(sessions).where(sessions.c.digest == digest).values(proved_at=now))


async def end_session(connection: AsyncConnection, digest: str) -> None:
    """End one session, if it is there."""
    await connection.execute(delete(sessions).where(sessions.c.digest == digest))


async def end_other_sessions(
    connection: AsyncConnection, user_id: int, kept_session: str | None, *, keeps_links: bool = False
) -> None:
    """End a user's sessions but the one that is kept, all steps of sign-ins and, unless they are kept, reset tokens."""
    of_user = sessions.c.user_id == user_id
    if kept_session is not None:
        of_user &= sessions.c.digest != kept_session
    await connection.execute(delete(sessions).where(of_user))
    if not keeps_links:
        await connection.execute(delete(reset_tokens).where(reset_tokens.c.user_id == user_id))
    await connection.execute(delete(sign_in_steps).where(sign_in_steps.c.user_id == user_id))


async def add_token(connection: AsyncConnection, user_id: int, digest: str, *, now: int, expires_at: int) -> None:
    """Store a reset token."""
    values = {"digest": digest, "user_id": user_id, "created_at": now, "expires_at": expires_at}
    await connection.execute(insert(reset_tokens).values(values))


async def tokens_since(connection: AsyncConnection, user_id: int, since: int) -> int:
    """How many reset tokens were made for a user after an instant."""
    counted = select(func.count()).where(reset_tokens.c.user_id == user_id, reset_tokens.c.created_at > since)
    number: int = (await connection.execute(counted)).scalar_one()
    return number


async def delete_expired(
    connection: AsyncConnection, *, now: int, keys_before: int, audit_before: int, requests_before: int
) -> int:
    """Delete expired sessions and reset tokens, and keys revoked or over, audit lines written and requests with an
    Idempotency-Key begun before; returns how many.
    """
    expired = (
        delete(sessions).where(sessions.c.expires_at <= now),
        delete(reset_tokens).where(reset_tokens.c.expires_at <= now),
        delete(api_keys).where(or_(api_keys.c.revoked_at < keys_before, api_keys.c.expires_at < keys_before)),
        delete(audit).where(audit.c.created_at < audit_before),
        delete(idempotent_requests).where(idempotent_requests.c.started_at < requests_before),
    )
    return sum([(await connection.execute(statement)).rowcount for statement in expired])


async def note(
    connection: AsyncConnection, account_id: int, now: int, actor: str, action: Action, subject: str = ""
) -> None:
    """Write a line into the audit trail of an account that was locked or just made in the transaction."""
    await audit_trail.add(connection, account_id, now=now, actor=actor, action=action, subject=subject)


async def note_by(connection: AsyncConnection, caller: Caller, now: int, action: Action, subject: str = "") -> None:
    """Write a line about a caller's action in their account."""
    await note(connection, caller.account.id, now, caller.name, action, subject)


async def _one_user(
    connection: AsyncConnection, statement: Select[*tuple[Any, ...]], values: dict[str, object]
) -> StoredUser | None:
    row = (await connection.execute(statement, values)).one_or_none()
    return stored_user(row) if row is not None else None


def stored_user(row: Sequence[Any]) -> StoredUser:
    """A row of `USER_BY_EMAIL`."""
    user_id, account_id, email, role, password_hash, confirmed_at, unproven_password_at, zone = row
    is_confirmed = confirmed_at is not None
    return StoredUser(user_id, account_id, email, Role(role), password_hash, is_confirmed, unproven_password_at, zone)


def listed_user(row: Sequence[Any]) -> User:
    """A row of `USERS`."""
    user_id, email, role, created_at, confirmed_at, signed_in_at = row
    return User(user_id, email, Role(role), created_at, confirmed_at is not None, signed_in_at)


def listed_key(row: Sequence[Any]) -> Key:
    """A row of `KEYS`."""
    key_id, label, prefix, created_at, revoked_at, scope, expires_at, last_used_at = row
    is_revoked = revoked_at is not None
    return Key(key_id, label, prefix, created_at, is_revoked, Scope(scope), expires_at, last_used_at)
