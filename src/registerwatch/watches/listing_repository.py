"""The SQL of lists of watches. Every function takes the account's id.

The name of a manufacturer is in the snapshot alone, so the database reads it there; whole snapshots are decoded of
those watches alone that are shown.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import JSON, ColumnElement, and_, case, cast, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.db.tables import events, watch_tags, watches
from registerwatch.watches.listing import ListedWatch, WatchFilter, WatchOrder
from registerwatch.watches.models import HealthState
from registerwatch.watches.repository import WATCH, chunks, health_state, watch_of
from registerwatch.watches.snapshot import Kind

_LAST_EVENT = (
    select(func.max(events.c.id))
    .where(events.c.account_id == watches.c.account_id, events.c.watch_id == watches.c.id)
    .correlate(watches)
    .scalar_subquery()
)
_CHANGED_AT = select(events.c.created_at).where(events.c.id == _LAST_EVENT).correlate(watches).scalar_subquery()
_NUL_IN_JSON = "\\u0000"
"""PostgreSQL reads nothing of a JSON text that holds it."""
_KEYS: Mapping[WatchOrder, ColumnElement[object]] = {
    WatchOrder.NAME: func.lower(watches.c.label),
    WatchOrder.SUBJECT: watches.c.subject,
    WatchOrder.LAST_READ: func.coalesce(watches.c.last_sync, 0),
    WatchOrder.ADDED: watches.c.id,
    WatchOrder.LAST_CHANGE: func.coalesce(_LAST_EVENT, 0),
}


async def counts(
    connection: AsyncConnection, account_id: int, chosen: WatchFilter, now: int
) -> Mapping[tuple[HealthState, Kind], int]:
    """How many watches match what the filter says of anything but state and kind, by these two."""
    state = health_state(now)
    found = (
        select(state, watches.c.kind, func.count())
        .where(*_conditions(connection, account_id, chosen))
        .group_by(state, watches.c.kind)
    )
    return {(row[0], row[1]): row[2] for row in await connection.execute(found)}


async def matching_ids(
    connection: AsyncConnection,
    account_id: int,
    chosen: WatchFilter,
    now: int,
    *,
    order: WatchOrder = WatchOrder.ADDED,
    is_descending: bool = False,
    limit: int | None = None,
    offset: int = 0,
) -> Sequence[int]:
    """The ids of the watches that match a filter, in an order."""
    key, last = _KEYS[order], watches.c.id
    found = select(watches.c.id).where(*_conditions(connection, account_id, chosen))
    if chosen.state is not None:
        found = found.where(health_state(now) == chosen.state)
    if chosen.kind is not None:
        found = found.where(watches.c.kind == chosen.kind)
    found = found.order_by(*((key.desc(), last.desc()) if is_descending else (key, last)))
    return (await connection.execute(found.limit(limit).offset(offset))).scalars().all()


async def listed(connection: AsyncConnection, account_id: int, watch_ids: Sequence[int]) -> Sequence[ListedWatch]:
    """Watches of the account with these ids, in their order, without tags. Who was removed is left out."""
    found: dict[int, ListedWatch] = {}
    for chunk in chunks(watch_ids):
        rows = WATCH.add_columns(_CHANGED_AT.label("changed_at")).where(
            watches.c.account_id == account_id, watches.c.id.in_(chunk)
        )
        for row in await connection.execute(rows):
            found[row.id] = ListedWatch(watch_of(row), row.changed_at)
    return [found[each] for each in watch_ids if each in found]


async def names(connection: AsyncConnection, account_id: int, watch_ids: Sequence[int]) -> Sequence[str]:
    """The names of a few watches of the account."""
    found = select(watches.c.label).where(watches.c.account_id == account_id, watches.c.id.in_(watch_ids))
    return (await connection.execute(found.order_by(watches.c.id))).scalars().all()


def _conditions(connection: AsyncConnection, account_id: int, chosen: WatchFilter) -> Sequence[ColumnElement[bool]]:
    """What a watch must meet, but for its state and kind."""
    found: list[ColumnElement[bool]] = [watches.c.account_id == account_id]
    for tag in chosen.tags:
        tagged = select(watch_tags.c.watch_id).where(watch_tags.c.account_id == account_id, watch_tags.c.tag == tag)
        found.append(watches.c.id.in_(tagged))
    if chosen.words:
        texts: list[ColumnElement[str]] = [watches.c.label, watches.c.subject]
        texts += [_of_snapshot(connection, name) for name in ("manufacturer_name", "manufacturer_srn")]
        each_word = and_(*(or_(*(_has(text, word) for text in texts)) for word in chosen.words))
        found.append(or_(each_word, watches.c.subject.icontains("".join(chosen.words), autoescape=True)))
    return found


def _has(text: ColumnElement[str], word: str) -> ColumnElement[bool]:
    """Whether a text holds a word, whatever the case. SQLite knows the case of ASCII alone, so it is told of others."""
    forms = {word} if word.isascii() else {word, word.lower(), word.upper()}
    return or_(*(text.icontains(form, autoescape=True) for form in sorted(forms)))


def _of_snapshot(connection: AsyncConnection, name: str) -> ColumnElement[str]:
    """A field of the snapshot, null where it is empty."""
    if connection.dialect.name == "sqlite":
        return func.json_extract(watches.c.snapshot, f"$.{name}")
    readable = cast(watches.c.snapshot, JSON)[name].as_string()
    return case((watches.c.snapshot.contains(_NUL_IN_JSON, autoescape=True), None), else_=readable)
