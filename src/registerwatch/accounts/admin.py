"""What the operator of the service does with accounts, from the command line."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import audit, repository
from registerwatch.accounts.audit import Action
from registerwatch.accounts.models import Account, Profile, Role
from registerwatch.accounts.plans import PlanName, Plans
from registerwatch.accounts.queries import account_of, profile_of
from registerwatch.accounts.validation import email_address
from registerwatch.clock import Clock, iso_utc
from registerwatch.db.engine import Database
from registerwatch.errors import NoSuchAccount


@dataclass(frozen=True, slots=True)
class AccountListing:
    """An account in the list of all."""

    account: Account
    users: int


class AccountAdmin:
    """Reads accounts and sets their plan and period."""

    def __init__(self, database: Database, plans: Plans, clock: Clock) -> None:
        self._database = database
        self._plans = plans
        self._clock = clock

    async def all(self) -> Sequence[AccountListing]:
        """Every account, oldest first."""
        async with self._database.reading() as connection:
            stored = await repository.all_accounts(connection)
        return [AccountListing(account_of(each, self._plans), users) for each, users in stored]

    async def profile(self, email: str) -> Profile:
        """The account of the user with this address. Raises `NoSuchAccount`."""
        async with self._database.reading() as connection:
            account_id = await self._account_id(connection, email)
            stored = await repository.account(connection, account_id)
            if stored is None:
                raise _no_such_user(email)
            return await profile_of(connection, account_of(stored, self._plans), Role.OWNER)

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
            await repository.note(
                connection,
                stored.id,
                now=int(self._clock.now()),
                actor=audit.OPERATOR,
                action=Action.PLAN_CHANGED,
                subject=f"{changed.plan} until {iso_utc(changed.expires_at)}",
            )
            return await profile_of(connection, account_of(changed, self._plans), Role.OWNER)

    async def _account_id(self, connection: AsyncConnection, email: str) -> int:
        user = await repository.user_by_email(connection, email_address(email))
        if user is None:
            raise _no_such_user(email)
        return user.account_id


def _no_such_user(email: str) -> NoSuchAccount:
    return NoSuchAccount(f"Nobody has the e-mail address {email}; `registerwatch accounts list` shows all accounts.")
