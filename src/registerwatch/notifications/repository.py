"""The SQL of webhooks and deliveries. Whatever belongs to an account takes the account's id.

Functions run in the transaction of the connection that they are given. `claim` and what follows it serve the worker,
which delivers for every account.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import BigInteger, Row, bindparam, delete, func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.db.tables import accounts, deliveries, webhooks
from registerwatch.net.safe_http import PostResult
from registerwatch.notifications.channels.webhook_signature import new_delivery_id
from registerwatch.notifications.models import Delivery, EventType, Notification, Webhook

_WEBHOOK = select(
    webhooks.c.id,
    webhooks.c.account_id,
    webhooks.c.url,
    webhooks.c.secret,
    webhooks.c.old_secret,
    webhooks.c.old_secret_until,
    webhooks.c.is_first,
    webhooks.c.created_at,
    webhooks.c.last_at,
    webhooks.c.last_ok,
    webhooks.c.last_error,
)
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
)


WEBHOOKS = _WEBHOOK.where(webhooks.c.account_id == bindparam("account_id", type_=BigInteger)).order_by(
    webhooks.c.is_first.desc(), webhooks.c.id
)
"""The webhooks of the account `account_id`, the first one first, then the oldest."""


def webhook_of(row: Sequence[Any]) -> Webhook:
    """A row of `WEBHOOKS`, in which SQLite has numbers for truth values."""
    webhook = Webhook(*row)
    last_ok = None if webhook.last_ok is None else bool(webhook.last_ok)
    return replace(webhook, is_first=bool(webhook.is_first), last_ok=last_ok)


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A delivery that this worker may send until its lease ends, with its target and the account's address.

    `events` are rendered. It is None where the body is written, and where a node of the release before put it.
    """

    delivery: Delivery
    webhook: Webhook
    email: str
    leased_until: int
    events: Sequence[str] | None

    @property
    def notification(self) -> Notification:
        """What it says beside its events."""
        return Notification(self.delivery.id, self.delivery.type, self.delivery.created_at, self.email)


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """Rendered events for one target, each in one line."""

    account_id: int
    webhook_id: int
    events: Sequence[str]


@dataclass(frozen=True, slots=True)
class FinishedDelivery:
    """How a delivery ended: its last answer, after so many attempts. It counts while the lease is the sender's."""

    delivery_id: str
    webhook_id: int
    leased_until: int
    answer: PostResult
    attempts: int


async def of_account(connection: AsyncConnection, account_id: int) -> Sequence[Webhook]:
    """The account's webhooks, the first one first, then the oldest."""
    return [webhook_of(row) for row in await connection.execute(WEBHOOKS, {"account_id": account_id})]


async def by_id(connection: AsyncConnection, account_id: int, webhook_id: int) -> Webhook | None:
    """A webhook of the account."""
    found = _WEBHOOK.where(webhooks.c.account_id == account_id, webhooks.c.id == webhook_id)
    row = (await connection.execute(found)).one_or_none()
    return webhook_of(row) if row is not None else None


async def add(connection: AsyncConnection, account_id: int, *, url: str, secret: str, is_first: bool, now: int) -> int:
    """Add an address."""
    values = {"account_id": account_id, "url": url, "secret": secret, "is_first": is_first, "created_at": now}
    added: int = (await connection.execute(insert(webhooks).values(values).returning(webhooks.c.id))).scalar_one()
    return added


async def set_url(connection: AsyncConnection, account_id: int, webhook_id: int, url: str) -> None:
    """Another address with the same secret."""
    of_webhook = webhooks.c.id == webhook_id, webhooks.c.account_id == account_id
    await connection.execute(update(webhooks).where(*of_webhook).values(url=url))


async def set_secret(
    connection: AsyncConnection, account_id: int, webhook_id: int, *, secret: str, old_secret: str, until: int
) -> None:
    """A new secret, and until when the old one signs beside it."""
    of_webhook = webhooks.c.id == webhook_id, webhooks.c.account_id == account_id
    changed = {"secret": secret, "old_secret": old_secret, "old_secret_until": until}
    await connection.execute(update(webhooks).where(*of_webhook).values(changed))


async def remove(connection: AsyncConnection, account_id: int, webhook_id: int) -> None:
    """Remove an address of the account with its deliveries, if it is one."""
    of_webhook = webhooks.c.id == webhook_id, webhooks.c.account_id == account_id
    await connection.execute(delete(webhooks).where(*of_webhook))


