"""The SQL of events. Functions for an account's events take the account's id.

Functions run in the transaction of the connection that they are given.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Integer,
    and_,
    bindparam,
    exists,
    insert,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.platform.clock import day_of
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events.causes import EventGroup
from registerwatch.watches.events.event_pages import EventFilter, GroupPage
from registerwatch.watches.events.event_rules import classified
from registerwatch.watches.models import Event, EventKind, EventSeverity
from registerwatch.watches.repository import chunks
from registerwatch.watches.tables import events

_changes = msgspec.json.Decoder(list[FieldChange])
_encoder = msgspec.json.Encoder()

EVENT = select(
    events.c.id,
    events.c.watch_id,
    events.c.subject,
    events.c.label,
    events.c.created_at,
    events.c.summary,
    events.c.changes,
    events.c.kind,
    events.c.severity,
    events.c.cause,
    events.c.visible_at,
)
"""The columns from which `event_of` makes an event."""
_SOME_OF_ACCOUNT = (
    EVENT.where(events.c.account_id == bindparam("account_id", type_=BigInteger))
    .limit(bindparam("most", type_=Integer))
    .offset(bindparam("skipped", type_=Integer))  # SQLite's dialect would add one that has no name
)
NEWEST = _SOME_OF_ACCOUNT.order_by(events.c.id.desc())
"""At most `most` events of the account `account_id`, newest first."""
AFTER = _SOME_OF_ACCOUNT.where(events.c.id > bindparam("after", type_=BigInteger)).order_by(events.c.id)
"""At most `most` events of the account after the id `after`, oldest first."""
_NUMBERING = text("SELECT pg_advisory_xact_lock(7023402)")


class NewEvent(msgspec.Struct, frozen=True):
    """An event to store."""

    account_id: int
    watch_id: int
    subject: str
    label: str
    summary: str
    changes: Sequence[FieldChange]
    awaits_sync: bool
    cause: str | None = None
    visible_at: int | None = None
    manufacturer_srn: str = ""
    """Used by deliveries of the event; it is not stored."""


async def add_events(connection: AsyncConnection, new: Sequence[NewEvent], now: int) -> Mapping[int, Sequence[Event]]:
    """Store events with their kind and severity. Returns them by account, with their ids, oldest first.

    Until this transaction ends no other one stores events. So ids grow in the order in which events become visible,
    and a reader of the events after an id misses none. Watches are locked before, targets of notifications after.
    """
    day = day_of(now)
    about = [classified(event.changes, day) for event in new]
    values = [
        {
            "account_id": event.account_id,
            "watch_id": event.watch_id,
            "subject": event.subject,
            "label": event.label,
            "created_at": now,
            "summary": event.summary,
            "changes": _encoder.encode(event.changes).decode(),
            "awaits_sync": event.awaits_sync,
            "kind": kind.value,
            "severity": severity.value,
            "cause": event.cause,
            "visible_at": event.visible_at,
            "fields": stored_fields(event.changes),
        }
        for event, (kind, severity) in zip(new, about, strict=True)
    ]
    stored: defaultdict[int, list[Event]] = defaultdict(list)
    if values:
        if connection.dialect.name == "postgresql":  # SQLite has one transaction at a time
            await connection.execute(_NUMBERING)
        added = await connection.execute(insert(events).returning(events.c.watch_id, events.c.id), values)
        ids: defaultdict[int, deque[int]] = defaultdict(deque)
        for watch_id, event_id in sorted(map(tuple, added)):
            ids[watch_id].append(event_id)
        for each, (kind, severity) in zip(new, about, strict=True):
            stored[each.account_id].append(_stored(ids[each.watch_id].popleft(), each, kind, severity, now))
    return stored


def stored_fields(changes: Sequence[FieldChange]) -> str:
    """The column `fields` of an event: the names of its changed fields, each between commas for searches."""
    return "".join(f",{name}" for name in dict.fromkeys(change.field for change in changes)) + ","


async def events_of_watch(
    connection: AsyncConnection, account_id: int, watch_id: int, limit: int, *, before: tuple[int, int] | None = None
) -> Sequence[Event]:
    """The newest events of a watch of the account, or those before an instant (unix seconds) and id."""
    found = EVENT.where(events.c.account_id == account_id, events.c.watch_id == watch_id)
    if before is not None:
        at, event_id = before
        found = found.where(or_(events.c.created_at < at, and_(events.c.created_at == at, events.c.id < event_id)))
    newest = found.order_by(events.c.created_at.desc(), events.c.id.desc()).limit(limit)
    return [event_of(row) for row in await connection.execute(newest)]


async def take_awaiting(connection: AsyncConnection, account_id: int) -> Sequence[Event]:
    """The account's events that no sync has listed yet, oldest first; no later sync lists them."""
    awaiting = events.c.account_id == account_id, events.c.awaits_sync.is_(True)
    found = EVENT.where(*awaiting).order_by(events.c.id).with_for_update()
    taken = [event_of(row) for row in await connection.execute(found)]
    for chunk in chunks([event.id for event in taken]):
        await connection.execute(update(events).where(events.c.id.in_(chunk)).values(awaits_sync=False))
    return taken


