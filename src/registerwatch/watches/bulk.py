"""Bulk changes: one change to many watches of an account, chosen one by one or by a filter."""

from collections.abc import Sequence

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.models import Caller
from registerwatch.accounts.repository import locked
from registerwatch.errors import InvalidInput
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.watches import repository, tag_repository
from registerwatch.watches.questions import listing_repository
from registerwatch.watches.questions.listed_watches import WatchFilter
from registerwatch.watches.tags import add_tags, spelled, tag_of

MAX_CHOSEN = 5_000
"""Twice as many watches as the largest plan has."""
TOO_MANY = f"At most {MAX_CHOSEN:,} watches can be changed at once. Choose fewer."
NONE_CHOSEN = "Choose one or more watches first."


class Selection(msgspec.Struct, frozen=True):
    """Watches with these ids, or all that match the filter if there is one. Ids of other accounts are ignored."""

    ids: Sequence[int] = ()
    matching: WatchFilter | None = None


class BulkService:
    """Changes many watches in one transaction. Every function returns the number of chosen watches."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def ids(self, caller: Caller, selection: Selection) -> Sequence[int]:
        """The chosen watches. Raises `InvalidInput` for none or too many."""
        async with self._database.reading() as connection:
            return await self._chosen(connection, caller, selection)

    async def add_tag(self, caller: Caller, selection: Selection, text: str) -> int:
        """Add a tag. Raises `InvalidInput`, `PeriodEnded`, and `CapReached` where one of the watches has too many."""
        caller.account.require_active(self._clock.now())
        tag = tag_of(text)
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            chosen = await self._chosen(connection, caller, selection)
            return await add_tags(connection, caller.account.id, chosen, [tag])

    async def remove_tag(self, caller: Caller, selection: Selection, text: str) -> int:
        """Remove a tag. Raises `InvalidInput`, `PeriodEnded`."""
        caller.account.require_active(self._clock.now())
        tag = tag_of(text)
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            chosen = await self._chosen(connection, caller, selection)
            await tag_repository.remove(connection, caller.account.id, chosen, await spelled(connection, caller, [tag]))
        return len(chosen)

    async def delete(self, caller: Caller, selection: Selection) -> int:
        """Remove watches with their tags. Their events stay. Raises `InvalidInput`."""
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            chosen = await self._chosen(connection, caller, selection)
            await repository.remove_all(connection, caller.account.id, chosen)
        return len(chosen)

    async def _chosen(self, connection: AsyncConnection, caller: Caller, selection: Selection) -> Sequence[int]:
        account_id = caller.account.id
        if len(selection.ids) > MAX_CHOSEN:
            raise InvalidInput(TOO_MANY)
        if selection.matching is None:
            found = await repository.own(connection, account_id, set(selection.ids))
        else:
            now = int(self._clock.now())
            found = await listing_repository.matching_ids(connection, account_id, selection.matching, now)
        if not found:
            raise InvalidInput(NONE_CHOSEN)
        if len(found) > MAX_CHOSEN:
            raise InvalidInput(TOO_MANY)
        return found
