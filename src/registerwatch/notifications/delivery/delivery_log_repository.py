"""The SQL of the log of deliveries. Each function takes the id of the account whose log it is.

Functions run in the transaction of the connection that they are given.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.notifications.models import EventType, LogCounts, LoggedDelivery, Outcome
from registerwatch.notifications.tables import deliveries, webhooks

_OUTCOMES: Mapping[Outcome, ColumnElement[bool]] = {
    Outcome.ACCEPTED: deliveries.c.is_accepted.is_(True),
    Outcome.FAILED: deliveries.c.is_accepted.is_(False),
    Outcome.UNDER_WAY: deliveries.c.is_accepted.is_(None),
}


async def counts(connection: AsyncConnection, account_id: int, target_id: int) -> LogCounts:
    """How many deliveries to a target of the account there are of each outcome."""
    counted = (
        select(deliveries.c.is_accepted, func.count())
        .join(webhooks, webhooks.c.id == deliveries.c.webhook_id)
        .where(deliveries.c.webhook_id == target_id, webhooks.c.account_id == account_id)
        .group_by(deliveries.c.is_accepted)
    )
    numbers = {row[0]: row[1] for row in await connection.execute(counted)}
    return LogCounts(accepted=numbers.get(True, 0), failed=numbers.get(False, 0), under_way=numbers.get(None, 0))


async def page(
    connection: AsyncConnection,
    account_id: int,
    target_id: int,
    outcome: Outcome | None,
    *,
    offset: int,
    limit: int,
    body_length: int,
) -> Sequence[LoggedDelivery]:
    """Deliveries to a target of the account, newest first, with the first characters of their bodies."""
    rows: Select[*tuple[Any, ...]] = (
        select(
            deliveries.c.id,
            deliveries.c.type,
            deliveries.c.created_at,
            deliveries.c.finished_at,
            deliveries.c.is_accepted,
            deliveries.c.attempts,
            deliveries.c.status,
            deliveries.c.error,
            deliveries.c.milliseconds,
            func.substr(deliveries.c.body, 1, body_length),
            func.length(deliveries.c.body),
            deliveries.c.due_at,
            deliveries.c.round,
        )
        .where(deliveries.c.account_id == account_id, deliveries.c.webhook_id == target_id)
        .order_by(deliveries.c.created_at.desc(), deliveries.c.id)
        .offset(offset)
        .limit(limit)
    )
    if outcome is not None:
        rows = rows.where(_OUTCOMES[outcome])
    return [_logged_of(*row) for row in await connection.execute(rows)]


async def failing_since(
    connection: AsyncConnection, account_id: int, target_id: int | None = None
) -> Mapping[int, int]:
    """When the first delivery failed since the last accepted one, by the ids of those targets of the account whose last
    delivery failed, or for one of these alone.
    """
    chosen = [webhooks.c.account_id == account_id, webhooks.c.last_ok.is_(False)]
    if target_id is not None:
        chosen.append(webhooks.c.id == target_id)
    accepted_at = func.max(case((deliveries.c.is_accepted.is_(True), deliveries.c.finished_at), else_=0))
    last_accepted = (
        select(webhooks.c.id, func.coalesce(accepted_at, 0).label("accepted_at"))
        .outerjoin(deliveries, deliveries.c.webhook_id == webhooks.c.id)
        .where(*chosen)
        .group_by(webhooks.c.id)
        .subquery()
    )
    failed_later = and_(
        deliveries.c.webhook_id == last_accepted.c.id,
        deliveries.c.is_accepted.is_(False),
        deliveries.c.finished_at > last_accepted.c.accepted_at,
    )
    since = (
        select(last_accepted.c.id, func.min(deliveries.c.finished_at))
        .join(deliveries, failed_later)
        .group_by(last_accepted.c.id)
    )
    return {row[0]: row[1] for row in await connection.execute(since)}


def _logged_of(
    delivery_id: str,
    event_type: str,
    created_at: int,
    finished_at: int | None,
    is_accepted: bool | None,
    attempts: int,
    status: int | None,
    error: str,
    milliseconds: int | None,
    body: str | None,
    length: int | None,
    due_at: int | None,
    put_off: int,
) -> LoggedDelivery:
    return LoggedDelivery(
        id=delivery_id,
        type=EventType(event_type),
        created_at=created_at,
        finished_at=finished_at,
        outcome=_outcome_of(is_accepted),
        attempts=attempts,
        status=status,
        error=error,
        milliseconds=milliseconds,
        body=body,
        length=length or 0,
        due_at=due_at,
        round=put_off,
    )


def _outcome_of(is_accepted: bool | None) -> Outcome:
    if is_accepted is None:
        return Outcome.UNDER_WAY
    return Outcome.ACCEPTED if is_accepted else Outcome.FAILED
