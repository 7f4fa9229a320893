"""Seen and unseen events of a user, archived events of an account.

Each user has their own seen events: an event that one has seen is still unseen for the others. For a new user all
earlier events of the account are seen. Archived is for the whole account, and an archived event is seen for all users.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.models import Caller
from registerwatch.accounts.repository import locked
from registerwatch.errors import InvalidInput
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.row_pages import MAX_ROW_ID
from registerwatch.platform.structs import replace
from registerwatch.watches.events import event_marks_repository as marks
from registerwatch.watches.events import event_search_repository as search
from registerwatch.watches.events.event_search_repository import ListedEvent, Viewer
from registerwatch.watches.events.event_selection import EventSelection, EventView
from registerwatch.watches.models import EventSeverity

MAX_COUNTED = 5_000
"""Counts stop here: there may be more."""
MAX_MARKED_IDS = 1_000
"""Events that one request can name."""
_AT_ONCE = 1_000
"""Events that an export holds in memory."""


class UnseenCounts(msgspec.Struct, frozen=True):
    """How many events a user has not seen, each number up to `MAX_COUNTED`."""

    by_severity: Mapping[EventSeverity, int]

    @property
    def total(self) -> int:
        """The sum, at most `MAX_COUNTED`."""
        return min(MAX_COUNTED, sum(self.by_severity.values()))


class UnseenEvents(msgspec.Struct, frozen=True):
    """Events that a user has not seen, the most severe first, and how many there are in all."""

    events: Sequence[ListedEvent]
    counts: UnseenCounts
    by_cause: Mapping[str, int] = {}
    """The number of events of each cause, where more may exist than are listed."""


class EventListing(msgspec.Struct, frozen=True):
    """A page of events, newest first, and the numbers beside it."""

    events: Sequence[ListedEvent]
    has_newer: bool
    has_older: bool
    matching: int
    """The number of chosen events up to `through`, at most `MAX_COUNTED`."""
    through: int
    """Id of the account's newest event when this was read: marking all matching events leaves out later ones."""
    unseen: UnseenCounts
    by_cause: Mapping[str, int] = {}
    """The number of chosen events of each cause, where some may be on other pages."""


