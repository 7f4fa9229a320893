"""The SQL of tags. Functions run in the transaction of the connection that they are given.

The caller that changes tags has locked the account, so that each tag keeps one spelling and caps hold.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import delete, func, select, true
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.watches.repository import chunks
from registerwatch.watches.tables import watch_tags

_ROWS_OF_A_STATEMENT = 500


async def tags_of(
    connection: AsyncConnection, account_id: int, watch_ids: Collection[int]
) -> Mapping[int, Sequence[str]]:
    """The tags of some watches of the account, by watch, in alphabetical order; none for ids of other accounts."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    for chunk in chunks(sorted(watch_ids)):
        rows = select(watch_tags.c.watch_id, watch_tags.c.tag).where(
            watch_tags.c.account_id == account_id, watch_tags.c.watch_id.in_(chunk)
        )
        for watch_id, tag in await connection.execute(rows):
            found[watch_id].append(tag)
    return {watch_id: sorted(tags, key=str.casefold) for watch_id, tags in found.items()}


async def counts(connection: AsyncConnection, account_id: int) -> Mapping[str, int]:
    """The account's tags in alphabetical order, each with the number of watches that have it."""
    counted = select(watch_tags.c.tag, func.count()).where(watch_tags.c.account_id == account_id)
    rows = await connection.execute(counted.group_by(watch_tags.c.tag))
    return dict(sorted(((tag, number) for tag, number in rows), key=lambda row: (row[0].casefold(), row[0])))


async def add(connection: AsyncConnection, account_id: int, watch_ids: Sequence[int], tags: Collection[str]) -> None:
    """Add tags to watches of the account; a watch keeps its present tags."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    rows = [{"account_id": account_id, "watch_id": each, "tag": tag} for each in watch_ids for tag in tags]
    for start in range(0, len(rows), _ROWS_OF_A_STATEMENT):
        added = insert(watch_tags).values(rows[start : start + _ROWS_OF_A_STATEMENT])
        await connection.execute(added.on_conflict_do_nothing())


async def remove(
    connection: AsyncConnection, account_id: int, watch_ids: Sequence[int], tags: Collection[str] | None = None
) -> None:
    """Remove tags from watches of the account, all of them if none are given."""
    for chunk in chunks(watch_ids):
        of_watches = watch_tags.c.account_id == account_id, watch_tags.c.watch_id.in_(chunk)
        named = true() if tags is None else watch_tags.c.tag.in_(tags)
        await connection.execute(delete(watch_tags).where(*of_watches, named))
