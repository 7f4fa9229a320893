"""The SQL of targets that mail, for reports of mail servers.

Functions run in the transaction of the connection that they are given. A report names a target, and no account:
functions that find one by its id or address are only for the reader of reports, which works for every account.
"""

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.passwords.confirmation_repository import UNDELIVERABLE
from registerwatch.accounts.tables import users
from registerwatch.notifications.models import EMAIL, Target
from registerwatch.notifications.tables import webhooks
from registerwatch.notifications.targets.target_repository import TARGET, target_of

_MAILS = webhooks.c.channel == EMAIL
_CAME_BACK = webhooks.c.paused_reason.startswith(UNDELIVERABLE, autoescape=True)


async def by_id(connection: AsyncConnection, target_id: int) -> Target | None:
    """The target with this id, where it mails, of any account."""
    row = (await connection.execute(TARGET.where(webhooks.c.id == target_id, _MAILS))).one_or_none()
    return target_of(row) if row is not None else None


async def by_address(connection: AsyncConnection, email: str) -> Target | None:
    """The target of the user with an address, of any account."""
    row = (await connection.execute(TARGET.where(users.c.email == email, _MAILS))).one_or_none()
    return target_of(row) if row is not None else None


async def pause(connection: AsyncConnection, account_id: int, target_id: int, *, now: int, reason: str) -> str | None:
    """Pause a target of the account that mails and is not paused; returns its user's address, None where nothing
    changed.

    One that was paused by hand stays so, for that reason.
    """
    of_account = webhooks.c.id == target_id, webhooks.c.account_id == account_id
    paused = update(webhooks).where(*of_account, _MAILS, webhooks.c.paused_at.is_(None))
    paused = paused.values(paused_at=now, paused_reason=reason)
    user_id = (await connection.execute(paused.returning(webhooks.c.user_id))).scalar_one_or_none()
    found = select(users.c.email).where(users.c.id == user_id, users.c.account_id == account_id)
    return None if user_id is None else (await connection.execute(found)).scalar_one_or_none()


async def count(connection: AsyncConnection) -> int:
    """How many targets of all accounts are paused because mails came back."""
    counted = select(func.count()).where(_MAILS, webhooks.c.paused_at.is_not(None), _CAME_BACK)
    return (await connection.execute(counted)).scalar_one()
