"""The SQL of lists of watches. Every function takes the account's id.

The manufacturer's name is only in the snapshot, so the database reads it there. Whole snapshots are decoded only for
the watches that are shown.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, Select, and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.platform.db.text_search import holds_word
from registerwatch.watches.models import HealthState
from registerwatch.watches.questions.listed_watches import ListedWatch, WatchFilter, WatchOrder
from registerwatch.watches.repository import WATCH, chunks, health_state, watch_of
from registerwatch.watches.snapshot import Kind
from registerwatch.watches.tables import events, watch_tags, watches

_LAST_EVENT = (
    select(func.max(events.c.id))
    .where(events.c.account_id == watches.c.account_id, events.c.watch_id == watches.c.id)
    .correlate(watches)
    .scalar_subquery()
)
_CHANGED_AT = select(events.c.created_at).where(events.c.id == _LAST_EVENT).correlate(watches).scalar_subquery()
_MAKER = ("manufacturer_name", "manufacturer_srn")
"""Snapshot fields."""
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
    """How many watches match the filter, its state and kind ignored, by state and kind."""
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
    """Watches of the account with these ids, in their order, without tags. Removed watches are left out."""
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
    """The conditions of a filter without state and kind."""
    found: list[ColumnElement[bool]] = [watches.c.account_id == account_id]
    for tag in chosen.tags:
        tagged = select(watch_tags.c.watch_id).where(watch_tags.c.account_id == account_id, watch_tags.c.tag == tag)
        found.append(watches.c.id.in_(tagged))
    if chosen.words:
        found.append(watches.c.id.in_(_found_by_words(connection, account_id, chosen.words)))
    return found


def _found_by_words(connection: AsyncConnection, account_id: int, words: Sequence[str]) -> Select[int]:
    """The ids of watches whose texts contain all words, or the words joined, as in a number typed with spaces.

    The texts of a watch are put together once (`MATERIALIZED`), not for each word.
    """
    maker = _maker_of_postgresql() if connection.dialect.name == "postgresql" else _maker_of_sqlite()
    text = func.lower(watches.c.label + " " + watches.c.subject + " " + func.coalesce(maker, ""))
    texts = select(watches.c.id, text.label("text")).where(watches.c.account_id == account_id)
    searched = texts.cte("searched").prefix_with("MATERIALIZED")
    each_word = and_(*(holds_word(searched.c.text, word) for word in words))
    return select(searched.c.id).where(or_(each_word, holds_word(searched.c.text, "".join(words))))


def _maker_of_sqlite() -> ColumnElement[str]:
    """The name and the SRN of the manufacturer in the snapshot."""
    name, srn = (func.coalesce(func.json_extract(watches.c.snapshot, f"$.{each}"), "") for each in _MAKER)
    return name + " " + srn


def _maker_of_postgresql() -> ColumnElement[str]:
    """The raw JSON of the manufacturer's name and SRN, with quotation marks: parsing it costs ten times as much.

    The two fields are adjacent, before the number of the field set. Quotation marks within values have a backslash, so
    no value can be mistaken for a field name.
    """
    name, srn = (f'"{each}":' for each in _MAKER)
    rest = func.split_part(watches.c.snapshot, name, 2)
    return func.replace(func.replace(func.split_part(rest, '"field_set":', 1), srn, " "), '\\"', '"')