async def lock_webhooks(connection: AsyncConnection, account_ids: Sequence[int]) -> Sequence[tuple[int, int]]:
    """The account and the id of every address of some accounts that has a secret.

    None of them is removed before this transaction ends.
    """
    found = (
        select(webhooks.c.account_id, webhooks.c.id)
        .where(webhooks.c.account_id.in_(account_ids), webhooks.c.secret != "")
        .order_by(webhooks.c.id)
        .with_for_update(read=True, key_share=True)
    )
    return [(row.account_id, row.id) for row in await connection.execute(found)]


async def put(
    connection: AsyncConnection, batch: str, new: Sequence[NewDelivery], *, due_at: int, now: int
) -> Collection[int]:
    """One delivery of a batch to each address; where there is one, the events are appended to it.

    Gives the addresses whose delivery has its body already: nothing is appended to that. The others get no body before
    this transaction ends.
    """
    rows = [
        {
            "id": new_delivery_id(),
            "account_id": each.account_id,
            "webhook_id": each.webhook_id,
            "type": EventType.CHANGED.value,
            "batch": batch,
            "now": now,
            "due_at": due_at,
            "events": "\n".join(each.events),
        }
        for each in new
    ]
    if not rows:
        return ()
    await connection.execute(_PUT, rows)
    has_body = deliveries.c.batch == batch, deliveries.c.body.is_not(None)
    with_body = set((await connection.execute(select(deliveries.c.webhook_id).where(*has_body))).scalars())
    return with_body.intersection(each.webhook_id for each in new)


async def add_test(connection: AsyncConnection, webhook: Webhook, *, body: str, delivery_id: str, now: int) -> None:
    """A test that is sent by whoever asked for it; nobody else claims it."""
    values = {
        "id": delivery_id,
        "account_id": webhook.account_id,
        "webhook_id": webhook.id,
        "type": EventType.TEST.value,
        "batch": delivery_id,
        "created_at": now,
        "due_at": None,
        "leased_until": 0,
        "body": body,
        "attempts": 0,
        "error": "",
    }
    await connection.execute(insert(deliveries).values(values))


async def release(connection: AsyncConnection, batch: str, now: int) -> None:
    """Let the held deliveries of a batch go out."""
    held = deliveries.c.batch == batch, deliveries.c.due_at > now, deliveries.c.body.is_(None)
    await connection.execute(update(deliveries).where(*held).values(due_at=now))


async def claim(
    connection: AsyncConnection, *, now: int, lease_until: int, most: int, most_per_webhook: int
) -> Sequence[ClaimedDelivery]:
    """Claim deliveries that are due, few of each address, so that a slow one holds up no other.

    Those come first whose addresses have the fewest under way, then the oldest: slow addresses, however many, share
    what is left by those that are quick.

    A worker that dies leaves its deliveries to fall due again when the lease ends.
    """
    values = {"now": now, "lease_until": lease_until, "most": most, "most_per_webhook": most_per_webhook}
    claimed = [row.id for row in await connection.execute(_CLAIM[connection.dialect.name], values)]
    if not claimed:
        return []
    found = (
        _DELIVERY.add_columns(
            deliveries.c.events,
            accounts.c.email,
            *(column.label(f"w_{column.name}") for column in _WEBHOOK.selected_columns),
        )
        .join(webhooks, webhooks.c.id == deliveries.c.webhook_id)
        .join(accounts, accounts.c.id == deliveries.c.account_id)
        .where(deliveries.c.id.in_(claimed))
    )
    return [_claimed_of(row, lease_until) for row in await connection.execute(found)]


async def set_bodies(connection: AsyncConnection, bodies: Mapping[str, str]) -> None:
    """Store what is sent, by the deliveries' ids, so that every attempt sends the same."""
    if bodies:
        rows = [{"delivery_id": delivery_id, "content": body} for delivery_id, body in bodies.items()]
        await connection.execute(_SET_BODY, rows)


