"""Lists of an account's watches for people: filtered, sorted, by page, with tags and last changes."""

from collections.abc import AsyncIterator, Sequence

from registerwatch.accounts.models import Caller
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.structs import replace
from registerwatch.watches import tag_repository
from registerwatch.watches.questions import listing_repository
from registerwatch.watches.questions.listed_watches import (
    PAGE_ROWS,
    ListedWatch,
    WatchCounts,
    WatchFilter,
    WatchOrder,
    WatchPage,
)

EXPORTED_AT_ONCE = 250
"""How many watches of an export have their snapshots in memory together."""


class ListingService:
    """Lists watches. Only snapshots of shown watches are decoded."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def page(
        self, caller: Caller, chosen: WatchFilter, order: WatchOrder, *, is_descending: bool = False, page: int = 1
    ) -> WatchPage:
        """One page of matching watches."""
        now, account_id = int(self._clock.now()), caller.account.id
        async with self._database.reading() as connection:
            cells = await listing_repository.counts(connection, account_id, chosen, now)
            counts = WatchCounts(chosen, cells)
            shown = min(max(1, page), max(1, -(-counts.matching // PAGE_ROWS)))
            ids = await listing_repository.matching_ids(
                connection,
                account_id,
                chosen,
                now,
                order=order,
                is_descending=is_descending,
                limit=PAGE_ROWS,
                offset=(shown - 1) * PAGE_ROWS,
            )
            rows = await listing_repository.listed(connection, account_id, ids)
            tags = await tag_repository.tags_of(connection, account_id, ids)
        return WatchPage([replace(row, tags=tags.get(row.watch.id, ())) for row in rows], counts, shown)

    async def names(self, caller: Caller, watch_ids: Sequence[int]) -> Sequence[str]:
        """The names of watches of the account, in the order of their ids."""
        async with self._database.reading() as connection:
            return await listing_repository.names(connection, caller.account.id, watch_ids)

    async def all(
        self, caller: Caller, chosen: WatchFilter, order: WatchOrder, *, is_descending: bool = False
    ) -> AsyncIterator[ListedWatch]:
        """All matching watches, few of them in memory at a time. Watches added meanwhile are left out."""
        account_id = caller.account.id
        async with self._database.reading() as connection:
            ids = await listing_repository.matching_ids(
                connection, account_id, chosen, int(self._clock.now()), order=order, is_descending=is_descending
            )
        for start in range(0, len(ids), EXPORTED_AT_ONCE):
            some = ids[start : start + EXPORTED_AT_ONCE]
            async with self._database.reading() as connection:
                rows = await listing_repository.listed(connection, account_id, some)
                tags = await tag_repository.tags_of(connection, account_id, some)
            for row in rows:
                yield replace(row, tags=tags.get(row.watch.id, ()))
