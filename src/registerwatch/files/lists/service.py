"""The use cases of an account's saved lists."""

import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, date, tzinfo
from functools import cached_property

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.limits.plan_shares import PlanShares
from registerwatch.accounts.limits.work_budget import WorkBudget
from registerwatch.accounts.models import Caller
from registerwatch.accounts.plans import MIB
from registerwatch.accounts.repository import locked
from registerwatch.accounts.validation import one_line
from registerwatch.copy.records import RecordStore
from registerwatch.copy.standings import StoredStanding, revision_of_copy, stored_standings
from registerwatch.errors import CapReached, DatabaseUnavailable, InvalidInput, Overloaded
from registerwatch.files.lists import line_repository, repository
from registerwatch.files.lists.line_match import ReadLine, as_in_copy, match
from registerwatch.files.lists.lines import known_of, row_of
from registerwatch.files.lists.models import (
    MAX_LISTS,
    MAX_NAME_LENGTH,
    MAX_WAITING,
    CoverageCounts,
    Differences,
    ItemList,
    LineFilter,
    ListLine,
    SubjectCounts,
    Upload,
    WatchedLines,
)
from registerwatch.files.tables.cells import bare
from registerwatch.files.tables.file_kinds import check_beginning
from registerwatch.files.tables.table import ReadChoices
from registerwatch.platform.account_slots import AccountSlots, enter_within
from registerwatch.platform.clock import Clock, day_of
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.run_uncancelled import run_uncancelled
from registerwatch.platform.disk import DiskCheck
from registerwatch.register.standing import NOTHING_KNOWN, SubjectStanding
from registerwatch.watches.imports.code_process import CodeReader
from registerwatch.watches.imports.import_list import ImportService
from registerwatch.watches.imports.import_table import ListLine as ImportLine

MAX_FILENAME_LENGTH = 120
SHOWN_GONE = 50
AT_ONCE = 500
"""How many lines of an export are in memory together."""
LOOKED_AT_BESIDE = 1_000
"""Subjects that are given to the import beyond the plan's limit, since some may not be identifiers."""
MAX_CELL_READS, MAX_CELL_READS_OF_ACCOUNT, MAX_CELL_READS_OF_NETWORK = 2, 1, 1
"""Statements of one process that may read the cells of all lines of a list at a time. Each uses one of five
connections, and keeps a core of the database busy for up to two seconds.
"""
WAIT_SECONDS = 5.0
"""How long a statement waits for those before it; then the client must try again."""
COUNTED_SECONDS = 0.05
"""Shorter statements are not counted as work of the account: they cost no more than other requests."""

NO_LIST = "There is no such list."
NO_UPLOAD = "There is no such upload: it was discarded, or another file was sent since."
NO_NAME = "Name the list."
NAME_TOO_LONG = f"The name of a list has at most {MAX_NAME_LENGTH} characters."
NO_FILE = "A file that cannot be read is not stored. Send it again."
NO_ROOM = "The disk of this service is nearly full, so it takes no files now. Try again later."
SAME_NAME = "There is a list with this name already."
NOTHING_KEPT = "This list has no lines yet."
BUSY = "Other lists are being searched at the moment. Try again in a few seconds."


class NoSuchList(InvalidInput):
    """The account has no such list, or the list no such upload."""


class ShownLine(msgspec.Struct, frozen=True, dict=True):
    """A line on a day, with what the copy has of its subject; None if it has nothing."""

    line: ListLine
    stored: StoredStanding | None
    today: date
    fresh_for: float
    """Seconds for which a record of the copy counts as fresh."""

    @cached_property
    def standing(self) -> SubjectStanding:
        """The standing of its subject in the copy."""
        return NOTHING_KNOWN if self.stored is None else self.stored.standing(self.today)

    @property
    def certified_until(self) -> str | None:
        """The last day on which a certificate counts; empty if that is over."""
        until = self.line.certified_until
        return until if until is None or until >= self.today.isoformat() else ""


class LinePage(msgspec.Struct, frozen=True):
    """A page of an upload's lines, and their total."""

    lines: Sequence[ShownLine]
    total: int
    upload: Upload

    @property
    def headings(self) -> Sequence[str]:
        """The headings of the lines' cells."""
        return self.upload.found.own_headings if self.upload.found is not None else ()