async def finish(connection: AsyncConnection, ended: Sequence[FinishedDelivery], now: int) -> None:
    """Deliveries have ended, well or badly; their addresses remember how.

    Addresses come first, as where one is removed with its deliveries: else the two could wait for each other.
    """
    rows = [
        {
            "delivery_id": each.delivery_id,
            "webhook_id": each.webhook_id,
            "leased_until": each.leased_until,
            "attempts": each.attempts,
            "is_accepted": each.answer.is_accepted,
            "status": each.answer.status,
            "error": each.answer.error,
            "now": now,
        }
        for each in ended
    ]
    last = {each.webhook_id: row for each, row in zip(ended, rows, strict=True)}
    rows.sort(key=lambda row: (row["webhook_id"], row["delivery_id"]))
    if rows:
        await connection.execute(_LAST, [last[webhook_id] for webhook_id in sorted(last)])
        await connection.execute(_FINISH, rows)


async def log_of(connection: AsyncConnection, account_id: int, webhook_id: int, most: int) -> Sequence[Delivery]:
    """The newest deliveries to an address of the account."""
    found = _DELIVERY.where(deliveries.c.account_id == account_id, deliveries.c.webhook_id == webhook_id)
    newest = found.order_by(deliveries.c.created_at.desc(), deliveries.c.id).limit(most)
    return [_delivery_of(row) for row in await connection.execute(newest)]


async def send_again(connection: AsyncConnection, account_id: int, webhook_id: int, delivery_id: str, now: int) -> bool:
    """Let a delivery that has ended go out once more, as it was. False when the account has no such one."""
    again = (
        update(deliveries)
        .where(
            deliveries.c.account_id == account_id,
            deliveries.c.webhook_id == webhook_id,
            deliveries.c.id == delivery_id,
            deliveries.c.finished_at.is_not(None),
        )
        .values(due_at=now, finished_at=None, is_accepted=None)
    )
    return (await connection.execute(again)).rowcount == 1


async def delete_finished(connection: AsyncConnection, before: int) -> int:
    """Forget deliveries that ended before an instant, and tests that never did as their process died. Their number."""
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
    " (id, account_id, webhook_id, type, batch, created_at, due_at, leased_until, attempts, error, events)"
    " VALUES (:id, :account_id, :webhook_id, :type, :batch, :now, :due_at, 0, 0, '', :events)"
    " ON CONFLICT (webhook_id, batch) DO UPDATE SET events = deliveries.events || '\n' || excluded.events"
    " WHERE deliveries.body IS NULL"  # PostgreSQL locks the row in either case
)

_SET_BODY = text("UPDATE deliveries SET body = :content, events = NULL WHERE id = :delivery_id")
_FINISH = text(
    "UPDATE deliveries SET due_at = NULL, leased_until = 0, attempts = attempts + :attempts, finished_at = :now,"
    " is_accepted = :is_accepted, status = :status, error = :error"
    " WHERE id = :delivery_id AND leased_until = :leased_until"
)
_LAST = text("UPDATE webhooks SET last_at = :now, last_ok = :is_accepted, last_error = :error WHERE id = :webhook_id")

_FIRST_OF_EACH = (
    "SELECT id FROM (SELECT id, due_at, row_number() OVER (PARTITION BY webhook_id ORDER BY due_at, created_at, id)"
    " + (SELECT count(*) FROM deliveries busy WHERE busy.webhook_id = due.webhook_id AND busy.leased_until > :now)"
    " AS place FROM deliveries due WHERE due_at <= :now AND leased_until <= :now) ranked"
    " WHERE place <= :most_per_webhook ORDER BY place, due_at LIMIT :most"
)
_LEASE = "UPDATE deliveries SET leased_until = :lease_until WHERE id IN ({}) RETURNING id"
_CLAIM = {
    "sqlite": text(_LEASE.format(_FIRST_OF_EACH)),
    "postgresql": text(
        _LEASE.format(
            f"SELECT id FROM deliveries WHERE id IN ({_FIRST_OF_EACH})"  # noqa: S608  # no value of anybody is in it
            " AND due_at <= :now AND leased_until <= :now FOR UPDATE SKIP LOCKED"
        )
    ),
}


def _delivery_of(row: Row[*tuple[Any, ...]]) -> Delivery:
    return Delivery(row.id, row.account_id, row.webhook_id, EventType(row.type), *row[4:12])


def _claimed_of(row: Row[*tuple[Any, ...]], leased_until: int) -> ClaimedDelivery:
    events = None if row.events is None else row.events.split("\n")
    return ClaimedDelivery(_delivery_of(row), webhook_of(row[14:]), row.email, leased_until, events)
