"""Accounts as domain objects: rows of the database joined with the table of plans."""

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.models import Account, Profile, Role
from registerwatch.accounts.plans import PlanName, Plans
from registerwatch.accounts.repository import StoredAccount


def account_of(stored: StoredAccount, plans: Plans) -> Account:
    """An account with its plan."""
    plan = plans[PlanName(stored.plan)]
    return Account(stored.id, stored.email, stored.name, plan, stored.expires_at, stored.created_at)


async def profile_of(connection: AsyncConnection, account: Account, role: Role) -> Profile:
    """An account with its people and programs."""
    users = await repository.users_of(connection, account.id)
    return Profile(account, role, users, await repository.keys_of(connection, account.id))
