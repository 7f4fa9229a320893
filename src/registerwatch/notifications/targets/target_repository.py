"""The SQL of targets. Each function takes the id of the target's account.

Functions run in the transaction of the connection that they are given.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Text, bindparam, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.tables import accounts, users
from registerwatch.notifications.choices import choice_of
from registerwatch.notifications.models import Target
from registerwatch.notifications.tables import webhooks

TARGET = select(
    webhooks.c.id,
    webhooks.c.account_id,
    webhooks.c.channel,
    webhooks.c.url,
    webhooks.c.secret,
    webhooks.c.old_secret,
    webhooks.c.old_secret_until,
    webhooks.c.is_first,
    webhooks.c.created_at,
    webhooks.c.last_at,
    webhooks.c.last_ok,
    webhooks.c.last_error,
    webhooks.c.name,
    webhooks.c.choice,
    func.coalesce(users.c.time_zone, webhooks.c.time_zone).label("time_zone"),
    webhooks.c.repeats,
    webhooks.c.failing_since,
    webhooks.c.paused_at,
    webhooks.c.paused_reason,
    webhooks.c.user_id,
    users.c.email.label("user_email"),
    users.c.confirmed_at.is_not(None).label("is_proven"),
).select_from(webhooks.outerjoin(users, users.c.id == webhooks.c.user_id))
"""Every column of a target, in the order of its fields."""
TARGETS = TARGET.where(
    webhooks.c.account_id == bindparam("account_id", type_=BigInteger),
    webhooks.c.channel == bindparam("channel", type_=Text),
).order_by(webhooks.c.is_first.desc(), webhooks.c.id)
"""The targets of the account `account_id` in `channel`, the first one first, then the oldest."""


def target_of(row: Sequence[Any]) -> Target:
    """A row of `TARGETS`, in which SQLite has numbers for truth values."""
    target = Target(*row)
    stored: str | None = row[13]
    return replace(
        target,
        is_first=bool(target.is_first),
        last_ok=None if target.last_ok is None else bool(target.last_ok),
        choice=choice_of(stored),
        repeats=bool(target.repeats),
        is_proven=bool(target.is_proven),
    )


async def of_account(connection: AsyncConnection, account_id: int, channel: str) -> Sequence[Target]:
    """The account's targets in a channel, the first one first, then the oldest."""
    rows = await connection.execute(TARGETS, {"account_id": account_id, "channel": channel})
    return [target_of(row) for row in rows]


async def by_id(connection: AsyncConnection, account_id: int, target_id: int) -> Target | None:
    """A target of the account."""
    found = TARGET.where(*_is_target(account_id, target_id))
    row = (await connection.execute(found)).one_or_none()
    return target_of(row) if row is not None else None


async def add(connection: AsyncConnection, account_id: int, values: Mapping[str, Any], now: int) -> int:
    """Add a target with these columns; its id."""
    row = {"account_id": account_id, "is_first": False, "created_at": now, **values}
    added: int = (await connection.execute(insert(webhooks).values(row).returning(webhooks.c.id))).scalar_one()
    return added


async def change(connection: AsyncConnection, account_id: int, target_id: int, values: Mapping[str, Any]) -> None:
    """Set these columns of a target of the account."""
    await connection.execute(update(webhooks).where(*_is_target(account_id, target_id)).values(values))


async def remove(connection: AsyncConnection, account_id: int, target_id: int) -> None:
    """Remove a target of the account with its deliveries, if it is one."""
    await connection.execute(delete(webhooks).where(*_is_target(account_id, target_id)))


async def lock_targets(
    connection: AsyncConnection, account_ids: Collection[int], channels: Collection[str]
) -> Sequence[Target]:
    """The targets of some accounts in some channels. None of them is removed before this transaction ends."""
    found = (
        TARGET.where(webhooks.c.account_id.in_(account_ids), webhooks.c.channel.in_(channels))
        .order_by(webhooks.c.id)
        .with_for_update(read=True, key_share=True, of=webhooks)
    )
    return [target_of(row) for row in await connection.execute(found)]


async def pauses(connection: AsyncConnection, account_ids: Collection[int]) -> Mapping[int, int]:
    """Ends (unix seconds) of the notification pauses of those of the accounts that have one."""
    paused = select(accounts.c.id, accounts.c.paused_until).where(
        accounts.c.id.in_(account_ids), accounts.c.paused_until.is_not(None)
    )
    return {row[0]: row[1] for row in await connection.execute(paused)}


def _is_target(account_id: int, target_id: int) -> Sequence[ColumnElement[bool]]:
    return webhooks.c.id == target_id, webhooks.c.account_id == account_id
