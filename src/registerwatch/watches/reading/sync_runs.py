"""Syncs that a page starts: they continue after the answer, and every node can show their progress."""

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import structlog

from registerwatch.accounts.models import Caller
from registerwatch.accounts.repository import locked
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.run_uncancelled import run_uncancelled
from registerwatch.register.observation import ReadContext
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.watches import repository
from registerwatch.watches.events import event_search_repository
from registerwatch.watches.models import SyncRun
from registerwatch.watches.outbox import Outbox, release_at_end
from registerwatch.watches.reading import sync_run_repository
from registerwatch.watches.reading.read_many import SubjectReads
from registerwatch.watches.reading.read_order import most_first
from registerwatch.watches.reading.read_subject import SubjectReader
from registerwatch.watches.reading.sync import GRACE_SECONDS, ReadsAtATime, shortfall

RUN_SECONDS = 600.0
"""Longer than `POST /v1/sync` may take, since no request waits for the end; but not longer than a recheck holds
deliveries back.
"""
PROGRESS_SECONDS = 1.0
"""Seconds between two progress updates of a sync."""
STOPPED = "The service was stopped meanwhile; the next recheck reads what is left first."
DEFECT = "The sync met a fault of this service, which is in the log."

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Started:
    """A run of this process."""

    caller: Caller
    run: SyncRun
    reads: SubjectReads
    context: ReadContext
    after_event: int


class SyncRunService:
    """Starts one sync at a time for an account, and reports its progress.

    Unlike `POST /v1/sync` it does not take events: a program that lists events by syncing misses none when a person
    starts a sync on a page.
    """

    def __init__(
        self, database: Database, clock: Clock, reader: SubjectReader, outbox: Outbox, *, at_a_time: ReadsAtATime
    ) -> None:
        self._database = database
        self._clock = clock
        self._reader = reader
        self._outbox = outbox
        self._at_a_time = at_a_time
        self._tasks: set[asyncio.Task[None]] = set()

    async def last(self, caller: Caller) -> SyncRun | None:
        """The account's last sync that a page started."""
        async with self._database.reading() as connection:
            return await sync_run_repository.of_account(connection, caller.account.id)

    async def start(self, caller: Caller, watch_ids: Sequence[int] | None = None) -> bool:
        """Read these watches of the account, or all, the longest unread first. False if a sync is running already.

        Chosen watches not reached within the time limit are first in the recheck. Raises `PeriodEnded`.
        """
        caller.account.require_active(self._clock.now())
        now = int(self._clock.now())
        ends_by = now + int(RUN_SECONDS) + GRACE_SECONDS
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            last = await sync_run_repository.of_account(connection, caller.account.id)
            if last is not None and last.state(now) == "running":
                return False
            if watch_ids is None:
                due = await repository.due_of_account(connection, caller.account.id, now)
            else:
                due = await repository.let_be_due(connection, caller.account.id, watch_ids)
            run = SyncRun(secrets.token_hex(8), now, ends_by, len(due))
            await sync_run_repository.begin(connection, caller.account.id, run)
            after_event = await event_search_repository.newest_id(connection, caller.account.id)
        context = ReadContext(held_until=ends_by, account_id=caller.account.id)
        limits = self._reader.limits(self._clock.monotonic() + RUN_SECONDS, caller.account)
        groups = most_first(due, await self._reader.families([each.name for each in due]))
        reads = SubjectReads(self._reader, groups, RequestPriority.WATCH, context, limits)
        self._begin(_Started(caller, run, reads, context, after_event))
        return True

    async def settled(self) -> None:
        """Wait for the end of every sync that this process has started."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def close(self) -> None:
        """Stop the syncs of this process. Each stores that it was stopped."""
        for task in self._tasks:
            task.cancel()
        await self.settled()

    def _begin(self, started: _Started) -> None:
        task = asyncio.create_task(self._run(started), name="sync of a page")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, started: _Started) -> None:
        progress = asyncio.create_task(self._note_progress(started))
        error: str = STOPPED
        try:
            await self._read(started)
            error = shortfall(started.reads, RUN_SECONDS) or ""
        except Exception:
            log.exception("a sync failed")
            error = DEFECT
        finally:
            progress.cancel()
            with suppress(asyncio.CancelledError):
                await progress
            await run_uncancelled(self._note(started, finished_at=int(self._clock.now()), error=error))

    async def _read(self, started: _Started) -> None:
        async with release_at_end(started.context, self._outbox):
            with suppress(TimeoutError):
                async with asyncio.timeout(RUN_SECONDS):
                    await started.reads.read_all(await self._at_a_time())

    async def _note_progress(self, started: _Started) -> None:
        noted = 0
        while True:
            await asyncio.sleep(PROGRESS_SECONDS)
            if started.reads.tried != noted:
                noted = started.reads.tried
                with suppress(Exception):  # the next update, or the end, stores it
                    await self._note(started)

    async def _note(self, started: _Started, *, finished_at: int | None = None, error: str = "") -> None:
        async with self._database.transaction() as connection:
            await sync_run_repository.note(
                connection,
                started.caller.account.id,
                started.run.run,
                done=started.reads.tried,
                failed=started.reads.failed,
                after_event=started.after_event,
                finished_at=finished_at,
                error=error,
            )
