"""Operations on accounts for the operator of the service, from the command line."""

from collections.abc import Sequence

import msgspec
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.audit import audit
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.members import EMAIL_TAKEN
from registerwatch.accounts.models import Account, Caller, NewAccount, Profile, Role
from registerwatch.accounts.passwords.password_reset import new_link
from registerwatch.accounts.plans import PlanName, Plans
from registerwatch.accounts.queries import account_of, profile_of
from registerwatch.accounts.repository import StoredAccount
from registerwatch.accounts.validation import company_name, email_address
from registerwatch.errors import InvalidInput, NoSuchAccount
from registerwatch.platform.clock import Clock, iso_utc
from registerwatch.platform.db.engine import Database
from registerwatch.platform.structs import replace


class AccountListing(msgspec.Struct, frozen=True):
    """An account in a list."""

    account: Account
    users: int


class AccountAdmin:
    """Makes and reads accounts, sets their plan and period."""

    def __init__(self, database: Database, plans: Plans, clock: Clock, *, trial_seconds: int, public_url: str) -> None:
        self._database = database
        self._plans = plans
        self._clock = clock
        self._trial_seconds = trial_seconds
        self._public_url = public_url

    async def create(self, email: str, name: str, plan: PlanName, expires_at: int | None) -> NewAccount:
        """Make an account whose owner has no password yet. Without an end its period is as long as a trial's.

        Raises `InvalidInput` for a bad or taken address.
        """
        address, now = email_address(email), self._now()
        ends = now + self._trial_seconds if expires_at is None else expires_at
        try:
            async with self._database.transaction() as connection:
                stored = await repository.add_account(
                    connection, email=address, name=company_name(name, address), plan=plan, expires_at=ends, now=now
                )
                user_id = await repository.add_user(
                    connection, stored.id, email=address, role=Role.OWNER, password_hash=None, now=now
                )
                await self._note(connection, stored.id, Action.ACCOUNT_OPENED, address)
                link = await new_link(connection, user_id, self._public_url, now)
                profile = await self._profile(connection, stored)
        except IntegrityError:
            raise InvalidInput(EMAIL_TAKEN) from None
        return NewAccount(profile, link)

    async def all(self) -> Sequence[AccountListing]:
        """Every account, oldest first."""
        async with self._database.reading() as connection:
            stored = await repository.all_accounts(connection)
        return [AccountListing(account_of(each, self._plans), users) for each, users in stored]

    async def profile(self, email: str) -> Profile:
        """The account of the user with this address. Raises `NoSuchAccount`."""
        async with self._database.reading() as connection:
            return await self._profile(connection, await self._stored(connection, email))

    async def owned(self, email: str) -> Profile:
        """The account of the owner with this address. Raises `NoSuchAccount`, `InvalidInput` for that of a member."""
        profile = await self.profile(email)
        address = email_address(email)
        if not any(user.email == address and user.role is Role.OWNER for user in profile.users):
            raise InvalidInput(f"{address} is a member of the account {profile.account.email}; name an owner of it.")
        return profile

    async def caller(self, email: str) -> Caller:
        """A caller for the operator in the account of the user with this address. Raises `NoSuchAccount`."""
        async with self._database.reading() as connection:
            stored = await self._stored(connection, email)
        return Caller(account_of(stored, self._plans), Role.OWNER, audit.OPERATOR, None)

    async def set_period(self, email: str, plan: PlanName | None, expires_at: int | None) -> Profile:
        """Set the plan or the end of the period (unix seconds), or both. Raises `NoSuchAccount`."""
        async with self._database.transaction() as connection:
            account_id = await self._account_id(connection, email)
            stored = await repository.lock_account(connection, account_id)
            if stored is None:
                raise _no_such_user(email)
            changed = replace(
                stored, plan=plan or stored.plan, expires_at=stored.expires_at if expires_at is None else expires_at
            )
            await repository.set_period(connection, stored.id, plan=changed.plan, expires_at=changed.expires_at)
            period = f"{changed.plan} until {iso_utc(changed.expires_at)}"
            await self._note(connection, stored.id, Action.PLAN_CHANGED, period)
            return await self._profile(connection, changed)

    async def _stored(self, connection: AsyncConnection, email: str) -> StoredAccount:
        stored = await repository.account(connection, await self._account_id(connection, email))
        if stored is None:
            raise _no_such_user(email)
        return stored

    async def _profile(self, connection: AsyncConnection, stored: StoredAccount) -> Profile:
        return await profile_of(connection, account_of(stored, self._plans), Role.OWNER)

    async def _note(self, connection: AsyncConnection, account_id: int, action: Action, subject: str) -> None:
        await repository.note(connection, account_id, self._now(), audit.OPERATOR, action, subject)

    def _now(self) -> int:
        return int(self._clock.now())

    async def _account_id(self, connection: AsyncConnection, email: str) -> int:
        user = await repository.user_by_email(connection, email_address(email))
        if user is None:
            raise _no_such_user(email)
        return user.account_id


def _no_such_user(email: str) -> NoSuchAccount:
    return NoSuchAccount(f"Nobody has the e-mail address {email}; `registerwatch accounts list` shows all accounts.")
