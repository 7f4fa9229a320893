"""The SQL of billing. Functions for an account's rows take the account's id.

Functions run in the transaction of the connection that they are given.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import BigInteger, ColumnElement, bindparam, delete, insert, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.plans import PlanName
from registerwatch.billing import provider
from registerwatch.billing.models import PaidSubscription, Period
from registerwatch.billing.provider import Subscription
from registerwatch.billing.tables import cancellations, checkouts, payers, payment_events, subscriptions
from registerwatch.platform.clock import CLOCK_DIFFERENCE_SECONDS

_OVER = (provider.CANCELED, provider.INCOMPLETE_EXPIRED)
_PAID = (
    subscriptions.c.id,
    subscriptions.c.customer_id,
    subscriptions.c.status,
    subscriptions.c.price_id,
    subscriptions.c.cancel_at_period_end,
    subscriptions.c.period_start,
    subscriptions.c.period_end,
    subscriptions.c.ended_at,
    subscriptions.c.had_trial,
    subscriptions.c.plan,
)
_CHECKOUT = (
    checkouts.c.attempt,
    checkouts.c.account_id,
    checkouts.c.terms,
    checkouts.c.session_id,
    checkouts.c.started_at,
)
PAID = (
    select(*_PAID)
    .where(subscriptions.c.account_id == bindparam("account_id", type_=BigInteger))
    .order_by(subscriptions.c.id)
)


class StartedCheckout(msgspec.Struct, frozen=True):
    """A checkout that was started here."""

    attempt: str
    account_id: int | None
    """None when the account is gone."""
    terms: str
    session_id: str | None
    """None before the provider has answered."""
    started_at: int


class Payer(msgspec.Struct, frozen=True):
    """An account that pays or has paid: its plan without payment, and what billing last wrote into the account."""

    version: int
    granted: Period
    written: Period


async def paid(connection: AsyncConnection, account_id: int) -> Sequence[PaidSubscription]:
    """The account's subscriptions, ended ones too."""
    return [paid_of(row) for row in await connection.execute(PAID, {"account_id": account_id})]


async def owner_of(connection: AsyncConnection, subscription_id: str) -> int | None:
    """The account of a subscription; None for one that is unknown here."""
    owner = select(subscriptions.c.account_id).where(subscriptions.c.id == subscription_id)
    account_id: int | None = (await connection.execute(owner)).scalar_one_or_none()
    return account_id


async def store(connection: AsyncConnection, account_id: int, paid: PaidSubscription, now: int) -> None:
    """Store a subscription of the account as the provider has it."""
    subscription = paid.subscription
    values = {
        "customer_id": subscription.customer_id,
        "status": subscription.status,
        "price_id": subscription.price_id,
        "plan": paid.plan,
        "cancel_at_period_end": subscription.cancel_at_period_end,
        "period_start": subscription.period_start,
        "period_end": subscription.period_end,
        "ended_at": subscription.ended_at,
        "had_trial": subscription.had_trial,
        "read_at": now,
    }
    of_account = subscriptions.c.id == subscription.id, subscriptions.c.account_id == account_id
    changed = await connection.execute(update(subscriptions).where(*of_account).values(values))
    if not changed.rowcount:
        await connection.execute(insert(subscriptions).values(id=subscription.id, account_id=account_id, **values))


async def overdue(
    connection: AsyncConnection, *, ended_before: int, read_before: int, now: int, most: int
) -> Sequence[str]:
    """Subscriptions whose period has ended by our clock and that were not read since, the longest unread first."""
    statement = (
        select(subscriptions.c.id)
        .where(
            subscriptions.c.status.not_in(_OVER),
            subscriptions.c.period_end < ended_before,
            _is_before(subscriptions.c.read_at, read_before, now),
        )
        .order_by(subscriptions.c.read_at, subscriptions.c.id)
        .limit(most)
    )
    return (await connection.execute(statement)).scalars().all()


async def unread(connection: AsyncConnection, subscription_id: str, now: int) -> None:
    """Note that a read from the provider gave no result."""
    await connection.execute(update(subscriptions).where(subscriptions.c.id == subscription_id).values(read_at=now))


async def payer(connection: AsyncConnection, account_id: int) -> Payer | None:
    """The account as a payer; None before a subscription was stored."""
    row = (await connection.execute(select(payers).where(payers.c.account_id == account_id))).one_or_none()
    if row is None:
        return None
    _, version, granted_plan, granted_until, set_plan, set_until = row
    return Payer(version, Period(PlanName(granted_plan), granted_until), Period(PlanName(set_plan), set_until))


async def store_payer(connection: AsyncConnection, account_id: int, payer: Payer) -> None:
    """Store it."""
    values = {
        "version": payer.version,
        "granted_plan": payer.granted.plan,
        "granted_until": payer.granted.until,
        "set_plan": payer.written.plan,
        "set_until": payer.written.until,
    }
    changed = await connection.execute(update(payers).where(payers.c.account_id == account_id).values(values))
    if not changed.rowcount:
        await connection.execute(insert(payers).values(account_id=account_id, **values))


async def latest_checkout(connection: AsyncConnection, account_id: int) -> StartedCheckout | None:
    """The checkout that the account started last."""
    statement = (
        select(*_CHECKOUT)
        .where(checkouts.c.account_id == account_id)
        .order_by(checkouts.c.started_at.desc(), checkouts.c.attempt)
        .limit(1)
    )
    row = (await connection.execute(statement)).one_or_none()
    return StartedCheckout(*row) if row is not None else None


