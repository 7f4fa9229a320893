"""The shares of an account: those of its plan, and less for a trial without an owner with a confirmed address."""

from sqlalchemy import exists, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.models import Role
from registerwatch.accounts.plans import UNCONFIRMED_STORED_BYTES, UNCONFIRMED_WORK_SECONDS, Plan, PlanName, Plans
from registerwatch.accounts.tables import accounts, users
from registerwatch.platform.structs import replace


class PlanShares:
    """Plans of accounts. With `needs_confirmation` a trial without a confirmed owner has smaller shares."""

    def __init__(self, plans: Plans, *, needs_confirmation: bool) -> None:
        self._plans = plans
        self._needs_confirmation = needs_confirmation

    async def of(self, connection: AsyncConnection, account_id: int) -> Plan | None:
        """The plan of an account; None where there is no such account."""
        is_owner = (users.c.account_id == accounts.c.id) & (users.c.role == Role.OWNER.value)
        is_confirmed = exists().where(is_owner, users.c.confirmed_at.is_not(None))
        found = select(accounts.c.plan, is_confirmed).where(accounts.c.id == account_id)
        row = (await connection.execute(found)).one_or_none()
        if row is None:
            return None
        name, confirmed = row
        plan = self._plans[PlanName(name)]
        if not self._needs_confirmation or name != PlanName.TRIAL or confirmed:
            return plan
        return replace(plan, work_seconds=UNCONFIRMED_WORK_SECONDS, stored_bytes=UNCONFIRMED_STORED_BYTES)
