"""The SQL of deliveries. Functions for an account's rows take its id.

Functions run in the transaction of the connection that they are given. `claim` and those after it are for the worker,
which delivers for every account.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import BindParameter, Row, TextClause, and_, bindparam, delete, func, insert, or_, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.tables import accounts, users
from registerwatch.notifications.delivery import delivery_event_repository
from registerwatch.notifications.gathered_batches import gathered_batch_of
from registerwatch.notifications.models import (
    PAUSED_AS_FAILING,
    AttemptResult,
    Delivery,
    EventType,
    Notification,
    Target,
    new_delivery_id,
)
from registerwatch.notifications.tables import deliveries, webhooks
from registerwatch.notifications.targets.target_repository import TARGET, target_of
from registerwatch.platform.clock import CLOCK_DIFFERENCE_SECONDS

MAX_TESTS = 200
"""Listed tests of one target. A trial may send 20 a minute."""

MAX_HELD_SECONDS = 3_600
"""More than any delivery is held for its batch."""

_DELIVERY = select(
    deliveries.c.id,
    deliveries.c.account_id,
    deliveries.c.webhook_id,
    deliveries.c.type,
    deliveries.c.batch,
    deliveries.c.created_at,
    deliveries.c.body,
    deliveries.c.attempts,
    deliveries.c.finished_at,
    deliveries.c.is_accepted,
    deliveries.c.status,
    deliveries.c.error,
    deliveries.c.milliseconds,
    deliveries.c.due_at,
    deliveries.c.round,
    deliveries.c.handed_over_at,
)
_DELIVERY_COLUMNS = len(_DELIVERY.selected_columns)


class ClaimedDelivery(msgspec.Struct, frozen=True):
    """A delivery that this worker may send until its lease ends, with its target and the account's address.

    `events` are rendered, a line each, a text for all of one put. There are none where the body is written.
    """

    delivery: Delivery
    target: Target
    email: str
    leased_until: int
    events: Sequence[str] = ()

    @property
    def notification(self) -> Notification:
        """Its data beside its events."""
        return Notification(self.delivery.id, self.delivery.type, self.delivery.created_at, self.email)


class NewDelivery(msgspec.Struct, frozen=True):
    """Rendered events for one target, each in one line. Those of one batch join one delivery, due at `due_at`.

    With `is_scheduled` that may be days from now: it is not released before.
    """

    target: Target
    batch: str
    due_at: int
    events: Sequence[str]
    is_scheduled: bool = False


class FinishedDelivery(msgspec.Struct, frozen=True):
    """The result of a delivery: its last one, after so many attempts. It counts while the lease is the sender's.

    With `again_at` it has not ended: it falls due again then (unix seconds), with the same id and body.
    """

    delivery_id: str
    target_id: int
    leased_until: int
    result: AttemptResult
    attempts: int
    again_at: int | None = None


async def put(connection: AsyncConnection, new: Sequence[NewDelivery], now: int) -> Sequence[NewDelivery]:
    """Add events to one delivery of a batch to each target, and make missing ones. A gathered one that is not due yet
    is due at the later of the two times.

    Returns those whose delivery was claimed already: nothing is added to that. No worker claims the others before this
    transaction ends.
    """
    rows = [
        {
            "id": new_delivery_id(),
            "account_id": each.target.account_id,
            "webhook_id": each.target.id,
            "channel": each.target.channel,
            "type": EventType.CHANGED.value,
            "batch": each.batch,
            "now": now,
            "due_at": each.due_at,
            "is_scheduled": each.is_scheduled,
            "is_gathered": gathered_batch_of(each.batch) is not None,
        }
        for each in new
    ]
    if not rows:
        return ()
    await connection.execute(_PUT, rows)
    waiting = await unclaimed(connection, {each.target.id for each in new}, {each.batch for each in new})
    joined = {waiting[_key(each)]: each.events for each in new if _key(each) in waiting}
    await delivery_event_repository.add(connection, joined)
    return [each for each in new if _key(each) not in waiting]


async def unclaimed(
    connection: AsyncConnection, target_ids: Collection[int], batches: Collection[str]
) -> Mapping[tuple[int, str], str]:
    """The ids of the deliveries of some batches to some targets that no worker has claimed, by target and batch."""
    found = select(deliveries.c.webhook_id, deliveries.c.batch, deliveries.c.id).where(
        deliveries.c.batch.in_(batches),
        deliveries.c.webhook_id.in_(target_ids),
        deliveries.c.body.is_(None),
        deliveries.c.leased_until == 0,
        deliveries.c.due_at.is_not(None),
    )
    return {(target_id, batch): delivery_id for target_id, batch, delivery_id in await connection.execute(found)}


def _key(new: NewDelivery) -> tuple[int, str]:
    """The target and the batch, which identify a delivery."""
    return new.target.id, new.batch


async def add_test(connection: AsyncConnection, target: Target, notification: Notification, body: str) -> None:
    """Add a test that the request itself sends; no worker claims it. Of earlier ones the newest stay listed."""
    await _forget_old_tests(connection, target)
    values = {
        "id": notification.id,
        "account_id": target.account_id,
        "webhook_id": target.id,
        "channel": target.channel,
        "type": notification.type.value,
        "batch": notification.id,
        "created_at": notification.created_at,
        "due_at": None,
        "leased_until": 0,
        "body": body,
        "attempts": 0,
        "error": "",
    }
    await connection.execute(insert(deliveries).values(values))


async def _forget_old_tests(connection: AsyncConnection, target: Target) -> None:
    tests = deliveries.c.webhook_id == target.id, deliveries.c.type == EventType.TEST.value
    newest = select(deliveries.c.id).where(*tests).order_by(deliveries.c.created_at.desc()).limit(MAX_TESTS - 1)
    ended = *tests, deliveries.c.due_at.is_(None), deliveries.c.finished_at.is_not(None)
    await connection.execute(delete(deliveries).where(*ended, deliveries.c.id.not_in(newest)))


async def release(connection: AsyncConnection, batch: str, now: int) -> None:
    """Make the held deliveries of a batch due."""
    held = deliveries.c.batch == batch, deliveries.c.due_at > now, deliveries.c.body.is_(None)
    await connection.execute(update(deliveries).where(*held).values(due_at=now))


async def claim(
    connection: AsyncConnection,
    channels: Collection[str],
    *,
    now: int,
    lease_until: int,
    limit: int,
    limit_per_target: int,
    candidates: int | None = None,
) -> Sequence[ClaimedDelivery]:
    """Claim due deliveries of some channels, few of each target, so that a slow one delays no other.

    Deliveries whose targets have the fewest under way come first, then the oldest: so slow targets, however many, get
    only the capacity that quick ones leave.

    When a worker dies, its deliveries fall due again at the end of the lease. A due time or lease further ahead than
    any can be is of before the clock was put back: such deliveries are due now. Deliveries of channels that a newer
    release added are left to its nodes.

    With `candidates` only that many of the oldest are looked at: where one server takes all, no target is slower than
    others, and thousands may be due at the same hour.
    """
    values = {
        "channels": list(channels),
        "now": now,
        "lease_until": lease_until,
        "latest_due": now + MAX_HELD_SECONDS,
        "latest_lease": lease_until + CLOCK_DIFFERENCE_SECONDS,
        "limit": limit,
        "limit_per_target": limit_per_target,
    }
    statements = _CLAIM
    if candidates is not None:
        statements, values = _CLAIM_OLDEST, {**values, "candidates": candidates}
    claimed = [row.id for row in await connection.execute(statements[connection.dialect.name], values)]
    if not claimed:
        return []
    found = (
        _DELIVERY.add_columns(
            accounts.c.email,
            *(column.label(f"w_{column.name}") for column in TARGET.selected_columns),
        )
        .join(webhooks, webhooks.c.id == deliveries.c.webhook_id)
        .join(accounts, accounts.c.id == deliveries.c.account_id)
        .outerjoin(users, users.c.id == webhooks.c.user_id)
        .where(deliveries.c.id.in_(claimed))
    )
    return [_claimed_of(row, lease_until) for row in await connection.execute(found)]


async def set_bodies(
    connection: AsyncConnection, bodies: Mapping[str, str | None], leased_until: int
) -> Mapping[str, str | None]:
    """Store bodies, by the ids of claimed deliveries, so that every attempt sends the same; None is not stored.

    Returns the bodies as stored now, only of deliveries that no other worker has claimed since: the rest are unchanged.
    """
    if not bodies:
        return {}
    held = select(deliveries.c.id, deliveries.c.body).where(
        deliveries.c.id.in_(bodies), deliveries.c.leased_until == leased_until
    )
    locked = (await connection.execute(held.order_by(deliveries.c.id).with_for_update())).all()
    stored: dict[str, str | None] = {row.id: row.body for row in locked}
    new = {delivery_id: bodies[delivery_id] for delivery_id, body in stored.items() if body is None}
    rows = [{"delivery_id": delivery_id, "content": body} for delivery_id, body in new.items() if body is not None]
    if rows:
        await connection.execute(_SET_BODY, rows)
        await delivery_event_repository.forget(connection, [row["delivery_id"] for row in rows])
    return stored | new


async def hand_over(connection: AsyncConnection, delivery_id: str, leased_until: int, now: int) -> bool:
    """Note that a transfer that must happen once begins. False where the lease is another's by now."""
    begun = update(deliveries).where(deliveries.c.id == delivery_id, deliveries.c.leased_until == leased_until)
    return (await connection.execute(begun.values(handed_over_at=now))).rowcount == 1


