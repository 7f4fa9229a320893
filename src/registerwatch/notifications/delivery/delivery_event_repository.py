"""The SQL of the events in deliveries without a body: rendered, a line each, those of one put in one row.

So adding events costs the same however many wait already. Functions run in the transaction of the connection that they
are given.
"""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.notifications.tables import deliveries, delivery_events


async def add(connection: AsyncConnection, events: Mapping[str, Sequence[str]]) -> None:
    """Add rendered events, by the ids of their deliveries."""
    rows = [{"delivery_id": delivery_id, "events": "\n".join(lines)} for delivery_id, lines in events.items() if lines]
    if rows:
        await connection.execute(insert(delivery_events), rows)


async def of_claimed(
    connection: AsyncConnection, delivery_ids: Collection[str], leased_until: int
) -> Mapping[str, Sequence[str]]:
    """The events of claimed deliveries, by their ids, a text for each put in order.

    Deliveries that another worker has claimed since are left out, in the same statement: it may have deleted their
    events.
    """
    found = (
        select(deliveries.c.id, delivery_events.c.events)
        .outerjoin(delivery_events, delivery_events.c.delivery_id == deliveries.c.id)
        .where(deliveries.c.id.in_(delivery_ids), deliveries.c.leased_until == leased_until)
        .order_by(delivery_events.c.id)
    )
    events: dict[str, list[str]] = {}
    for delivery_id, lines in await connection.execute(found):
        events.setdefault(delivery_id, []).extend(() if lines is None else (lines,))
    return events


async def move(
    connection: AsyncConnection, account_id: int, delivery_ids: Collection[str], target_id: int, batch: str
) -> None:
    """Move events of some deliveries of the account to another one: that of a batch to a target."""
    of_account = deliveries.c.account_id == account_id
    joined = select(deliveries.c.id).where(
        of_account, deliveries.c.webhook_id == target_id, deliveries.c.batch == batch
    )
    moved = select(deliveries.c.id).where(of_account, deliveries.c.id.in_(delivery_ids))
    of_moved = delivery_events.c.delivery_id.in_(moved)
    await connection.execute(update(delivery_events).where(of_moved).values(delivery_id=joined.scalar_subquery()))


async def forget(connection: AsyncConnection, delivery_ids: Collection[str]) -> None:
    """Delete the events of deliveries whose body is stored."""
    await connection.execute(delete(delivery_events).where(delivery_events.c.delivery_id.in_(delivery_ids)))
