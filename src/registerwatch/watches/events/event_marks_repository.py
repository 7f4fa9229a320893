"""The SQL of marks: which events a user has seen, and which an account has archived.

Events up to `users.events_seen_through` are seen and later ones are not; `event_marks` has the exceptions.
The caller has locked the account, so no other transaction changes its marks. Functions run in the transaction of the
connection that they are given.
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, delete, exists, func, insert, literal, select, union_all, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.tables import users
from registerwatch.platform.db.row_pages import MAX_ROW_ID
from registerwatch.watches.events.event_search_repository import Viewer, chosen_ids, has_mark, newest_id, seen_through
from registerwatch.watches.events.event_selection import EventSelection
from registerwatch.watches.tables import event_marks, events

Conditions = Sequence[ColumnElement[bool]]
"""Conditions that choose events of the account that are not archived."""


def with_ids(event_ids: Sequence[int]) -> Conditions:
    """The events with some ids."""
    return [events.c.id.in_(event_ids)]


def matching(viewer: Viewer, selection: EventSelection, through: int) -> Conditions:
    """The chosen events up to an id."""
    return [events.c.id.in_(union_all(*chosen_ids(viewer, selection, below=min(through + 1, MAX_ROW_ID))))]


async def mark_seen(connection: AsyncConnection, viewer: Viewer, conditions: Conditions) -> int:
    """Mark some events seen. Returns how many were unseen before."""
    meant = *_of_account(viewer), *conditions
    unseen_before = event_marks.c.user_id == viewer.user_id, event_marks.c.is_seen.is_(False)
    ids = select(events.c.id).where(*meant)
    removed = await connection.execute(delete(event_marks).where(*unseen_before, event_marks.c.event_id.in_(ids)))
    unseen_after = events.c.id > seen_through(viewer), ~has_mark(viewer, is_seen=True)
    added = await _add_marks(connection, viewer, [*meant, *unseen_after], is_seen=True)
    await _advance(connection, viewer)
    return removed.rowcount + added


async def mark_all_seen(connection: AsyncConnection, viewer: Viewer, through: int) -> None:
    """Mark every event up to an id seen."""
    through = min(through, await newest_id(connection, viewer.account_id))
    of_user = users.c.id == viewer.user_id, users.c.account_id == viewer.account_id
    later = update(users).where(*of_user, users.c.events_seen_through < through)
    await connection.execute(later.values(events_seen_through=through))
    mark = event_marks.c
    await connection.execute(delete(event_marks).where(mark.user_id == viewer.user_id, mark.event_id <= through))
    await _advance(connection, viewer)


async def mark_unseen(connection: AsyncConnection, viewer: Viewer, conditions: Conditions) -> int:
    """Mark some events unseen. Returns how many were seen before."""
    meant = *_of_account(viewer), *conditions
    seen_after = event_marks.c.user_id == viewer.user_id, event_marks.c.is_seen.is_(True)
    ids = select(events.c.id).where(*meant)
    removed = await connection.execute(delete(event_marks).where(*seen_after, event_marks.c.event_id.in_(ids)))
    seen_before = events.c.id <= seen_through(viewer), ~has_mark(viewer, is_seen=False)
    return removed.rowcount + await _add_marks(connection, viewer, [*meant, *seen_before], is_seen=False)


async def archive(connection: AsyncConnection, viewer: Viewer, conditions: Conditions, now: int) -> int:
    """Archive some events for the whole account. Returns how many were not archived before."""
    ids = select(events.c.id).where(*_of_account(viewer), *conditions)
    archived = await connection.execute(update(events).where(events.c.id.in_(ids)).values(archived_at=now))
    return archived.rowcount


async def unarchive(connection: AsyncConnection, account_id: int, event_ids: Sequence[int]) -> int:
    """List events again, as seen by every user of the account. Returns how many were archived before."""
    archived = events.c.account_id == account_id, events.c.id.in_(event_ids), events.c.archived_at.is_not(None)
    ids = (await connection.execute(select(events.c.id).where(*archived))).scalars().all()
    if not ids:
        return 0
    of_account = select(users.c.id).where(users.c.account_id == account_id)
    mark = event_marks.c
    unseen = mark.user_id.in_(of_account), mark.event_id.in_(ids), mark.is_seen.is_(False)
    await connection.execute(delete(event_marks).where(*unseen))
    marked = exists().where(mark.user_id == users.c.id, mark.event_id == events.c.id)
    later = users.c.account_id == account_id, events.c.id.in_(ids), events.c.id > users.c.events_seen_through
    seen = select(users.c.id, events.c.id, literal(True)).where(*later, ~marked)
    await connection.execute(insert(event_marks).from_select(["user_id", "event_id", "is_seen"], seen))
    await connection.execute(update(events).where(events.c.id.in_(ids)).values(archived_at=None))
    return len(ids)


async def _shorten(connection: AsyncConnection, viewer: Viewer) -> None:
    """Mark the unseen events instead of the seen ones where these are more: fewer marks are read faster."""
    mark = event_marks.c
    marked = select(func.count()).where(mark.user_id == viewer.user_id, mark.is_seen.is_(True))
    number: int = (await connection.execute(marked)).scalar_one()
    if not number:
        return
    later = *_of_account(viewer), events.c.id > seen_through(viewer), ~has_mark(viewer, is_seen=True)
    some = select(events.c.id).where(*later).limit(number).subquery()
    if (await connection.execute(select(func.count()).select_from(some))).scalar_one() < number:
        await _add_marks(connection, viewer, later, is_seen=False)
        newest = await newest_id(connection, viewer.account_id)
        of_user = users.c.id == viewer.user_id, users.c.account_id == viewer.account_id
        await connection.execute(update(users).where(*of_user).values(events_seen_through=newest))
        of_seen = mark.user_id == viewer.user_id, mark.is_seen.is_(True)
        await connection.execute(delete(event_marks).where(*of_seen))


async def _add_marks(connection: AsyncConnection, viewer: Viewer, conditions: Conditions, *, is_seen: bool) -> int:
    marked = select(literal(viewer.user_id), events.c.id, literal(is_seen)).where(*conditions)
    added = insert(event_marks).from_select(["user_id", "event_id", "is_seen"], marked)
    found = await connection.execute(added.execution_options(preserve_rowcount=True))
    return found.rowcount


async def _advance(connection: AsyncConnection, viewer: Viewer) -> None:
    """Move `events_seen_through` up to the first unseen event, and delete the marks that this makes needless.

    Archived events count as seen: where they are listed again, they are seen.
    """
    unseen = *_of_account(viewer), events.c.id > seen_through(viewer), ~has_mark(viewer, is_seen=True)
    first: int | None = (
        await connection.execute(select(events.c.id).where(*unseen).order_by(events.c.id).limit(1))
    ).scalar_one_or_none()
    through = await newest_id(connection, viewer.account_id) if first is None else first - 1
    of_user = users.c.id == viewer.user_id, users.c.account_id == viewer.account_id
    moved = update(users).where(*of_user, users.c.events_seen_through < through).values(events_seen_through=through)
    await connection.execute(moved)
    mark = event_marks.c
    needless = mark.user_id == viewer.user_id, mark.is_seen.is_(True), mark.event_id <= through
    await connection.execute(delete(event_marks).where(*needless))
    await _shorten(connection, viewer)


def _of_account(viewer: Viewer) -> Conditions:
    return events.c.account_id == viewer.account_id, events.c.archived_at.is_(None)
