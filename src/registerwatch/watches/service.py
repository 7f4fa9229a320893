"""Adding, listing, naming and removing watches."""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from registerwatch.accounts.models import Caller
from registerwatch.accounts.plans import keep_cap
from registerwatch.accounts.repository import locked
from registerwatch.copy.names import StoredName, stored_names
from registerwatch.errors import InvalidInput
from registerwatch.lookup.code_service import CodeService
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.row_pages import RowPage
from registerwatch.platform.db.statements import PreparedSelect
from registerwatch.register.identifiers import is_word
from registerwatch.register.observation import ReadContext
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.watches import repository
from registerwatch.watches.events import event_repository
from registerwatch.watches.events.event_pages import EventFilter, EventPage
from registerwatch.watches.models import Event, Watch, WatchPatch
from registerwatch.watches.news.news_cursors import begin_added, set_options
from registerwatch.watches.reading.read_subject import SubjectReader
from registerwatch.watches.subjects import watchable

_COUNT = PreparedSelect(repository.COUNT)
_WATCHES_AFTER = PreparedSelect(repository.WATCHES_AFTER)
_NEWEST_EVENTS, _EVENTS_AFTER = PreparedSelect(event_repository.NEWEST), PreparedSelect(event_repository.AFTER)
NEWEST_EVENTS = 100
MAX_QUICK = 500
"""Watches that one quick statement reads, in a millisecond; more are read over a connection."""
START_SECONDS = 25.0
"""How long a read that a person waits for may wait for the request budget."""
_UNKNOWN = StoredName("")
NO_CODE = "This has no digit, so it is no UDI-DI and no SRN. Search for words, and watch the code of what is found."
NO_WATCH = "The account has no watch with this id."


class AddedWatch(msgspec.Struct, frozen=True):
    """The watch on a subject, and whether it is new."""

    watch: Watch
    is_new: bool