async def checkout_by_session(connection: AsyncConnection, session_id: str) -> StartedCheckout | None:
    """A checkout by the provider's id, with the account that it belongs to."""
    row = (await connection.execute(select(*_CHECKOUT).where(checkouts.c.session_id == session_id))).one_or_none()
    return StartedCheckout(*row) if row is not None else None


async def open_checkouts(
    connection: AsyncConnection, *, started_before: int, asked_before: int, now: int, most: int
) -> Sequence[tuple[str, int]]:
    """Checkouts whose outcome is not known, by the provider's id, and when they were started; those that were not
    asked about for the longest time first.
    """
    statement = (
        select(checkouts.c.session_id, checkouts.c.started_at)
        .where(
            checkouts.c.session_id.is_not(None),
            checkouts.c.is_settled.is_(False),
            _is_before(checkouts.c.started_at, started_before, now),
            _is_before(checkouts.c.asked_at, asked_before, now),
        )
        .order_by(checkouts.c.asked_at, checkouts.c.attempt)
        .limit(most)
    )
    return [(row[0], row[1]) for row in await connection.execute(statement)]


async def note_read(connection: AsyncConnection, session_id: str, now: int, *, is_settled: bool) -> None:
    """Note that a checkout was read from the provider, and whether it is settled: complete or expired."""
    of_session = checkouts.c.session_id == session_id
    await connection.execute(update(checkouts).where(of_session).values(asked_at=now, is_settled=is_settled))


async def add_checkout(connection: AsyncConnection, started: StartedCheckout) -> None:
    """Store a checkout that is being started."""
    values = {
        "attempt": started.attempt,
        "account_id": started.account_id,
        "terms": started.terms,
        "started_at": started.started_at,
        "asked_at": 0,
        "is_settled": False,
    }
    await connection.execute(insert(checkouts).values(values))


async def set_session_id(connection: AsyncConnection, attempt: str, session_id: str) -> None:
    """Note the provider's id of a checkout."""
    await connection.execute(update(checkouts).where(checkouts.c.attempt == attempt).values(session_id=session_id))


async def has_event(connection: AsyncConnection, event_id: str) -> bool:
    """Whether an event was applied before."""
    statement = select(payment_events.c.id).where(payment_events.c.id == event_id)
    return (await connection.execute(statement)).one_or_none() is not None


async def add_event(connection: AsyncConnection, event_id: str, event_type: str, now: int) -> None:
    """Note that an event is applied; a second time changes nothing."""
    values = {"id": event_id, "type": event_type, "received_at": now}
    await _add_once(connection, payment_events, values)


async def add_cancellation(connection: AsyncConnection, subscription_id: str, now: int) -> None:
    """Note that the provider has to end a subscription whose account was deleted."""
    await _add_once(connection, cancellations, {"subscription_id": subscription_id, "asked_at": now, "tried_at": 0})


async def due_cancellations(connection: AsyncConnection, *, tried_before: int, now: int, most: int) -> Sequence[str]:
    """Subscriptions to end, the longest untried first."""
    statement = (
        select(cancellations.c.subscription_id)
        .where(_is_before(cancellations.c.tried_at, tried_before, now))
        .order_by(cancellations.c.tried_at, cancellations.c.subscription_id)
        .limit(most)
    )
    return (await connection.execute(statement)).scalars().all()


async def note_cancellation_tried(connection: AsyncConnection, subscription_id: str, now: int) -> None:
    """Note that ending it failed."""
    of_subscription = cancellations.c.subscription_id == subscription_id
    await connection.execute(update(cancellations).where(of_subscription).values(tried_at=now))


async def remove_cancellation(connection: AsyncConnection, subscription_id: str) -> None:
    """Remove the cancellation of a subscription that was ended."""
    await connection.execute(delete(cancellations).where(cancellations.c.subscription_id == subscription_id))


async def forget(connection: AsyncConnection, before: int) -> int:
    """Delete events and checkouts that are older; returns how many."""
    events = await connection.execute(delete(payment_events).where(payment_events.c.received_at < before))
    started = await connection.execute(delete(checkouts).where(checkouts.c.started_at < before))
    return events.rowcount + started.rowcount


def paid_of(row: Sequence[Any]) -> PaidSubscription:
    """A row of `PAID`."""
    *texts, cancel_at_period_end, period_start, period_end, ended_at, had_trial, plan = row
    subscription_id, customer_id, status, price_id = texts
    subscription = Subscription(
        id=subscription_id,
        customer_id=customer_id,
        status=status,
        price_id=price_id,
        cancel_at_period_end=bool(cancel_at_period_end),
        period_start=period_start,
        period_end=period_end,
        ended_at=ended_at,
        had_trial=bool(had_trial),
    )
    return PaidSubscription(subscription, PlanName(plan))


async def _add_once(connection: AsyncConnection, table: Any, values: dict[str, object]) -> None:
    insert_into = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    await connection.execute(insert_into(table).values(values).on_conflict_do_nothing())


def _is_before(column: ColumnElement[int], instant: int, now: int) -> ColumnElement[bool]:
    """Whether a stored instant lies before another one, or so far ahead that the clock was put back since."""
    return or_(column < instant, column > now + CLOCK_DIFFERENCE_SECONDS)