async def finish(connection: AsyncConnection, ended: Sequence[FinishedDelivery], now: int) -> None:
    """Store that deliveries have ended, with or without success, also with their targets.

    Targets are changed first, as where one is removed with its deliveries: else the two could deadlock.
    """
    rows = [
        {
            "delivery_id": each.delivery_id,
            "webhook_id": each.target_id,
            "leased_until": each.leased_until,
            "attempts": each.attempts,
            "is_accepted": each.result.is_accepted,
            "status": each.result.status,
            "error": each.result.error,
            "milliseconds": each.result.milliseconds,
            "is_uncertain": each.result.is_uncertain,
            "again_at": each.again_at,
            "has_ended": each.again_at is None,
            "as_failing": PAUSED_AS_FAILING,
            "now": now,
        }
        for each in ended
    ]
    last = {each.target_id: row for each, row in zip(ended, rows, strict=True)}
    rows.sort(key=lambda row: (row["webhook_id"], row["delivery_id"]))
    if rows:
        await connection.execute(_LAST, [last[webhook_id] for webhook_id in sorted(last)])
        await connection.execute(_FINISH, rows)


async def log_of(
    connection: AsyncConnection, account_id: int, target_id: int, limit: int, after: Delivery | None = None
) -> Sequence[Delivery]:
    """The newest deliveries to a target of the account, those that come after one in this order."""
    found = _DELIVERY.where(deliveries.c.account_id == account_id, deliveries.c.webhook_id == target_id)
    if after is not None:
        at_once = and_(deliveries.c.created_at == after.created_at, deliveries.c.id > after.id)
        found = found.where(or_(deliveries.c.created_at < after.created_at, at_once))
    newest = found.order_by(deliveries.c.created_at.desc(), deliveries.c.id).limit(limit)
    return [_delivery_of(row) for row in await connection.execute(newest)]