class WatchService:
    """The use cases of an account's watches."""

    def __init__(self, database: Database, clock: Clock, reader: SubjectReader, codes: CodeService) -> None:
        self._codes = codes
        self._database = database
        self._clock = clock
        self._reader = reader

    async def all(self, caller: Caller) -> Sequence[Watch]:
        """The account's watches, oldest first."""
        first = await self.page(caller, after=0, limit=MAX_QUICK)
        if not first.more:
            return first.rows
        async with self._database.reading() as connection:
            return await repository.of_account(connection, caller.account.id)

    async def page(self, caller: Caller, *, after: int, limit: int) -> RowPage[Watch]:
        """The account's watches after an id, oldest first."""
        asked = {"account_id": caller.account.id, "after": after, "most": limit + 1, "skipped": 0}
        rows = await self._database.rows(_WATCHES_AFTER, **asked)
        return RowPage.cut([repository.watch_of(row) for row in rows], limit)

    async def ids_of(self, caller: Caller, subjects: Sequence[str]) -> Mapping[str, int]:
        """The ids of the account's watches on some subjects, by subject."""
        async with self._database.reading() as connection:
            return await repository.ids_of(connection, caller.account.id, subjects)

    async def count(self, account_id: int) -> int:
        """How many watches the account has."""
        ((number,),) = await self._database.rows(_COUNT, account_id=account_id)
        return int(number)

    async def add(self, caller: Caller, text: str, *, must_exist: bool = True) -> Watch:
        """Watch a subject and read the register at once; what it says is the baseline and makes no event.

        The text may be any code that means one subject. A subject that is watched already stays as it is. Raises
        `CapReached`, and `InvalidInput` if the text is not a subject. With `must_exist` this includes a word that the
        copy does not have as an identifier, since it would never be read; other codes may be registered later.
        """
        return (await self.add_or_find(caller, text, must_exist=must_exist)).watch

    async def add_or_find(self, caller: Caller, text: str, *, must_exist: bool = True) -> AddedWatch:
        """Do as `add`, and return whether it is new."""
        subject = watchable(await self._codes.subject(text))
        existing = await self._added(caller, subject, must_exist=must_exist)
        if existing is not None:
            return AddedWatch(existing, is_new=False)
        limits = self._reader.limits(self._clock.monotonic() + START_SECONDS, caller.account)
        read = await self._reader.read(subject, RequestPriority.WATCH, ReadContext(), limits)
        if read.unasked:
            await self._note_unread(caller, subject, read.unasked)
        async with self._database.reading() as connection:
            watch = await repository.by_subject(connection, caller.account.id, subject)
        if watch is None:
            raise InvalidInput(NO_WATCH)  # it was removed while it was read
        return AddedWatch(watch, is_new=True)

    async def check_addable(self, caller: Caller, text: str) -> None:
        """Raise what `add` would raise now: `InvalidInput`, `CapReached`, `PeriodEnded`. Nothing is added."""
        subject = watchable(await self._codes.subject(text))
        caller.account.require_active(self._clock.now())
        async with self._database.reading() as connection:
            if await repository.by_subject(connection, caller.account.id, subject) is None:
                _require_code(subject, await stored_names(connection, [subject]))
                present = await repository.count(connection, caller.account.id)
                keep_cap(present, caller.account.plan.watches, "watches")

    async def rename(self, caller: Caller, watch_id: int, text: str) -> Watch:
        """Give a watch a name that syncs do not change. Raises `InvalidInput` for an empty name and an unknown id."""
        return await self.change(caller, watch_id, WatchPatch(label=text))

    async def change(self, caller: Caller, watch_id: int, wanted: WatchPatch) -> Watch:
        """Change what people set for a watch, such as a name that syncs do not change; all or nothing.

        Raises `InvalidInput` for an empty name and an unknown id.
        """
        columns = wanted.columns()
        async with self._database.transaction() as connection:
            if columns:
                await repository.set_columns(connection, caller.account.id, watch_id, columns)
            if wanted.options is not None:
                await set_options(connection, caller.account.id, watch_id, wanted.options, int(self._clock.now()))
            watch = await repository.by_id(connection, caller.account.id, watch_id)
        if watch is None:
            raise InvalidInput(NO_WATCH)
        return watch

    async def remove(self, caller: Caller, watch_id: int) -> None:
        """Remove a watch if it is the account's. Its events stay."""
        async with self._database.transaction() as connection:
            await repository.remove(connection, caller.account.id, watch_id)

    async def events(self, caller: Caller, most: int = NEWEST_EVENTS) -> Sequence[Event]:
        """The account's events, newest first."""
        return await self._events(caller, after=None, most=most)

    async def event_page(self, caller: Caller, chosen: EventFilter, *, after: int | None, limit: int) -> EventPage:
        """A page of the account's events: those that come after an id, oldest first, or else the newest ones."""
        if chosen == EventFilter():
            read = await self._events(caller, after=after, most=limit + 1)
        else:
            async with self._database.reading() as connection:
                read = await event_repository.chosen_events(
                    connection, caller.account.id, chosen, after=after, most=limit + 1
                )
        return EventPage.cut(read, after=after, limit=limit)

    async def _events(self, caller: Caller, *, after: int | None, most: int) -> Sequence[Event]:
        """The account's events that come after an id, oldest first, or else the newest ones, newest first."""
        statement = _NEWEST_EVENTS if after is None else _EVENTS_AFTER
        rows = await self._database.rows(statement, account_id=caller.account.id, after=after, most=most, skipped=0)
        return [event_repository.event_of(row) for row in rows]

    async def _note_unread(self, caller: Caller, subject: str, reason: str) -> None:
        async with self._database.transaction() as connection:
            await self._reader.store_delisted(connection, subject)
            await repository.note_unread(connection, caller.account.id, subject, reason)

    async def _added(self, caller: Caller, subject: str, *, must_exist: bool) -> Watch | None:
        """The watch if it was there already; None if it was added now."""
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            existing = await repository.by_subject(connection, caller.account.id, subject)
            if existing is None:
                names = await stored_names(connection, [subject])
                if must_exist:
                    _require_code(subject, names)
                present = await repository.count(connection, caller.account.id)
                keep_cap(present, caller.account.plan.watches, "watches")
                known = names.get(subject, _UNKNOWN)
                new = [repository.NewWatch(subject, manufacturer_srn=known.manufacturer_srn, basic_udi=known.basic_udi)]
                now = int(self._clock.now())
                await repository.add(connection, caller.account.id, new, now)
                await begin_added(connection, caller.account.id, [subject], now)
        return existing


def _require_code(subject: str, stored: Collection[str]) -> None:
    """Raise `InvalidInput` for a word that is not a stored identifier."""
    if is_word(subject) and subject not in stored:
        raise InvalidInput(NO_CODE)
