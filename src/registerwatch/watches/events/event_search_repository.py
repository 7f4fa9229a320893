"""The SQL that lists and counts an account's events as one of its users sees them.

Every condition is about columns of the index `ix_events_listing`, so events that do not match are skipped without
reading their rows. Counts end at a bound. Functions run in the transaction of the connection that they are given.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Row, Select, case, exists, func, literal, or_, select, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.tables import users
from registerwatch.platform.db.row_pages import MAX_ROW_ID
from registerwatch.platform.db.text_search import holds_text
from registerwatch.watches.events.event_repository import EVENT, event_of
from registerwatch.watches.events.event_selection import EventSelection, EventView
from registerwatch.watches.models import Event, EventSeverity
from registerwatch.watches.tables import event_marks, events, watch_tags


class ListedEvent(msgspec.Struct, frozen=True):
    """An event as a user's list shows it."""

    event: Event
    is_seen: bool
    archived_at: int | None


class Viewer(msgspec.Struct, frozen=True):
    """A user of an account, whose marks count."""

    account_id: int
    user_id: int


async def newest_id(connection: AsyncConnection, account_id: int) -> int:
    """The id of the account's newest event, 0 where it has none."""
    found = select(events.c.id).where(events.c.account_id == account_id).order_by(events.c.id.desc()).limit(1)
    newest: int | None = (await connection.execute(found)).scalar_one_or_none()
    return newest or 0


async def listed(
    connection: AsyncConnection,
    viewer: Viewer,
    selection: EventSelection,
    limit: int,
    *,
    before: int | None = None,
    after: int | None = None,
) -> Sequence[ListedEvent]:
    """Chosen events, newest first: the newest ones, those before an id, or those that come next after an id."""
    order = events.c.id.asc() if after is not None else events.c.id.desc()
    parts = chosen_ids(viewer, selection, above=after, below=before)
    chosen = [part.order_by(order).limit(limit) for part in parts]
    ids = union_all(*(select(part.subquery().c.id) for part in chosen))
    found = EVENT.add_columns(events.c.archived_at, _is_seen(viewer).label("is_seen"))
    found = found.where(events.c.account_id == viewer.account_id, events.c.id.in_(ids)).order_by(order).limit(limit)
    rows = [_listed(row) for row in await connection.execute(found)]
    return rows[::-1] if after is not None else rows


async def count(
    connection: AsyncConnection, viewer: Viewer, selection: EventSelection, through: int, bound: int
) -> int:
    """The number of chosen events up to an id, at most `bound`."""
    parts = [part.limit(bound).subquery() for part in chosen_ids(viewer, selection, below=min(through + 1, MAX_ROW_ID))]
    numbers = [select(func.count().label("number")).select_from(part) for part in parts]
    total = select(func.sum(union_all(*numbers).subquery().c.number))
    return min(bound, int((await connection.execute(total)).scalar_one()))


async def count_by_cause(
    connection: AsyncConnection, viewer: Viewer, selection: EventSelection, causes: Collection[str], through: int
) -> Mapping[str, int]:
    """The numbers of chosen events up to an id, for each of some causes."""
    counts: Counter[str] = Counter()
    for part in chosen_ids(viewer, selection, below=min(through + 1, MAX_ROW_ID)) if causes else ():
        of_causes = part.with_only_columns(events.c.cause, func.count()).where(events.c.cause.in_(causes))
        for cause, number in await connection.execute(of_causes.group_by(events.c.cause)):
            counts[cause] += number
    return counts


async def unseen_by_severity(connection: AsyncConnection, viewer: Viewer, bound: int) -> Mapping[EventSeverity, int]:
    """The number of events of each severity that the user has not seen, at most `bound`."""
    numbers = []
    for severity in EventSeverity:
        for part in chosen_ids(viewer, EventSelection(EventView.UNSEEN)):
            some = part.where(events.c.severity == severity).limit(bound).subquery()
            numbers.append(select(literal(severity.value).label("severity"), func.count()).select_from(some))
    counts = dict.fromkeys(EventSeverity, 0)
    for name, number in await connection.execute(union_all(*numbers)):
        counts[EventSeverity(name)] = min(bound, counts[EventSeverity(name)] + number)
    return counts