async def by_id(connection: AsyncConnection, account_id: int, target_id: int, delivery_id: str) -> Delivery | None:
    """A delivery to a target of the account."""
    found = _DELIVERY.where(
        deliveries.c.account_id == account_id, deliveries.c.webhook_id == target_id, deliveries.c.id == delivery_id
    )
    row = (await connection.execute(found)).one_or_none()
    return _delivery_of(row) if row is not None else None


async def send_again(connection: AsyncConnection, account_id: int, target_id: int, delivery_id: str, now: int) -> bool:
    """Make a delivery that has ended, or waits for its round, due now, unchanged. False where there is none."""
    waits = and_(deliveries.c.round > 0, deliveries.c.leased_until == 0)
    again = (
        update(deliveries)
        .where(
            deliveries.c.account_id == account_id,
            deliveries.c.webhook_id == target_id,
            deliveries.c.id == delivery_id,
            or_(deliveries.c.finished_at.is_not(None), waits),
        )
        .values(due_at=now, finished_at=None, is_accepted=None, round=0, handed_over_at=None)
    )
    return (await connection.execute(again)).rowcount == 1


async def delete_finished(connection: AsyncConnection, before: int) -> int:
    """Delete deliveries that ended before an instant, and tests whose process died; returns how many."""
    ended_at = func.coalesce(deliveries.c.finished_at, deliveries.c.created_at)
    over = deliveries.c.due_at.is_(None), ended_at < before
    return (await connection.execute(delete(deliveries).where(*over))).rowcount


async def waiting(connection: AsyncConnection) -> tuple[int, int | None]:
    """How many deliveries have not ended, and since when the oldest is due."""
    counted = select(func.count(), func.min(deliveries.c.due_at)).where(deliveries.c.due_at.is_not(None))
    number, oldest = (await connection.execute(counted)).one()
    return number, oldest


_PUT = text(
    "INSERT INTO deliveries"
    " (id, account_id, webhook_id, channel, type, batch, created_at, due_at, is_scheduled, leased_until, attempts,"
    " error)"
    " VALUES (:id, :account_id, :webhook_id, :channel, :type, :batch, :now, :due_at, :is_scheduled, 0, 0, '')"
    " ON CONFLICT (webhook_id, batch) DO UPDATE SET due_at = excluded.due_at"  # PostgreSQL locks the others, too
    " WHERE CAST(:is_gathered AS BOOLEAN) AND deliveries.due_at > :now AND deliveries.due_at < excluded.due_at"
    " AND deliveries.leased_until = 0 AND deliveries.body IS NULL"
)

