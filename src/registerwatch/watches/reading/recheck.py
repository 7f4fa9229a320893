"""The recheck: each run reads a few of the due watches of all accounts again."""

from collections.abc import Collection, Mapping, Sequence

import msgspec
import structlog

from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.register.observation import ReadContext
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.watches import repository
from registerwatch.watches.models import HealthState
from registerwatch.watches.outbox import Outbox, release_at_end
from registerwatch.watches.reading import recheck_repository
from registerwatch.watches.reading.read_many import SubjectReads
from registerwatch.watches.reading.read_order import grouped
from registerwatch.watches.reading.read_subject import SubjectReader
from registerwatch.watches.reading.recheck_order import RecheckEntry

SIDE_BY_SIDE = 5
"""Subjects that a run reads at a time, so that one which fails with its pauses does not hold up the others."""
START_SECONDS = 420.0
"""How long a run waits for the request budget to begin reads. It ends before the next run, ten minutes later."""
HELD_SECONDS = 900
"""How long the deliveries of a killed run are held back."""

log = structlog.get_logger(__name__)


class RecheckResult(msgspec.Struct, frozen=True):
    """The result of a run: subjects tried, subjects found in the register, subjects not asked for."""

    tried: int
    found: int
    unread: int = 0


class RecheckService:
    """Reads subjects of active accounts, one read for all watches on each. `watches_per_run` counts subjects.

    Accounts are served in rotation over all runs; within an account the longest unread is first. A third of the slots
    is for watches that were never read, with its own rotation. Of both kinds, paying accounts have half of the slots
    (rounded up) and trials the rest, each with its own rotation. Each group can use the other's free slots. A watch
    waits for at most

        W * ceil(A / H) runs, where H = ceil(R / 2) for an account that pays, R // 2 for a trial, R = P - P // 3

    of P slots, where A are the active accounts of its group that have watches and W the watches of its account. For a
    watch that was never read, R = P // 3, and only accounts and watches of that kind count. Where R is 1, both groups
    have every second run. Accounts and watches that are added later come last, and do not count. Nor do runs that
    cannot ask for all of their subjects: accounts that were not served stay first. Only what a bulk load found changed
    (`repository.make_due`) goes before the account's other watches.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        reader: SubjectReader,
        outbox: Outbox,
        *,
        watches_per_run: int,
        max_shared_age: float = 0.0,
    ) -> None:
        self._database = database
        self._clock = clock
        self._reader = reader
        self._outbox = outbox
        self._watches_per_run = watches_per_run
        self._max_shared_age = max_shared_age
        """The highest age, in seconds, of a Basic UDI-DI record that was read for another device."""

    async def longest_unread(self) -> int | None:
        """When the longest unread watch of an active account was last read (unix seconds).

        A watch that was never tried counts from when it was made; None when there is none.
        """
        async with self._database.reading() as connection:
            return await repository.longest_unread(connection, int(self._clock.now()))

    async def count_by_health(self) -> Mapping[HealthState, int]:
        """How many watches of active accounts are in each state."""
        async with self._database.reading() as connection:
            return await repository.count_by_health(connection, int(self._clock.now()))

    async def run(self) -> RecheckResult:
        """Do one run."""
        now = int(self._clock.now())
        async with self._database.reading() as connection:
            entries = await recheck_repository.due(connection, now, self._watches_per_run)
        due = [entry.subject for entry in entries if entry.subject is not None]
        context = ReadContext(held_until=now + HELD_SECONDS, is_recheck=True)
        await self._reader.propagate_rest()
        limits = self._reader.limits(
            start_until=self._clock.monotonic() + START_SECONDS, max_shared_age=self._max_shared_age
        )
        groups = grouped(due, await self._reader.families(due))
        reads = SubjectReads(self._reader, groups, RequestPriority.RECHECK, context, limits)
        try:
            async with release_at_end(context, self._outbox):
                await reads.read_all(SIDE_BY_SIDE)
        finally:
            await self._note_served(entries, reads.tried_subjects, now)
        result = RecheckResult(reads.tried, reads.found, reads.unread)
        if due:
            log.info("rechecked watches", tried=result.tried, found=result.found, unread=result.unread)
        return result

    async def _note_served(self, entries: Sequence[RecheckEntry], tried: Collection[str], now: int) -> None:
        """Store the served accounts: those whose subject was tried. The others are first in the next run.

        An account without its own subject counts only if all subjects were tried.
        """
        had = [entry for entry in entries if entry.subject in tried]
        if len(had) == sum(entry.subject is not None for entry in entries):
            had = list(entries)
        if had:
            async with self._database.transaction() as connection:
                await recheck_repository.note_served(connection, had, now)