class EventMarks:
    """Lists and marks the events of an account for its users."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def most_severe_unseen(self, caller: Caller, limit: int) -> UnseenEvents:
        """The most severe events that the user has not seen, the newest of each severity, and how many there are."""
        viewer = _viewer(caller)
        async with self._database.reading() as connection:
            counts = UnseenCounts(await search.unseen_by_severity(connection, viewer, MAX_COUNTED))
            found = await search.most_severe_unseen(connection, viewer, limit)
            selection, causes = EventSelection(EventView.UNSEEN), _causes(found) if len(found) == limit else set()
            by_cause = await search.count_by_cause(connection, viewer, selection, causes, MAX_ROW_ID)
        return UnseenEvents(found, counts, by_cause)

    async def unseen_of_watch(self, caller: Caller, watch_id: int, limit: int) -> Sequence[ListedEvent]:
        """The newest events of a watch that the user has not seen, newest first."""
        viewer = _viewer(caller)
        async with self._database.reading() as connection:
            return await search.listed(connection, viewer, EventSelection(EventView.UNSEEN, watch_id=watch_id), limit)

    async def page(
        self,
        caller: Caller,
        selection: EventSelection,
        *,
        before: int | None = None,
        after: int | None = None,
        limit: int,
    ) -> EventListing:
        """Chosen events: the newest, those before an id, or those that come next after an id."""
        viewer = _viewer(caller)
        async with self._database.reading() as connection:
            through = await search.newest_id(connection, viewer.account_id)
            unseen = UnseenCounts(await search.unseen_by_severity(connection, viewer, MAX_COUNTED))
            read = await search.listed(connection, viewer, selection, limit + 1, before=before, after=after)
            is_first = before is None and after is None
            if is_first and len(read) <= limit:
                return EventListing(read, False, False, len(read), through, unseen)
            if selection == EventSelection(EventView.UNSEEN):
                matching = unseen.total
            else:
                matching = await search.count(connection, viewer, selection, through, MAX_COUNTED)
            shown = read[:limit] if after is None else read[-limit:]
            by_cause = await search.count_by_cause(connection, viewer, selection, _causes(shown), through)
        more = len(read) > limit
        has_newer, has_older = (not is_first, more) if after is None else (more, True)
        return EventListing(shown, has_newer, has_older, matching, through, unseen, by_cause)

    async def matching(self, caller: Caller, selection: EventSelection, through: int) -> int:
        """How many events up to an id are chosen, at most `MAX_COUNTED`."""
        async with self._database.reading() as connection:
            return await search.count(connection, _viewer(caller), selection, through, MAX_COUNTED)

    async def export(
        self, caller: Caller, selection: EventSelection, at_once: int = _AT_ONCE
    ) -> AsyncIterator[Sequence[ListedEvent]]:
        """All chosen events, newest first, `at_once` at a time."""
        viewer = _viewer(caller)
        before: int | None = None
        while True:
            async with self._database.reading() as connection:
                read = await search.listed(connection, viewer, selection, at_once, before=before)
            if read:
                yield read
            if len(read) < at_once:
                return
            before = read[-1].event.id

    async def mark_seen(self, caller: Caller, event_ids: Sequence[int]) -> int:
        """Mark events seen. Returns how many were unseen."""
        async with self._changing(caller) as (connection, viewer):
            return await marks.mark_seen(connection, viewer, marks.with_ids(_bounded(event_ids)))

    async def mark_matching_seen(self, caller: Caller, selection: EventSelection, through: int) -> int:
        """Mark all chosen events up to an id seen. Returns how many were unseen."""
        unseen = replace(selection, view=EventView.UNSEEN)
        async with self._changing(caller) as (connection, viewer):
            if selection.is_filtered:
                return await marks.mark_seen(connection, viewer, marks.matching(viewer, unseen, through))
            number = await search.count(connection, viewer, unseen, through, MAX_ROW_ID)
            await marks.mark_all_seen(connection, viewer, through)
            return number

    async def mark_unseen(self, caller: Caller, event_ids: Sequence[int]) -> int:
        """Mark events unseen; archived ones stay as they are. Returns how many were seen."""
        async with self._changing(caller) as (connection, viewer):
            return await marks.mark_unseen(connection, viewer, marks.with_ids(_bounded(event_ids)))

    async def mark_matching_unseen(self, caller: Caller, selection: EventSelection, through: int) -> int:
        """Mark all chosen events up to an id unseen. Returns how many were seen."""
        async with self._changing(caller) as (connection, viewer):
            return await marks.mark_unseen(connection, viewer, marks.matching(viewer, selection, through))

    async def archive(self, caller: Caller, event_ids: Sequence[int]) -> int:
        """Archive events for everybody in the account. Returns how many were not archived."""
        now = int(self._clock.now())
        async with self._changing(caller) as (connection, viewer):
            return await marks.archive(connection, viewer, marks.with_ids(_bounded(event_ids)), now)

    async def archive_matching(self, caller: Caller, selection: EventSelection, through: int) -> int:
        """Archive all chosen events up to an id, for everybody in the account. Returns how many that were."""
        now = int(self._clock.now())
        async with self._changing(caller) as (connection, viewer):
            return await marks.archive(connection, viewer, marks.matching(viewer, selection, through), now)

    async def unarchive(self, caller: Caller, event_ids: Sequence[int]) -> int:
        """List archived events again, as seen by everybody in the account. Returns how many were archived."""
        async with self._changing(caller) as (connection, viewer):
            return await marks.unarchive(connection, viewer.account_id, _bounded(event_ids))

    @asynccontextmanager
    async def _changing(self, caller: Caller) -> AsyncIterator[tuple[AsyncConnection, Viewer]]:
        """A transaction that alone changes marks of the account."""
        viewer = _viewer(caller)
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            yield connection, viewer


def _causes(listed: Sequence[ListedEvent]) -> set[str]:
    return {each.event.cause for each in listed if each.event.cause}


def _viewer(caller: Caller) -> Viewer:
    """The user of a request. Raises `InvalidInput` for an API key: it has no marks."""
    if caller.user_id is None:
        raise InvalidInput("Only users have seen events. Sign in as one.")
    return Viewer(caller.account.id, caller.user_id)


def _bounded(event_ids: Sequence[int]) -> Sequence[int]:
    if len(event_ids) > MAX_MARKED_IDS:
        raise InvalidInput(f"Mark {MAX_MARKED_IDS} events at most at a time.")
    return event_ids
