"""The SQL of an account's targets over all channels, and of their waiting deliveries. Each function but one takes its
id.

Functions run in the transaction of the connection that they are given.
"""

from collections.abc import Collection, Sequence

import msgspec
from sqlalchemy import ColumnElement, and_, delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.tables import accounts
from registerwatch.notifications.gathered_batches import GATHERED
from registerwatch.notifications.models import EventType, Target
from registerwatch.notifications.tables import deliveries, webhooks
from registerwatch.notifications.targets.target_repository import TARGET, target_of


class WaitingDelivery(msgspec.Struct, frozen=True):
    """A digest that is not due yet, a delivery for the end of the account's pause, or a gathered one."""

    id: str
    target_id: int
    batch: str
    due_at: int


async def of_account(connection: AsyncConnection, account_id: int) -> Sequence[Target]:
    """The account's targets of every channel, those of its users too, oldest first."""
    found = TARGET.where(webhooks.c.account_id == account_id).order_by(webhooks.c.id)
    return [target_of(row) for row in await connection.execute(found)]


async def of_user(connection: AsyncConnection, account_id: int, user_id: int) -> Sequence[Target]:
    """The targets of a user of the account, oldest first."""
    found = TARGET.where(webhooks.c.account_id == account_id, webhooks.c.user_id == user_id)
    return [target_of(row) for row in await connection.execute(found.order_by(webhooks.c.id))]


async def with_pause(connection: AsyncConnection, account_id: int) -> tuple[Sequence[Target], int | None]:
    """The account's targets of every channel, and until when its notifications wait or waited last, in one statement if
    there is a target; None where they never do.
    """
    of_accounts = TARGET.add_columns(accounts.c.paused_until).join(accounts, accounts.c.id == webhooks.c.account_id)
    found = await connection.execute(of_accounts.where(webhooks.c.account_id == account_id).order_by(webhooks.c.id))
    rows = found.all()
    until = rows[0].paused_until if rows else await paused_until(connection, account_id)
    return [target_of(row[:-1]) for row in rows], until


async def lock(connection: AsyncConnection, account_id: int, target_id: int | None = None) -> None:
    """Prevent new deliveries to a target of the account, or to any of them, until this transaction ends."""
    locked = select(webhooks.c.id).where(webhooks.c.account_id == account_id)
    if target_id is not None:
        locked = locked.where(webhooks.c.id == target_id)
    await connection.execute(locked.order_by(webhooks.c.id).with_for_update())


async def paused_until(connection: AsyncConnection, account_id: int) -> int | None:
    """Until when the notifications of an account wait or waited last; None where they never do."""
    found = select(accounts.c.paused_until).where(accounts.c.id == account_id)
    until: int | None = (await connection.execute(found)).scalar_one_or_none()
    return until


async def set_paused_until(connection: AsyncConnection, account_id: int, until: int | None) -> None:
    """Make the notifications of an account wait until an instant; None ends that."""
    await connection.execute(update(accounts).where(accounts.c.id == account_id).values(paused_until=until))


async def waiting(
    connection: AsyncConnection, account_id: int, now: int, target_id: int | None = None
) -> Sequence[WaitingDelivery]:
    """Waiting deliveries of a target of the account or of all, oldest first, and gathered ones, due or not. No worker
    claims them before this transaction ends.
    """
    is_scheduled = and_(deliveries.c.is_scheduled.is_(True), deliveries.c.due_at > now)
    found = select(deliveries.c.id, deliveries.c.webhook_id, deliveries.c.batch, deliveries.c.due_at).where(
        *_unwritten(account_id, target_id),
        or_(is_scheduled, deliveries.c.batch.startswith(f"{GATHERED}:")),
        deliveries.c.leased_until == 0,
    )
    ordered = found.order_by(deliveries.c.webhook_id, deliveries.c.created_at, deliveries.c.id).with_for_update()
    return [WaitingDelivery(*row) for row in await connection.execute(ordered)]


async def forget(connection: AsyncConnection, account_id: int, delivery_ids: Collection[str]) -> None:
    """Delete deliveries whose events are in others."""
    of_ids = deliveries.c.account_id == account_id, deliveries.c.id.in_(delivery_ids)
    await connection.execute(delete(deliveries).where(*of_ids))


async def set_due(connection: AsyncConnection, account_id: int, delivery_ids: Collection[str], due_at: int) -> None:
    """Change the due time of waiting deliveries."""
    of_ids = deliveries.c.account_id == account_id, deliveries.c.id.in_(delivery_ids)
    await connection.execute(update(deliveries).where(*of_ids).values(due_at=due_at))


async def drop_waiting(connection: AsyncConnection, account_id: int, target_id: int, now: int) -> None:
    """Send no more waiting deliveries to a target: untried ones are deleted, failed ones are not repeated.

    Those that a worker is sending meanwhile are sent.
    """
    unleased = deliveries.c.leased_until <= now
    await connection.execute(delete(deliveries).where(*_unwritten(account_id, target_id), unleased))
    repeated = (
        deliveries.c.account_id == account_id,
        deliveries.c.webhook_id == target_id,
        deliveries.c.due_at.is_not(None),
        unleased,
    )
    ended = update(deliveries).where(*repeated).values(due_at=None, finished_at=now, is_accepted=False)
    await connection.execute(ended)


async def accounts_with_failing(connection: AsyncConnection, since: int) -> Sequence[int]:
    """Accounts with a target that has failed since an instant or longer, and is not paused."""
    failing = webhooks.c.failing_since <= since, webhooks.c.paused_at.is_(None)
    found = select(webhooks.c.account_id).where(*failing).distinct().order_by(webhooks.c.account_id)
    return (await connection.execute(found)).scalars().all()


async def count(connection: AsyncConnection, account_id: int, channel: str) -> int:
    """How many targets the account has in a channel."""
    counted = select(func.count()).where(webhooks.c.account_id == account_id, webhooks.c.channel == channel)
    number: int = (await connection.execute(counted)).scalar_one()
    return number


def _unwritten(account_id: int, target_id: int | None) -> Sequence[ColumnElement[bool]]:
    """Deliveries of events that were not tried yet."""
    found = [
        deliveries.c.account_id == account_id,
        deliveries.c.type == EventType.CHANGED.value,
        deliveries.c.body.is_(None),
        deliveries.c.due_at.is_not(None),
    ]
    return found if target_id is None else [*found, deliveries.c.webhook_id == target_id]