_SET_BODY = text("UPDATE deliveries SET body = :content WHERE id = :delivery_id")
_FINISH = text(
    "UPDATE deliveries SET due_at = :again_at, leased_until = 0, attempts = attempts + :attempts,"
    " finished_at = CASE WHEN :has_ended THEN CAST(:now AS BIGINT) END,"
    " is_accepted = CASE WHEN :has_ended THEN CAST(:is_accepted AS BOOLEAN) END,"
    " is_scheduled = is_scheduled OR NOT :has_ended,"
    " round = round + CASE WHEN :has_ended THEN 0 ELSE 1 END,"
    " handed_over_at = CASE WHEN :is_accepted OR :is_uncertain THEN handed_over_at END,"
    " status = :status, error = :error, milliseconds = :milliseconds"
    " WHERE id = :delivery_id AND leased_until = :leased_until"
)
_LAST = text(
    "UPDATE webhooks SET last_at = :now, last_ok = :is_accepted, last_error = :error,"
    " failing_since = CASE WHEN :is_accepted THEN NULL ELSE COALESCE(failing_since, CAST(:now AS BIGINT)) END,"
    " paused_at = CASE WHEN :is_accepted AND paused_reason = :as_failing THEN NULL ELSE paused_at END,"
    " paused_reason = CASE WHEN :is_accepted AND paused_reason = :as_failing THEN '' ELSE paused_reason END"
    " WHERE id = :webhook_id"
)

_IS_DUE = (
    "(due_at <= :now OR (is_scheduled = FALSE AND due_at > :latest_due))"
    " AND (leased_until <= :now OR leased_until > :latest_lease)"
    " AND account_id NOT IN (SELECT id FROM accounts WHERE paused_until > :now)"
)
_DUE = f"SELECT id, webhook_id, due_at, created_at FROM deliveries WHERE {_IS_DUE} AND channel IN :channels"  # noqa: S608  # no value of anybody is in it
# With the plus signs SQLite scans due deliveries, not the log of all targets in the order of its index.
_UNDER_WAY = (
    "SELECT webhook_id, count(*) AS number FROM deliveries"
    " WHERE due_at > 0 AND leased_until > :now AND leased_until <= :latest_lease GROUP BY +webhook_id, webhook_id"
)
_OLDEST = (
    f"{_DUE} AND webhook_id NOT IN (SELECT webhook_id FROM ({_UNDER_WAY}) busy WHERE number >= :limit_per_target)"  # noqa: S608
    " ORDER BY due_at LIMIT :candidates"
)
_FIRST_OF_EACH = (
    "SELECT id FROM (SELECT id, due_at, COALESCE(busy.number, 0)"  # noqa: S608
    " + row_number() OVER (PARTITION BY +due.webhook_id ORDER BY due_at, created_at, id) AS nth"
    f" FROM ({{}}) due LEFT JOIN ({_UNDER_WAY}) busy ON busy.webhook_id = due.webhook_id)"
    " ranked WHERE nth <= :limit_per_target ORDER BY nth, due_at LIMIT :limit"
)
_LEASE = "UPDATE deliveries SET leased_until = :lease_until WHERE id IN ({}) RETURNING id"
_CHANNELS: BindParameter[str] = bindparam("channels", expanding=True)


def _claim_of(source: str) -> dict[str, TextClause]:
    """The statement that claims deliveries of a source, by the kind of the database."""
    first = _FIRST_OF_EACH.format(source)
    unlocked = f"SELECT id FROM deliveries WHERE id IN ({first}) AND {_IS_DUE} FOR UPDATE SKIP LOCKED"  # noqa: S608
    return {
        "sqlite": text(_LEASE.format(first)).bindparams(_CHANNELS),
        "postgresql": text(_LEASE.format(unlocked)).bindparams(_CHANNELS),
    }


_CLAIM, _CLAIM_OLDEST = _claim_of(_DUE), _claim_of(_OLDEST)


def _delivery_of(row: Row[*tuple[Any, ...]]) -> Delivery:
    return Delivery(row.id, row.account_id, row.webhook_id, EventType(row.type), *row[4:_DELIVERY_COLUMNS])


def _claimed_of(row: Row[*tuple[Any, ...]], leased_until: int) -> ClaimedDelivery:
    return ClaimedDelivery(_delivery_of(row), target_of(row[_DELIVERY_COLUMNS + 1 :]), row.email, leased_until)
