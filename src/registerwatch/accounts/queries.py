"""Reads of accounts as domain objects: the holder of a credential, an account with its plan, users and keys.

Nothing is cached, so what was revoked, ended or removed is gone for the next request.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import bindparam, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.models import Account, Caller, Key, Profile, Role, Scope, User
from registerwatch.accounts.plans import PlanName, Plans
from registerwatch.accounts.repository import StoredAccount, StoredUser
from registerwatch.accounts.sessions import known_clients
from registerwatch.accounts.sessions.credentials import Credential, is_same
from registerwatch.accounts.tables import accounts, api_keys, sessions, users
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.statements import PreparedSelect

_BY_KEY = PreparedSelect(
    select(api_keys.c.digest, api_keys.c.prefix, api_keys.c.id, api_keys.c.scope, api_keys.c.expires_at, *accounts.c)
    .join(accounts, accounts.c.id == api_keys.c.account_id)
    .where(
        api_keys.c.digest == bindparam("digest"),
        api_keys.c.revoked_at.is_(None),
        or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > bindparam("now")),
    )
)
_BY_SESSION = PreparedSelect(
    select(
        sessions.c.digest, users.c.email, users.c.role, users.c.id, users.c.time_zone, sessions.c.proved_at, *accounts.c
    )
    .join(users, users.c.id == sessions.c.user_id)
    .join(accounts, accounts.c.id == users.c.account_id)
    .where(sessions.c.digest == bindparam("digest"), sessions.c.expires_at > bindparam("now"))
)
_USERS = PreparedSelect(repository.USERS)
_KEYS = PreparedSelect(repository.KEYS)
_KNOWN_CLIENT = PreparedSelect(known_clients.IS_KNOWN)
_SIGNED_IN = PreparedSelect(known_clients.SIGNED_IN)
_USER_BY_EMAIL = PreparedSelect(repository.USER_BY_EMAIL)


class CredentialHolder(Struct, frozen=True):
    """The account and the user or program that a credential belongs to."""

    account: StoredAccount
    role: Role
    name: str
    user_id: int | None
    key_id: int | None = None
    scope: Scope = Scope.MANAGE
    key_expires_at: int | None = None
    time_zone: str = "UTC"
    proved_at: int = 0


class AccountQueries:
    """Reads for nearly every request, by prepared statements."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def holder(self, credential: Credential, now: int) -> CredentialHolder | None:
        """The holder of a credential; None when it is unknown, revoked or expired."""
        if credential.kind == "key":
            row, holder = await self._one(_BY_KEY, digest=credential.digest, now=now), _program
        else:
            row, holder = await self._one(_BY_SESSION, digest=credential.digest, now=now), _person
        return holder(row) if row is not None and is_same(credential.digest, row[0]) else None

    async def users(self, account_id: int) -> Sequence[User]:
        """The account's users, oldest first."""
        return [repository.listed_user(row) for row in await self._database.rows(_USERS, account_id=account_id)]

    async def keys(self, account_id: int) -> Sequence[Key]:
        """The account's keys, oldest first, revoked ones too."""
        return [repository.listed_key(row) for row in await self._database.rows(_KEYS, account_id=account_id)]

    async def user_by_email(self, email: str) -> StoredUser | None:
        """The one user with this address, with the id of their account."""
        row = await self._one(_USER_BY_EMAIL, email=email)
        return repository.stored_user(row) if row is not None else None

    async def is_known_client(self, email: str, address: str, since: int) -> bool:
        """Whether a user signed in from a client, or set a password by a mailed link there, after an instant."""
        return await self._one(_KNOWN_CLIENT, email=email, address=address, since=since) is not None

    async def has_signed_in(self, email: str, address: str, since: int) -> bool:
        """Whether a user finished a sign-in from a client after an instant."""
        return await self._one(_SIGNED_IN, email=email, address=address, since=since) is not None

    async def _one(self, statement: PreparedSelect, **values: object) -> Sequence[Any] | None:
        return next(iter(await self._database.rows(statement, **values)), None)


def account_of(stored: StoredAccount, plans: Plans) -> Account:
    """An account with its plan."""
    plan = plans[PlanName(stored.plan)]
    return Account(stored.id, stored.email, stored.name, plan, stored.expires_at, stored.created_at)


async def locked_account(connection: AsyncConnection, caller: Caller, plans: Plans) -> Account:
    """The caller's account as it is now, locked until the end of the transaction.

    Raises `Unauthenticated` where the caller's credential was ended meanwhile.
    """
    return account_of(await repository.locked(connection, caller), plans)


async def profile_of(connection: AsyncConnection, account: Account, role: Role) -> Profile:
    """An account with its users and keys, within a transaction."""
    users = await repository.users_of(connection, account.id)
    return Profile(account, role, users, await repository.keys_of(connection, account.id))


def _program(row: Sequence[Any]) -> CredentialHolder:
    _digest, prefix, key_id, scope, expires_at, *account = row
    return CredentialHolder(StoredAccount(*account), Role.OWNER, prefix, None, key_id, Scope(scope), expires_at)


def _person(row: Sequence[Any]) -> CredentialHolder:
    _digest, email, role, user_id, zone, proved_at, *account = row
    return CredentialHolder(
        StoredAccount(*account), Role(role), email, user_id, time_zone=zone, proved_at=proved_at or 0
    )