async def most_severe_unseen(connection: AsyncConnection, viewer: Viewer, limit: int) -> Sequence[ListedEvent]:
    """Events that the user has not seen, by severity, then newest first.

    The index `ix_events_severity` gives the newest few of each severity, so no other event is read.
    """
    chosen = [
        part.where(events.c.severity == severity).order_by(events.c.id.desc()).limit(limit)
        for severity in EventSeverity
        for part in chosen_ids(viewer, EventSelection(EventView.UNSEEN))
    ]
    ids = union_all(*(select(part.subquery().c.id) for part in chosen))
    rank = case({each.value: number for number, each in enumerate(EventSeverity)}, value=events.c.severity)
    found = EVENT.add_columns(events.c.archived_at, literal(False).label("is_seen"))
    found = found.where(events.c.account_id == viewer.account_id, events.c.id.in_(ids))
    return [_listed(row) for row in await connection.execute(found.order_by(rank, events.c.id.desc()).limit(limit))]


def chosen_ids(
    viewer: Viewer, selection: EventSelection, *, above: int | None = None, below: int | None = None
) -> Sequence[Select[tuple[int]]]:
    """Selects of the ids of chosen events between two ids. Each id is in one select only.

    Unseen events need two: one of later events without a mark, and one of earlier events with one.
    """
    ids = select(events.c.id).where(events.c.account_id == viewer.account_id, *_filters(viewer.account_id, selection))
    between = _between(events.c.id, above, below)
    if selection.view is EventView.ARCHIVED:
        return [ids.where(events.c.archived_at.is_not(None), *between)]
    ids = ids.where(events.c.archived_at.is_(None))
    if selection.view is EventView.ALL:
        return [ids.where(*between)]
    later = ids.where(events.c.id > seen_through(viewer), ~has_mark(viewer, is_seen=True), *between)
    mark = event_marks.c
    unseen = select(mark.event_id).where(mark.user_id == viewer.user_id, mark.is_seen.is_(False))
    marked = unseen.where(*_between(mark.event_id, above, below))
    return [later, ids.where(events.c.id.in_(marked))]  # a join, or bounds of ids here: SQLite would read every event


def _between(column: ColumnElement[int], above: int | None, below: int | None) -> Sequence[ColumnElement[bool]]:
    lowest = [column > above] if above is not None else []
    return [*lowest, column < below] if below is not None else lowest


def _filters(account_id: int, selection: EventSelection) -> Sequence[ColumnElement[bool]]:
    """The conditions of a selection, whatever its view."""
    about = selection.about
    found: list[ColumnElement[bool]] = []
    if about.severities:
        found.append(events.c.severity.in_(about.severities))
    if about.kinds:
        found.append(events.c.kind.in_(about.kinds))
    if about.subject:
        found.append(events.c.subject == about.subject)
    if selection.subject:
        found.append(func.substr(events.c.subject, 1, len(selection.subject)) == selection.subject)
    if selection.watch_id is not None:
        found.append(events.c.watch_id == selection.watch_id)
    if selection.tag:
        tag = watch_tags.c
        tagged = select(tag.watch_id).where(tag.account_id == account_id, tag.tag == selection.tag)
        found.append(events.c.watch_id.in_(tagged))
    if selection.since is not None:
        found.append(events.c.created_at >= selection.since)
    if selection.until is not None:
        found.append(events.c.created_at < selection.until)
    if selection.fields:
        names = [holds_text(events.c.fields, f",{name},") for name in sorted(selection.fields)]
        found.append(or_(*names))
    return found


def seen_through(viewer: Viewer) -> ColumnElement[int]:
    """The id up to which the user has seen every event that has no mark."""
    of_user = users.c.id == viewer.user_id, users.c.account_id == viewer.account_id
    return select(users.c.events_seen_through).where(*of_user).scalar_subquery()


def has_mark(viewer: Viewer, *, is_seen: bool) -> ColumnElement[bool]:
    """Whether the user has an event marked with `is_seen`."""
    mark = event_marks.alias()
    of_event = mark.c.user_id == viewer.user_id, mark.c.event_id == events.c.id, mark.c.is_seen.is_(is_seen)
    return exists().where(*of_event)


def _is_seen(viewer: Viewer) -> ColumnElement[bool]:
    """Whether the user has seen an event; an archived one counts as seen."""
    mark = event_marks.alias()
    of_event = mark.c.user_id == viewer.user_id, mark.c.event_id == events.c.id
    marked = select(mark.c.is_seen).where(*of_event).scalar_subquery()
    return case(
        (events.c.archived_at.is_not(None), True), else_=func.coalesce(marked, events.c.id <= seen_through(viewer))
    )


def _listed(row: Row[*tuple[Any, ...]]) -> ListedEvent:
    return ListedEvent(event_of(row), bool(row.is_seen), row.archived_at)
