"""Managing an account: its people, its keys, its end."""

from collections.abc import Sequence

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import audit, credentials, repository
from registerwatch.accounts.audit import Action, AuditEntry
from registerwatch.accounts.deletion import NO_DELETION_HOOK, DeletionHook
from registerwatch.accounts.models import Account, Caller, Key, NewKey, Profile, Role
from registerwatch.accounts.passwords import Passwords, acceptable
from registerwatch.accounts.plans import Plans, keep_cap
from registerwatch.accounts.queries import AccountQueries, account_of, profile_of
from registerwatch.accounts.repository import locked
from registerwatch.accounts.validation import email_address, label
from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.errors import InvalidInput, Unauthenticated, WrongPassword

TAKEN = "Somebody with this e-mail address has an account already."
LAST_OWNER = "The last owner of an account cannot be removed. To end the account, delete it."
NOT_THE_OWNERS = "The password is not that of an owner."


class MemberService:
    """What owners and API keys do with their account. Who may is for the surface to ask."""

    def __init__(
        self,
        database: Database,
        passwords: Passwords,
        plans: Plans,
        clock: Clock,
        deletion_hook: DeletionHook = NO_DELETION_HOOK,
    ) -> None:
        self._database = database
        self._deletion_hook = deletion_hook
        self._reads = AccountQueries(database)
        self._passwords = passwords
        self._plans = plans
        self._clock = clock

    async def profile(self, caller: Caller) -> Profile:
        """The account as the caller sees it."""
        account = caller.account
        return Profile(account, caller.role, await self._reads.users(account.id), await self._reads.keys(account.id))

    async def renewed(self, caller: Caller) -> Profile:
        """The account as it is now, not as it was when the request was let in. Raises `Unauthenticated`."""
        async with self._database.reading() as connection:
            stored = await repository.account(connection, caller.account.id)
            if stored is None:
                raise Unauthenticated(credentials.UNKNOWN_CREDENTIAL)
            return await profile_of(connection, account_of(stored, self._plans), caller.role)

    async def trail(self, caller: Caller) -> Sequence[AuditEntry]:
        """The newest 100 lines of the audit trail, newest first."""
        async with self._database.reading() as connection:
            return await repository.trail(connection, caller.account.id, audit.NEWEST)

    async def add_user(self, caller: Caller, email: str, password: str) -> Profile:
        """Add a member. Raises `InvalidInput` (bad or taken address, short password) or `CapReached`."""
        address = email_address(email)
        password_hash = await self._passwords.hashed(acceptable(password))
        try:
            async with self._database.transaction() as connection:
                account = await self._locked(connection, caller)
                keep_cap(len(await repository.users_of(connection, account.id)), account.plan.users, "users")
                await repository.add_user(
                    connection,
                    account.id,
                    email=address,
                    role=Role.MEMBER,
                    password_hash=password_hash,
                    now=self._now(),
                )
                await self._note(connection, caller, Action.USER_ADDED, address)
                return await profile_of(connection, account, caller.role)
        except IntegrityError:
            raise InvalidInput(TAKEN) from None

    async def remove_user(self, caller: Caller, user_id: int) -> Profile:
        """Remove a user of the account. Raises `InvalidInput` for the last owner and for an unknown id."""
        async with self._database.transaction() as connection:
            account = await self._locked(connection, caller)
            user = await repository.user(connection, account.id, user_id)
            if user is None:
                raise InvalidInput("The account has no user with this id; GET /v1/me lists them.")
            if user.role is Role.OWNER and len(await repository.owners(connection, account.id)) == 1:
                raise InvalidInput(LAST_OWNER)
            await repository.remove_user(connection, account.id, user_id)
            await self._note(connection, caller, Action.USER_REMOVED, user.email)
            return await profile_of(connection, account, caller.role)

    async def create_key(self, caller: Caller, wanted_label: str) -> NewKey:
        """Make an API key. Raises `CapReached`."""
        new = NewKey(label(wanted_label), credentials.new_key())
        async with self._database.transaction() as connection:
            account = await self._locked(connection, caller)
            active = [key for key in await repository.keys_of(connection, account.id) if not key.revoked]
            keep_cap(len(active), account.plan.keys, "API keys that are not revoked")
            await repository.add_key(connection, account.id, new.label, new.secret, self._now())
            await self._note(connection, caller, Action.KEY_CREATED, _named(credentials.masked(new.secret), new.label))
        return new

    async def revoke_key(self, caller: Caller, key_id: int) -> Profile:
        """Revoke a key of the account, at once and for good. Raises `InvalidInput` for an unknown id."""
        async with self._database.transaction() as connection:
            account = await self._locked(connection, caller)
            key = _key_of(await repository.keys_of(connection, account.id), key_id)
            if not key.revoked:
                await repository.revoke_key(connection, account.id, key_id, self._now())
                await self._note(connection, caller, Action.KEY_REVOKED, _named(key.prefix, key.label))
            return await profile_of(connection, account, caller.role)

    async def delete(self, caller: Caller, password: str) -> None:
        """Delete the account with all that is in it, and end what it pays for.

        Raises `WrongPassword` unless it is an owner's password.
        """
        async with self._database.reading() as connection:
            owners = await repository.owners(connection, caller.account.id)
        right = [await self._passwords.is_right(password, owner.password_hash) for owner in owners]
        if not any(right):
            raise WrongPassword(NOT_THE_OWNERS)
        async with self._database.transaction() as connection:
            await repository.lock_account(connection, caller.account.id)
            outside = await self._deletion_hook.note(connection, caller.account.id)
            await repository.delete_account(connection, caller.account.id)
        await self._deletion_hook.end(outside)

    async def _locked(self, connection: AsyncConnection, caller: Caller) -> Account:
        """The account, as it is now, until the end of the transaction."""
        return account_of(await locked(connection, caller.account.id), self._plans)

    async def _note(self, connection: AsyncConnection, caller: Caller, action: Action, subject: str) -> None:
        await repository.note(
            connection, caller.account.id, now=self._now(), actor=caller.name, action=action, subject=subject
        )

    def _now(self) -> int:
        return int(self._clock.now())


def _key_of(keys: Sequence[Key], key_id: int) -> Key:
    for key in keys:
        if key.id == key_id:
            return key
    raise InvalidInput("The account has no key with this id; GET /v1/me lists them.")


def _named(prefix: str, wanted_label: str) -> str:
    return f"{prefix} ({wanted_label})" if wanted_label else prefix