class ListState(msgspec.Struct, frozen=True):
    """A list and the coverage of its lines, which does not reflect the last `behind` changes of the copy yet."""

    item_list: ItemList
    counts: CoverageCounts | None
    """None for a list without lines."""
    behind: int = 0


class UploadDetails(msgspec.Struct, frozen=True):
    """An upload that waits to be kept, with its list."""

    item_list: ItemList
    upload: Upload
    counts: CoverageCounts
    differences: Differences | None
    """None while a node works on it, and for the first upload of a list."""


class UploadPreview(msgspec.Struct, frozen=True):
    """An upload for its page."""

    details: UploadDetails
    page: LinePage | None = None
    """None before the upload is ready."""
    gone: Sequence[ShownLine] = ()
    """The first lines of the list that the upload no longer has."""


class ListService:
    """The saved lists of accounts. `wake` makes `lists.worker` process a sent file. Days, such as those on which
    certificates end, are counted in `zone`.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        copy: RecordStore,
        imports: ImportService,
        codes: CodeReader,
        shares: PlanShares,
        work: WorkBudget,
        disk: DiskCheck,
        wake: Callable[[], None],
        *,
        fresh_for: float,
    ) -> None:
        self._database = database
        self._clock = clock
        self._copy = copy
        self._imports = imports
        self._codes = codes
        self._shares = shares
        self._work = work
        self._disk = disk
        self._wake = wake
        self._fresh_for = fresh_for
        self._cell_reads = AccountSlots(
            most=MAX_CELL_READS,
            most_per_account=MAX_CELL_READS_OF_ACCOUNT,
            most_per_network=MAX_CELL_READS_OF_NETWORK,
        )

    async def all(self, caller: Caller, *, zone: tzinfo = UTC) -> Sequence[ListState]:
        """The account's lists by name, each with its coverage."""
        async with self._database.reading() as connection:
            lists = await repository.lists_of(connection, caller.account.id)
            return await self._states(connection, caller, lists, self.today(zone))

    async def names(self, caller: Caller) -> Mapping[int, str]:
        """The names of the account's lists that have lines, by id, in alphabetical order."""
        async with self._database.reading() as connection:
            lists = await repository.lists_of(connection, caller.account.id)
        return {each.id: each.name for each in lists if each.kept is not None}

    async def one(self, caller: Caller, list_id: int, *, zone: tzinfo = UTC) -> ListState:
        """A list of the account with its coverage. Raises `InvalidInput` if there is none."""
        async with self._database.reading() as connection:
            own = await _own(connection, caller, list_id)
            return (await self._states(connection, caller, [own], self.today(zone)))[0]

    async def rename(self, caller: Caller, list_id: int, name: str) -> None:
        """Give a list another name. Raises `InvalidInput`, `PeriodEnded`."""
        async with self._changing(caller) as connection:
            own = await _own(connection, caller, list_id)
            wanted = _name_of(name)
            if await repository.named(connection, caller.account.id, wanted) not in (None, own.id):
                raise InvalidInput(SAME_NAME)
            await repository.rename(connection, caller.account.id, own.id, wanted)

    async def remove(self, caller: Caller, list_id: int) -> bool:
        """Delete a list with its lines. Returns whether there was one. Watches stay."""
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            return await repository.remove(connection, caller.account.id, list_id)

    async def send_named(
        self,
        caller: Caller,
        name: str,
        filename: str,
        content: bytes,
        choices: ReadChoices,
        *,
        keeps_itself: bool = False,
        is_new: bool = False,
    ) -> tuple[int, int]:
        """Send a file for the list with a name, which is created if missing. Returns the ids of list and upload.

        Raises `InvalidInput` if the file does not begin as a list does, or a list that must be new exists;
        `PeriodEnded`, `CapReached`, and `Overloaded` if the disk is nearly full; then nothing is created.
        """
        check_beginning(content, choices.encoding)
        await self._require_room()
        async with self._changing(caller) as connection:
            list_id = await repository.named(connection, caller.account.id, _name_of(name))
            if list_id is None or is_new:
                list_id = await self._added(connection, caller, name)
            upload_id = await self._sent(connection, caller, list_id, filename, content, choices, keeps_itself)
        self._wake()
        return list_id, upload_id

    async def send(
        self,
        caller: Caller,
        list_id: int,
        filename: str,
        content: bytes,
        choices: ReadChoices,
        *,
        keeps_itself: bool = False,
    ) -> int:
        """Send a file for a list, replacing one that waits to be kept. Returns the upload's id.

        Raises `InvalidInput`, also if it does not begin as a list; `PeriodEnded`, `CapReached`, `Overloaded`.
        """
        check_beginning(content, choices.encoding)
        await self._require_room()
        async with self._changing(caller) as connection:
            own = await _own(connection, caller, list_id)
            upload_id = await self._sent(connection, caller, own.id, filename, content, choices, keeps_itself)
        self._wake()
        return upload_id

    async def append(self, caller: Caller, list_id: int, codes: Sequence[str]) -> int:
        """Add lines with these codes at the end of a list. Returns how many are new. Codes that the list has, in any
        spelling, stay as they are.

        Raises `InvalidInput`, `PeriodEnded`, `CapReached`, `Overloaded`; and `RateLimited`, if the account has used its
        share of the processor.
        """
        typed = [bare(each) for each in codes]
        meant = await self._codes.read(typed, caller.account.id, caller.network)
        lines = [ReadLine.of_code(code, each) for code, each in zip(typed, meant, strict=True)]
        read = {line.key: line for line in lines if line.code}
        async with self._changing(caller) as connection:
            own = await _own(connection, caller, list_id)
            upload, _ = _lines_of(own, None)
            revision = await revision_of_copy(connection)
            for key in await line_repository.keys_among(connection, upload.id, read):
                del read[key]
            total = (upload.total or 0) + len(read)
            await _keep_cap(connection, caller.account.id, caller.account.plan.lines, own, total)
            number = await line_repository.last_number(connection, upload.id) + 1
            now, today = int(self._clock.now()), self.today()
            known = await known_of(connection, self._copy, list(read.values()))
            rows = [
                row_of(upload.id, each, line, (), match(line, known, today), now)
                for each, line in enumerate(read.values(), start=number)
            ]
            if rows:
                await line_repository.add(connection, rows)
                await repository.note_appended(connection, upload.id, total, revision)
        return len(read)

    async def upload(self, caller: Caller, list_id: int, upload_id: int, *, zone: tzinfo = UTC) -> UploadDetails:
        """An upload's progress. Raises `InvalidInput`, `Overloaded`."""
        async with self._database.reading() as connection:
            own = await _own(connection, caller, list_id)
        is_compared = _upload_of(own, upload_id).state == "ready" and own.kept is not None
        async with self._reading(caller, reads_cells=is_compared) as connection:
            return await self._details(connection, caller, own, upload_id, self.today(zone))

    async def read_anew(self, caller: Caller, list_id: int, upload_id: int, choices: ReadChoices) -> None:
        """Let a file be read in another way. Raises `InvalidInput`, `PeriodEnded`."""
        async with self._changing(caller) as connection:
            upload = _upload_of(await _own(connection, caller, list_id), upload_id)
            if upload.state == "failed" and not upload.is_stored:
                raise InvalidInput(NO_FILE)
            if not await repository.read_anew(connection, upload.id, choices, int(self._clock.now())):
                raise InvalidInput(NO_UPLOAD)
        self._wake()

    async def keep(self, caller: Caller, list_id: int, upload_id: int) -> None:
        """Make a ready upload the list's lines. One that is kept already stays so.

        Raises `InvalidInput`, `PeriodEnded`, and `CapReached` if the lists would have too many lines together.
        """
        async with self._changing(caller) as connection:
            own = await _own(connection, caller, list_id)
            await keep_upload(connection, caller.account.id, caller.account.plan.lines, own, upload_id)

    async def discard(self, caller: Caller, list_id: int, upload_id: int) -> bool:
        """Delete an upload that is not kept, and its list if that has no lines; a kept upload stays. Returns whether
        the list is there afterwards.
        """
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            for own in await repository.lists_of(connection, caller.account.id, list_id):
                if own.waiting is None or own.waiting.id != upload_id:
                    return True
                if own.kept is None:
                    return not await repository.remove(connection, caller.account.id, own.id)
                await repository.discard(connection, own.id)
                return True
        return False

    async def lines(
        self,
        caller: Caller,
        list_id: int,
        chosen: LineFilter,
        *,
        upload_id: int | None = None,
        after: int = 0,
        limit: int = AT_ONCE,
        offset: int = 0,
        zone: tzinfo = UTC,
    ) -> LinePage:
        """Lines of a list, or of an upload of it, that match a filter. Raises `InvalidInput` and as `_chosen`."""
        today = self.today(zone)
        async with self._chosen(caller, chosen) as connection:
            upload, beside = _lines_of(await _own(connection, caller, list_id), upload_id)
            found, total = await line_repository.page(
                connection,
                caller.account.id,
                upload.id,
                chosen,
                today,
                beside=beside,
                after=after,
                limit=limit,
                offset=offset,
            )
            return LinePage(await self._with_stored(connection, found, today), total, upload)

    async def preview(
        self,
        caller: Caller,
        list_id: int,
        upload_id: int,
        chosen: LineFilter,
        *,
        limit: int,
        offset: int,
        zone: tzinfo = UTC,
    ) -> UploadPreview:
        """The progress of an upload; once it is ready, a page of its lines and the first that it lacks. Raises
        `NoSuchList` and as `_chosen`.
        """
        today, account_id = self.today(zone), caller.account.id
        details = await self.upload(caller, list_id, upload_id, zone=zone)
        if details.upload.state != "ready":
            return UploadPreview(details)
        kept = details.item_list.kept
        beside = None if kept is None else kept.id
        async with self._chosen(caller, chosen) as connection:
            found, total = await line_repository.page(
                connection, account_id, upload_id, chosen, today, beside=beside, limit=limit, offset=offset
            )
            gone: Sequence[ListLine] = ()
            if beside is not None and details.differences is not None and details.differences.gone:
                gone = await line_repository.gone(connection, account_id, upload_id, beside, today, SHOWN_GONE)
            shown = await self._with_stored(connection, [*found, *gone], today)
        page = LinePage(shown[: len(found)], total, details.upload)
        return UploadPreview(details, page, shown[len(found) :])

    async def every_line(
        self, caller: Caller, upload: Upload, chosen: LineFilter, *, zone: tzinfo = UTC
    ) -> AsyncIterator[ShownLine]:
        """All matching lines of an upload, few of them in memory at a time. Raises `NoSuchList`, also if another upload
        is kept meanwhile, whose columns differ; and before the first line as `_chosen`.
        """
        account_id, today = caller.account.id, self.today(zone)
        async with self._chosen(caller, chosen) as connection:
            numbers = await line_repository.numbers(connection, account_id, upload.id, chosen, today)
        for start in range(0, len(numbers), AT_ONCE):
            some = numbers[start : start + AT_ONCE]
            async with self._database.reading() as connection:
                _upload_of(await _own(connection, caller, upload.list_id), upload.id)
                found = await line_repository.numbered(connection, account_id, upload.id, some, today)
                lines = await self._with_stored(connection, found, today)
            for each in lines:
                yield each

    async def count_subjects(
        self, caller: Caller, list_id: int, chosen: LineFilter, *, zone: tzinfo = UTC
    ) -> SubjectCounts:
        """How many devices and actors the matching lines mean, and how many are watched. Raises `InvalidInput` and as
        `_chosen`.
        """
        async with self._chosen(caller, chosen) as connection:
            upload, _ = _lines_of(await _own(connection, caller, list_id), None)
            account_id, today = caller.account.id, self.today(zone)
            return await line_repository.count_subjects(connection, account_id, upload.id, chosen, today)

    async def watch(
        self, caller: Caller, list_id: int, chosen: LineFilter, tags: Collection[str] = (), *, zone: tzinfo = UTC
    ) -> WatchedLines:
        """Watch the subjects of matching lines, in the order of the list, until the plan is full. Subjects watched
        before get the tags too. Raises `InvalidInput`, `PeriodEnded`, `CapReached` for too many tags, and as `_chosen`.
        """
        caller.account.require_active(self._clock.now())
        async with self._chosen(caller, chosen) as connection:
            upload, _ = _lines_of(await _own(connection, caller, list_id), None)
            account_id, today = caller.account.id, self.today(zone)
            subjects = await line_repository.subjects(connection, account_id, upload.id, chosen, today)
        most = caller.account.plan.watches + LOOKED_AT_BESIDE
        some = [ImportLine(number, each) for number, each in enumerate(subjects[:most], start=1)]
        plan = await self._imports.add_list(caller, some, tags, tags_watched=True)
        counted = plan.counts
        left = counted["left"] + max(0, len(subjects) - most)
        return WatchedLines(counted["new"], counted["watched"] + counted["twice"], left, counted["invalid"])

    def today(self, zone: tzinfo = UTC) -> date:
        """The present day in a time zone."""
        return day_of(self._clock.now(), zone)

    @asynccontextmanager
    async def _chosen(self, caller: Caller, chosen: LineFilter) -> AsyncIterator[AsyncConnection]:
        """A connection for reading the lines of a filter. Raises `Overloaded`; for words also `RateLimited`, if the
        account has used its share of the processor.
        """
        async with self._reading(caller, reads_cells=chosen.reads_cells, has_words=chosen.has_words) as connection:
            yield connection

    @asynccontextmanager
    async def _reading(
        self, caller: Caller, *, reads_cells: bool, has_words: bool = False
    ) -> AsyncIterator[AsyncConnection]:
        """A connection for reading lines. Reading the cells of all lines counts as work of the account and waits for a
        slot; raises `Overloaded` if none is free in time.
        """
        account_id = caller.account.id
        async with AsyncExitStack() as held:
            if reads_cells:
                slot = self._cell_reads.slot(account_id, caller.network)
                await enter_within(WAIT_SECONDS, held, slot, otherwise=BUSY)
            if has_words:
                await self._work.require(account_id)
            seconds = 0.0
            try:
                async with self._database.reading() as connection:
                    began = time.monotonic()
                    try:
                        yield connection
                    finally:
                        seconds = time.monotonic() - began
            finally:
                if reads_cells and seconds >= COUNTED_SECONDS:
                    with suppress(DatabaseUnavailable):  # a full disk must not stop reads
                        await run_uncancelled(self._work.spend(account_id, seconds))

    async def _with_stored(
        self, connection: AsyncConnection, lines: Sequence[ListLine], today: date
    ) -> Sequence[ShownLine]:
        stored = await stored_standings(connection, {each.subject for each in lines if each.subject})
        both = [(each, stored.get(each.subject or "")) for each in lines]
        return [ShownLine(as_in_copy(each, of, today), of, today, self._fresh_for) for each, of in both]

    async def _details(
        self, connection: AsyncConnection, caller: Caller, own: ItemList, upload_id: int, today: date
    ) -> UploadDetails:
        upload = _upload_of(own, upload_id)
        counts = await line_repository.counts(connection, caller.account.id, [upload.id], today)
        differences = None
        if upload.state == "ready" and own.kept is not None:
            differences = await line_repository.differences(connection, upload.id, own.kept.id)
        return UploadDetails(own, upload, counts[upload.id], differences)

    async def _states(
        self, connection: AsyncConnection, caller: Caller, lists: Sequence[ItemList], today: date
    ) -> Sequence[ListState]:
        kept = [each.kept.id for each in lists if each.kept is not None]
        counts = await line_repository.counts(connection, caller.account.id, kept, today)
        revision = await revision_of_copy(connection)
        return [
            ListState(each, counts[each.kept.id], max(0, revision - each.kept.revision))
            if each.kept is not None
            else ListState(each, None)
            for each in lists
        ]

    async def _added(self, connection: AsyncConnection, caller: Caller, name: str) -> int:
        account_id, wanted = caller.account.id, _name_of(name)
        if await repository.named(connection, account_id, wanted) is not None:
            raise InvalidInput(SAME_NAME)
        if len(await repository.lists_of(connection, account_id)) >= MAX_LISTS:
            raise CapReached(f"An account has at most {MAX_LISTS} lists. Delete one that you no longer need.")
        return await repository.add(connection, account_id, wanted, int(self._clock.now()))

    async def _sent(
        self,
        connection: AsyncConnection,
        caller: Caller,
        list_id: int,
        filename: str,
        content: bytes,
        choices: ReadChoices,
        keeps_itself: bool,
    ) -> int:
        await repository.discard(connection, list_id)
        if await repository.not_kept(connection, caller.account.id) >= MAX_WAITING:
            raise CapReached(f"{MAX_WAITING} uploads wait to be kept. Keep or discard one of them first.")
        await self._keep_byte_cap(connection, caller, len(content))
        return await repository.add_upload(
            connection,
            list_id,
            filename=one_line(filename)[:MAX_FILENAME_LENGTH],
            content=content,
            choices=choices,
            keeps_itself=keeps_itself,
            now=int(self._clock.now()),
        )

    async def _keep_byte_cap(self, connection: AsyncConnection, caller: Caller, length: int) -> None:
        """Raise `CapReached` if the account would store too many bytes with a file of this length."""
        plan = await self._shares.of(connection, caller.account.id)
        most = plan.stored_bytes if plan is not None else 0
        total = await repository.stored_bytes(connection, caller.account.id) + length
        if total <= most:
            return
        is_small = most < caller.account.plan.stored_bytes
        more = " There is more room once your e-mail address is confirmed." if is_small else ""
        raise CapReached(too_many_bytes(most, total) + more)

    async def _require_room(self) -> None:
        """Raise `Overloaded` if the disk is nearly full."""
        if await self._disk.problem() is not None:
            raise Overloaded(NO_ROOM)

    @asynccontextmanager
    async def _changing(self, caller: Caller) -> AsyncIterator[AsyncConnection]:
        """A transaction of an active account, which it locks."""
        caller.account.require_active(self._clock.now())
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            yield connection