async def chosen_events(
    connection: AsyncConnection, account_id: int, chosen: EventFilter, *, after: int | None, most: int
) -> Sequence[Event]:
    """The account's chosen events: those after an id, oldest first, or else the newest ones, newest first."""
    found = (NEWEST if after is None else AFTER).where(*_conditions(chosen))
    values = {"account_id": account_id, "after": after, "most": most, "skipped": 0}
    return [event_of(row) for row in await connection.execute(found, values)]


async def newest_groups(
    connection: AsyncConnection, account_id: int, limit: int, chosen: EventFilter, *, before: int | None
) -> GroupPage:
    """The account's newest events by cause, newest first; the newest of each cause is before an id."""
    newer = events.alias("newer")
    of_same_cause = newer.c.account_id == account_id, newer.c.cause == events.c.cause, newer.c.id > events.c.id
    found = EVENT.where(
        events.c.account_id == account_id,
        *_conditions(chosen),
        *([] if before is None else [events.c.id < before]),
        ~exists().where(*of_same_cause, *_conditions(chosen, newer)),
    )
    read = [event_of(row) for row in await connection.execute(found.order_by(events.c.id.desc()).limit(limit + 1))]
    newest = read[:limit]
    members = await _by_cause(connection, account_id, {each.cause for each in newest if each.cause}, chosen)
    groups = [EventGroup(members[each.cause] if each.cause else [each]) for each in newest]
    return GroupPage(groups, newest[-1].id if len(read) > limit else None)


async def _by_cause(
    connection: AsyncConnection, account_id: int, causes: Collection[str], chosen: EventFilter
) -> Mapping[str | None, Sequence[Event]]:
    """The account's events of some causes, newest first."""
    found: defaultdict[str | None, list[Event]] = defaultdict(list)
    if causes:
        members = EVENT.where(events.c.account_id == account_id, events.c.cause.in_(causes), *_conditions(chosen))
        for row in await connection.execute(members.order_by(events.c.id.desc())):
            found[row.cause].append(event_of(row))
    return found


def _conditions(chosen: EventFilter, rows: FromClause = events) -> Sequence[ColumnElement[bool]]:
    """The conditions of a filter on rows of events."""
    column: Any = rows.c
    found = [column.subject == chosen.subject] if chosen.subject else []
    if chosen.kinds:
        found.append(column.kind.in_(chosen.kinds))
    if chosen.severities:
        found.append(column.severity.in_(chosen.severities))
    return found


def event_of(row: Sequence[Any]) -> Event:
    """The event in a row that begins with the columns of `EVENT`."""
    event_id, watch_id, subject, label, created_at, summary, stored, kind, severity, cause, visible_at = row[:11]
    changes = _changes.decode(stored)
    return Event(event_id, watch_id, subject, label, created_at, summary, changes, kind, severity, cause, visible_at)


def _stored(event_id: int, new: NewEvent, kind: EventKind, severity: EventSeverity, now: int) -> Event:
    return Event(
        event_id,
        new.watch_id,
        new.subject,
        new.label,
        now,
        new.summary,
        new.changes,
        kind,
        severity,
        new.cause,
        new.visible_at,
        new.manufacturer_srn,
    )
