"""Listing the events of an account page by page, so that a reader gets each one once, whatever is written meanwhile.

Ids of events grow in the order in which their transactions end (`repository.add_events`), so nothing comes to stand
before an id that somebody has read.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, FromClause, exists, or_
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.db.tables import events
from registerwatch.errors import InvalidInput
from registerwatch.watches.causes import EventGroup
from registerwatch.watches.models import Event, EventKind, EventSeverity
from registerwatch.watches.repository import EVENT, event_of
from registerwatch.watches.subjects import subject as subject_of


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events are listed; what is empty demands nothing."""

    kinds: frozenset[str] = frozenset()
    severities: frozenset[str] = frozenset()
    subject: str = ""

    @classmethod
    def of(
        cls, kinds: Collection[str] = (), severities: Collection[str] = (), subject: str | None = None
    ) -> "EventFilter":
        """The filter of a request. Raises `InvalidInput` for unknown kinds and severities and what is no subject."""
        return cls(
            _known("kind", kinds, list(EventKind)),
            _known("severity", severities, list(EventSeverity)),
            "" if subject is None else subject_of(subject),
        )

    def conditions(self, rows: FromClause = events) -> Sequence[ColumnElement[bool]]:
        """What rows of events must meet in the database. A node of the release before stores no severity, and its
        kind means nothing: `accepts` decides about such rows.
        """
        column: Any = rows.c
        unknown = column.severity.is_(None)
        found = [column.subject == self.subject] if self.subject else []
        if self.kinds:
            found.append(or_(column.kind.in_(self.kinds), unknown))
        if self.severities:
            found.append(or_(column.severity.in_(self.severities), unknown))
        return found

    def accepts(self, event: Event) -> bool:
        """Whether an event is listed."""
        return (
            (not self.kinds or event.kind in self.kinds)
            and (not self.severities or event.severity in self.severities)
            and (not self.subject or event.subject == self.subject)
        )


@dataclass(frozen=True, slots=True)
class EventPage:
    """Some events. After the id `next` come those that will be stored, and those that are stored and not listed yet.

    `more` says whether others are stored: later ones where the page goes on from an id, earlier ones where it begins
    with the newest.
    """

    events: Sequence[Event]
    next: int
    more: bool


@dataclass(frozen=True, slots=True)
class GroupPage:
    """Some events by cause, newest first. Earlier ones come before the id `earlier`; None where there are none."""

    groups: Sequence[EventGroup]
    earlier: int | None


async def events_after(
    connection: AsyncConnection, account_id: int, after: int, limit: int, chosen: EventFilter
) -> EventPage:
    """The account's events that come after an id, oldest first."""
    found = EVENT.where(events.c.account_id == account_id, events.c.id > after, *chosen.conditions())
    read = [event_of(row) for row in await connection.execute(found.order_by(events.c.id).limit(limit + 1))]
    last = read[:limit][-1].id if read else after
    return EventPage([event for event in read[:limit] if chosen.accepts(event)], last, len(read) > limit)


async def newest_events(connection: AsyncConnection, account_id: int, limit: int, chosen: EventFilter) -> EventPage:
    """The account's newest events, newest first."""
    found = EVENT.where(events.c.account_id == account_id, *chosen.conditions())
    read = [event_of(row) for row in await connection.execute(found.order_by(events.c.id.desc()).limit(limit + 1))]
    listed = [event for event in read[:limit] if chosen.accepts(event)]
    return EventPage(listed, read[0].id if read else 0, len(read) > limit)


async def newest_groups(
    connection: AsyncConnection, account_id: int, limit: int, chosen: EventFilter, *, before: int | None
) -> GroupPage:
    """The account's newest events by cause, newest first, those whose newest event comes before an id."""
    newer = events.alias("newer")
    of_same_cause = newer.c.account_id == account_id, newer.c.cause == events.c.cause, newer.c.id > events.c.id
    found = EVENT.where(
        events.c.account_id == account_id,
        *chosen.conditions(),
        *([] if before is None else [events.c.id < before]),
        ~exists().where(*of_same_cause, *chosen.conditions(newer)),
    )
    read = [event_of(row) for row in await connection.execute(found.order_by(events.c.id.desc()).limit(limit + 1))]
    newest = read[:limit]
    members = await _by_cause(connection, account_id, {each.cause for each in newest if each.cause}, chosen)
    groups = [EventGroup(members[each.cause] if each.cause else [each]) for each in newest if chosen.accepts(each)]
    return GroupPage(groups, newest[-1].id if len(read) > limit else None)


async def _by_cause(
    connection: AsyncConnection, account_id: int, causes: Collection[str], chosen: EventFilter
) -> Mapping[str | None, Sequence[Event]]:
    """The account's events of some causes, newest first."""
    found: defaultdict[str | None, list[Event]] = defaultdict(list)
    if causes:
        members = EVENT.where(events.c.account_id == account_id, events.c.cause.in_(causes), *chosen.conditions())
        for row in await connection.execute(members.order_by(events.c.id.desc())):
            found[row.cause].append(event_of(row))
    return found


def _known(name: str, values: Collection[str], choices: Sequence[str]) -> frozenset[str]:
    for value in values:
        if value not in choices:
            raise InvalidInput(f"There is no {name} “{value[:40]}”; known are {', '.join(choices)}.")
    return frozenset(values)