def too_many_bytes(most: int, total: int) -> str:
    """The message if the files and lines of an account's lists would have too many bytes together."""
    return (
        f"The files and lines of lists may have {most / MIB:g} MiB together, and would have {total / MIB:.1f} MiB."
        " Discard a file, delete a list, or send fewer columns."
    )


async def keep_upload(
    connection: AsyncConnection, account_id: int, most: int, item_list: ItemList, upload_id: int
) -> None:
    """Make an upload its list's lines. The caller has locked the account. Raises `InvalidInput`, `CapReached`."""
    upload = _upload_of(item_list, upload_id)
    if upload.state == "kept":
        return
    if upload.state != "ready":
        raise InvalidInput(upload.problem or "This upload is still being worked on. Wait until it is ready.")
    await _keep_cap(connection, account_id, most, item_list, upload.total or 0)
    await repository.keep(connection, item_list, upload)


async def _keep_cap(connection: AsyncConnection, account_id: int, most: int, item_list: ItemList, total: int) -> None:
    """Raise `CapReached` if the account's lists would have too many lines with this total."""
    others = await repository.lines_kept(connection, account_id, but=item_list.id)
    if others + total > most:
        raise CapReached(
            f"The plan allows {most:,} lines of lists together; the other lists have {others:,}, and this one would"
            f" have {total:,}."
        )


async def _own(connection: AsyncConnection, caller: Caller, list_id: int) -> ItemList:
    found = await repository.lists_of(connection, caller.account.id, list_id)
    if not found:
        raise NoSuchList(NO_LIST)
    return found[0]


def _upload_of(item_list: ItemList, upload_id: int) -> Upload:
    for each in (item_list.kept, item_list.waiting):
        if each is not None and each.id == upload_id:
            return each
    raise NoSuchList(NO_UPLOAD)


def _lines_of(item_list: ItemList, upload_id: int | None) -> tuple[Upload, int | None]:
    """The upload to read lines of, and the id of the one that it is compared with."""
    if upload_id is not None:
        return _upload_of(item_list, upload_id), None if item_list.kept is None else item_list.kept.id
    if item_list.kept is None:
        raise InvalidInput(NOTHING_KEPT)
    return item_list.kept, None


def _name_of(text: str) -> str:
    name = one_line(text)
    if not name:
        raise InvalidInput(NO_NAME)
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidInput(NAME_TOO_LONG)
    return name
