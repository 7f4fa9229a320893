"""The worker of lists: it reads and matches files, and updates the lines of all lists from the copy."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import partial
from typing import Any

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.limits.plan_shares import PlanShares
from registerwatch.accounts.limits.work_budget import WorkBudget
from registerwatch.accounts.repository import lock_account
from registerwatch.copy.records import RecordStore
from registerwatch.copy.standings import changed_subjects, revision_of_copy, stored_standings
from registerwatch.errors import CapReached, InvalidInput, Overloaded, RateLimited
from registerwatch.files.lists import line_repository, repository
from registerwatch.files.lists.line_match import Known, Match, ReadLine, match, match_of
from registerwatch.files.lists.lines import due_at, known_of, row_of
from registerwatch.files.lists.models import ClaimedUpload, FoundTable
from registerwatch.files.lists.service import keep_upload, too_many_bytes
from registerwatch.files.tables.process import TableReader, TooMuchWork
from registerwatch.files.tables.table import Table, TableRow
from registerwatch.platform.clock import Clock, day_of
from registerwatch.platform.db.engine import Database
from registerwatch.platform.leases import NO_LEASE, LeaseLost
from registerwatch.watches.imports.code_process import CodeReader

AT_ONCE = 1_000
"""Lines that are matched and stored together; if a node is killed, at most this many are done again."""
IDLE_SECONDS = 2.0
CHANGES_AT_ONCE = 2_000
NO_ACCOUNT = 0
"""Stands for the accounts whose lines are matched again, as the copy may have changed: none is charged for that."""
KEPT_WAITING_SECONDS = 7 * 24 * 3600
"""How long an upload that is not kept is stored."""

NO_TIME_LEFT = "The account has used its processor time of this hour for files, photos and lists."
NO_ROWS = "The file has no rows below its heading."

log = structlog.get_logger(__name__)


class ListWorker:
    """The worker of one process. Any number of processes may have one. `codes` refuses no account: the work on its file
    has begun.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        copy: RecordStore,
        reader: TableReader,
        codes: CodeReader,
        shares: PlanShares,
        budget: WorkBudget,
    ) -> None:
        self._database = database
        self._clock = clock
        self._copy = copy
        self._reader = reader
        self._codes = codes
        self._shares = shares
        self._budget = budget
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Let this process look for uploads at once."""
        self._woken.set()

    async def step(self) -> None:
        """Do the waiting work, then wait until `wake` is called, at most two seconds."""
        self._woken.clear()
        await self.work_off()
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                await self._woken.wait()
        except TimeoutError:
            pass

    async def work_off(self) -> None:
        """Read and match every upload that waits."""
        while await self._work_on_next():
            pass

    async def follow(self) -> None:
        """Update the lines of all lists from the copy."""
        while await self._follow_changes():
            pass
        while await self._match_due():
            pass

    async def forget(self) -> int:
        """Delete old unkept uploads; how many."""
        async with self._database.transaction() as connection:
            return await repository.forget(connection, int(self._clock.now()) - KEPT_WAITING_SECONDS)

    async def _work_on_next(self) -> bool:
        now = int(self._clock.now())
        async with self._database.reading() as connection:
            if not await repository.has_waiting(connection, now):
                return False
        async with self._database.transaction() as connection:
            claimed = await repository.claim(connection, now)
        if claimed is None:
            return False
        upload = claimed.upload
        measured = partial(self._budget.measured, claimed.account_id)
        work = _Work(self._database, self._clock, self._copy, self._codes, claimed, measured)
        try:
            async with repository.lease_of(self._database, self._clock, claimed).renewed():
                await self._work_on(work, claimed.content, claimed.account_id)
        except LeaseLost:
            log.info("an upload of a list was taken back meanwhile", upload=upload.id)
        except Overloaded:
            with suppress(LeaseLost):
                await work.note(**NO_LEASE)
            return False
        except RateLimited as error:
            waits = {**NO_LEASE, "leased_until": now + error.retry_after}
            with suppress(LeaseLost):
                await work.note(state="waiting", problem=NO_TIME_LEFT, **waits)
        except InvalidInput as error:
            await work.fail(str(error), is_kept=upload.found is not None and not isinstance(error, TooMuchWork))
        return True

    async def _work_on(self, work: "_Work", content: bytes, account_id: int) -> None:
        """Read the file and match the lines that no other node has matched."""
        table = await self._reader.read(content, account_id, work.upload.choices)
        if not table.rows:
            raise InvalidInput(NO_ROWS)
        size = await self._budget.measured(account_id, partial(_bytes_of, table))
        async with self._database.reading() as connection:
            plan = await self._shares.of(connection, account_id)
            stored = await repository.stored_bytes(connection, account_id, without_lines_of=work.upload.id)
        most, most_bytes = (plan.lines, plan.stored_bytes) if plan is not None else (0, 0)
        if len(table.rows) > most:
            raise InvalidInput(f"The plan allows {most:,} lines of lists; this file has {len(table.rows):,}.")
        if stored + size > most_bytes:
            raise InvalidInput(too_many_bytes(most_bytes, stored + size))
        await work.begin(table, size)
        async with self._database.reading() as connection:
            after = await line_repository.last_number(connection, work.upload.id)
        rest = [row for row in table.rows if row.number > after]
        for start in range(0, len(rest), AT_ONCE):
            await work.store(table, rest[start : start + AT_ONCE], self._today())
        await work.end(account_id, most)

    async def _follow_changes(self) -> bool:
        """Apply some changes of the copy. Returns whether there may be more."""
        async with self._database.reading() as connection:
            oldest = await repository.oldest_revision(connection)
            if oldest is None or oldest >= await revision_of_copy(connection):
                return False
        async with self._database.transaction() as connection:
            uploads = await repository.locked_revisions(connection)
            since = min(uploads.values(), default=None)
            last = await revision_of_copy(connection)  # read before the changes, so that later ones are not skipped
            if since is None or since >= last:
                return False
            subjects, until = await changed_subjects(connection, since, CHANGES_AT_ONCE)
            listed = await line_repository.listed_subjects(connection, set(subjects)) if subjects else set()
            stored = await stored_standings(connection, listed)
            today = self._today()
            standings = [match_of(subject, each, today) for subject, each in sorted(stored.items())]
            await line_repository.set_standings(connection, standings)
            if not subjects:  # the last changes were of shared records or of rows that are gone
                until = last
            behind = [upload_id for upload_id, revision in uploads.items() if revision < until]
            await repository.note_revision(connection, behind, until)
        return bool(subjects)

    async def _match_due(self) -> bool:
        """Match again some lines that the copy did not have. Returns whether there may be more."""
        now = int(self._clock.now())
        async with self._database.reading() as connection:
            waiting = await line_repository.due(connection, now, AT_ONCE)
        if not waiting:
            return False
        codes = sorted({each.code for each in waiting})
        meant = await self._codes.read(codes, NO_ACCOUNT)
        read = {code: ReadLine.of_code(code, each) for code, each in zip(codes, meant, strict=True)}
        async with self._database.transaction() as connection:
            await repository.locked_revisions(connection)
            due = [each for each in await line_repository.due(connection, now, AT_ONCE) if each.code in read]
            lines = [read[each.code] for each in due]
            known = await known_of(connection, self._copy, lines)
            found = _matches(lines, known, self._today())
            matches = [(each, due_at(line, each, now)) for line, each in zip(lines, found, strict=True)]
            await line_repository.set_matches(connection, due, matches)
        return len(waiting) == AT_ONCE

    def _today(self) -> date:
        return day_of(self._clock.now())


class _Work:
    """An upload that this node has claimed. Every step raises `LeaseLost` where another node has it by now, or it was
    discarded or is to be read in another way.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        copy: RecordStore,
        codes: CodeReader,
        claimed: ClaimedUpload,
        measured: Callable[[Callable[[], Any]], Awaitable[Any]],
    ) -> None:
        self.upload = claimed.upload
        self._claimed = claimed
        self._database = database
        self._clock = clock
        self._copy = copy
        self._codes = codes
        self._measured = measured
        self._matched = self.upload.matched

    async def note(self, **values: object) -> None:
        async with self._database.transaction() as connection:
            await self._set(connection, values)

    async def begin(self, table: Table, size: int) -> None:
        """Store how the file was read, and the bytes of its lines. Lines that another node has matched stay."""
        async with self._database.reading() as connection:
            revision = await revision_of_copy(connection)
        first = {} if self._matched else {"revision": revision}
        found = repository.found_json(FoundTable.of(table))
        await self.note(found=found, total=len(table.rows), line_bytes=size, **first)

    async def store(self, table: Table, rows: Sequence[TableRow], today: date) -> None:
        """Match some rows, and store them as lines."""
        read = await self._codes.read([row.code for row in rows], self._claimed.account_id)
        lines = [ReadLine.of(row, each) for row, each in zip(rows, read, strict=True)]
        async with self._database.reading() as connection:
            known = await known_of(connection, self._copy, lines)
        now = int(self._clock.now())
        made = await self._measured(partial(self._rows, table, rows, lines, known, today, now))
        matched = self._matched + len(rows)
        async with self._database.transaction() as connection:
            await self._set(connection, {"matched": matched})
            await line_repository.add(connection, made)
        self._matched = matched

    async def end(self, account_id: int, most: int) -> None:
        """Make the upload ready, and keep it if it is to be kept automatically and the plan allows it."""
        async with self._database.transaction() as connection:
            await lock_account(connection, account_id)
            await line_repository.number_keys(connection, self.upload.id)
            await self._set(connection, {"state": "ready", "problem": "", **NO_LEASE})
            if not self.upload.keeps_itself:
                return
            [own] = await repository.lists_of(connection, account_id, self.upload.list_id)
            try:
                await keep_upload(connection, account_id, most, own, self.upload.id)
            except CapReached as error:
                await repository.note_problem(connection, self.upload.id, str(error))

    async def fail(self, problem: str, *, is_kept: bool) -> None:
        """Store why the file cannot be read, and delete it unless `is_kept`. Without the lease nothing is stored."""
        failed = {"state": "failed", "problem": problem, **NO_LEASE, **({} if is_kept else {"content": None})}
        async with self._database.transaction() as connection:
            await repository.set_work(connection, self._claimed, failed)

    async def _set(self, connection: AsyncConnection, values: Mapping[str, object]) -> None:
        if not await repository.set_work(connection, self._claimed, values):
            raise LeaseLost

    def _rows(
        self,
        table: Table,
        rows: Sequence[TableRow],
        lines: Sequence[ReadLine],
        known: Known,
        today: date,
        now: int,
    ) -> list[dict[str, object]]:
        column = table.choices.code_column or 0
        return [
            row_of(self.upload.id, row.number, line, [*row.cells[:column], *row.cells[column + 1 :]], found, now)
            for row, line, found in zip(rows, lines, _matches(lines, known, today), strict=True)
        ]


def _bytes_of(table: Table) -> int:
    return sum(len("".join(row.cells).encode()) for row in table.rows)


def _matches(lines: Iterable[ReadLine], known: Known, today: date) -> list[Match]:
    return [match(line, known, today) for line in lines]
