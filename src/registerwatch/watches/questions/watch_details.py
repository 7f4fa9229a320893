"""The page of one watch: its settings, its timeline, and the actions there."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.models import Caller
from registerwatch.accounts.repository import locked
from registerwatch.accounts.validation import label as label_of_text
from registerwatch.copy.names import first_seen_at
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.register.observation import ReadContext
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.watches import repository, tag_repository
from registerwatch.watches.events import event_repository
from registerwatch.watches.models import Watch
from registerwatch.watches.news.news_cursors import begin_switched_on
from registerwatch.watches.options import WatchOptions, notes_of, with_options
from registerwatch.watches.questions import watch_details_repository
from registerwatch.watches.questions.timeline import PAGE_LENGTH, Position, TimelinePage, position_of
from registerwatch.watches.questions.watch_details_repository import StoredSettings
from registerwatch.watches.reading import read_failures
from registerwatch.watches.reading.read_subject import SubjectReader
from registerwatch.watches.service import START_SECONDS
from registerwatch.watches.snapshot import label_of
from registerwatch.watches.tags import set_tags, tags_of_text


class WatchDetails(msgspec.Struct, frozen=True):
    """A watch with its settings and a page of its timeline."""

    watch: Watch
    is_renamed: bool
    """Whether a person gave its name; if not, reads change it."""
    tags: Sequence[str]
    notes: str
    options: WatchOptions
    timeline: TimelinePage
    first_seen_at: int | None = None
    """When the copy first had its subject (unix seconds), None where it never had it."""

    @property
    def registered_name(self) -> str:
        """Its name if no person named it."""
        return registered_name(self.watch)


class WatchEdit(msgspec.Struct, frozen=True):
    """The settings of a watch, as typed. An empty name, or the register's own, follows the register."""

    name: str = ""
    tags: str = ""
    """Separated by commas."""
    notes: str = ""
    options: WatchOptions = msgspec.field(default_factory=WatchOptions)


class ReadResult(StrEnum):
    """The result of reading one watch now."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    FIRST = "first"
    """The first read, which is the baseline."""
    FAILED = "failed"
    UNASKED = "unasked"
    """The register was not asked: the request budget is used up."""


class WatchDetailsService:
    """The use cases of the page of one watch."""

    def __init__(self, database: Database, clock: Clock, reader: SubjectReader) -> None:
        self._database = database
        self._clock = clock
        self._reader = reader

    async def read(self, caller: Caller, watch_id: int, *, before: Position | None = None) -> WatchDetails | None:
        """A watch of the account, with its timeline before a position; None if there is no such watch."""
        account_id = caller.account.id
        async with self._database.reading() as connection:
            found = await watch_details_repository.with_settings(connection, account_id, watch_id)
            if found is None:
                return None
            watch, settings = found
            tags = (await tag_repository.tags_of(connection, account_id, [watch_id])).get(watch_id, ())
            timeline = await _timeline(connection, account_id, watch_id, before)
            seen_at = await first_seen_at(connection, watch.subject)
        return WatchDetails(watch, settings.is_renamed, tags, settings.notes, watch.options, timeline, seen_at)

    async def change(self, caller: Caller, watch_id: int, wanted: WatchEdit) -> bool:
        """Store the settings of a watch, all or none. False if the account has no such watch.

        Raises `InvalidInput` for notes and tags that are too long, `CapReached` for too many tags, `PeriodEnded`.
        """
        caller.account.require_active(self._clock.now())
        account_id, label = caller.account.id, label_of_text(wanted.name)
        notes, tags = notes_of(wanted.notes), tags_of_text(wanted.tags)
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            await watch_details_repository.lock(connection, account_id, watch_id)
            found = await watch_details_repository.with_settings(connection, account_id, watch_id)
            if found is None:
                return False
            watch, stored = found
            registered = registered_name(watch)
            is_renamed = label not in ("", label_of_text(registered))
            settings = StoredSettings(
                label if is_renamed else registered, is_renamed, notes, with_options(stored.options, wanted.options)
            )
            await watch_details_repository.set_settings(connection, account_id, watch_id, settings)
            await begin_switched_on(
                connection, account_id, watch_id, watch.options, wanted.options, int(self._clock.now())
            )
            await set_tags(connection, account_id, watch_id, tags)
        return True

    async def read_register(self, caller: Caller, watch_id: int) -> ReadResult | None:
        """Read the subject of one watch from the register now; None if the account has no such watch.

        Changes make events, as those of a sync do, which are sent at once. Raises `PeriodEnded`.
        """
        caller.account.require_active(self._clock.now())
        before = await self._state(caller, watch_id)
        if before is None:
            return None
        limits = self._reader.limits(self._clock.monotonic() + START_SECONDS, caller.account)
        read = await self._reader.read(before.watch.subject, RequestPriority.WATCH, ReadContext(), limits)
        if read.unasked:
            return ReadResult.UNASKED
        after = await self._state(caller, watch_id)
        if after is None:
            return None
        return _result(before, after) if read.is_found else ReadResult.FAILED

    async def _state(self, caller: Caller, watch_id: int) -> "_State | None":
        async with self._database.reading() as connection:
            watch = await repository.by_id(connection, caller.account.id, watch_id)
            newest = await event_repository.events_of_watch(connection, caller.account.id, watch_id, 1)
        return _State(watch, newest[0].id if newest else 0) if watch is not None else None


def registered_name(watch: Watch) -> str:
    """The name of a watch that no person named."""
    return label_of(watch.snapshot, watch.subject) if watch.snapshot is not None else watch.subject


class _State(msgspec.Struct, frozen=True):
    """A watch, and the id of its newest event, 0 without any."""

    watch: Watch
    newest_event: int


def _result(before: _State, after: _State) -> ReadResult:
    if before.watch.snapshot is None:
        return ReadResult.FIRST
    return ReadResult.CHANGED if after.newest_event > before.newest_event else ReadResult.UNCHANGED


async def _timeline(
    connection: AsyncConnection, account_id: int, watch_id: int, before: Position | None
) -> TimelinePage:
    """A page of a timeline. At the same instant failed reads sort before events."""
    at = None if before is None else (before.at, before.id if before.is_event else 0)
    events = await event_repository.events_of_watch(connection, account_id, watch_id, PAGE_LENGTH + 1, before=at)
    failures = await read_failures.of_watch(connection, account_id, watch_id)
    earlier = [each for each in failures if before is None or position_of(each) < before]
    return TimelinePage.cut(events, earlier, PAGE_LENGTH)
