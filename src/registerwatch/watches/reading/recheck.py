"""Rechecking: once in a while a few watches of the whole service are read again."""

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
from registerwatch.watches.reading.recheck_turns import Turn

SIDE_BY_SIDE = 5
"""Subjects that a run reads at a time, so that one which fails with its pauses does not hold up the others."""
START_SECONDS = 420.0
"""So long a run waits for the request budget to begin reads: it is through before the next one, ten minutes later."""
HELD_SECONDS = 900
"""A run that was killed holds its deliveries back for so long."""

log = structlog.get_logger(__name__)


class RecheckResult(msgspec.Struct, frozen=True):
    """A run: subjects that were tried, how many of them the register had, and those that were not asked for."""

    tried: int
    found: int
    unread: int = 0


class RecheckService:
    """Reads subjects of active accounts, one read for all watches on each. `watches_per_run` counts subjects.

    Accounts take turns over all runs, and within an account the longest unread comes first. A third of the places is
    for watches that were never read, by turns of their own. Half of either kind, and of an odd number one more, is for
    accounts that pay, the rest for trials, who take turns among themselves; what one group leaves unused the other
    takes. So a watch waits for at most

        W * ceil(A / H) runs, where H = ceil(R / 2) for an account that pays, R // 2 for a trial, R = P - P // 3

    of P places, where A are the active accounts of its group that have watches and W the watches of its account. For a
    watch that was never read, R = P // 3, and only accounts and watches of that kind count. Where R is 1, both groups
    have every second run. Accounts and watches that come later come behind, and do not count. Runs that cannot ask for
    all of their subjects do not count either; who was not asked for keeps its turn. Only what a bulk load found changed
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
        """Seconds: how old a Basic UDI-DI record may be that was read for another device since."""

    async def longest_unread(self) -> int | None:
        """When the watch of an active account that was not read for the longest time was (unix seconds).

        A watch that was never tried counts from when it was made; None when there is none.
        """
        async with self._database.reading() as connection:
            return await repository.longest_unread(connection, int(self._clock.now()))

    async def count_by_health(self) -> Mapping[HealthState, int]:
        """How many watches of active accounts are in each state."""
        async with self._database.reading() as connection:
            return await repository.count_by_health(connection, int(self._clock.now()))

    async def run(self) -> RecheckResult:
        """One run."""
        now = int(self._clock.now())
        async with self._database.reading() as connection:
            turns = await recheck_repository.due(connection, now, self._watches_per_run)
        due = [turn.subject for turn in turns if turn.subject is not None]
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
            await self._note_turns(turns, reads.tried_subjects, now)
        result = RecheckResult(reads.tried, reads.found, reads.unread)
        if due:
            log.info("rechecked watches", tried=result.tried, found=result.found, unread=result.unread)
        return result

    async def _note_turns(self, turns: Sequence[Turn], tried: Collection[str], now: int) -> None:
        """Whoever's subject was tried has had a turn; what was not asked for is first in the next run.

        A run that did not try all has not read all of what an account watches for others.
        """
        had = [turn for turn in turns if turn.subject in tried]
        if len(had) == sum(turn.subject is not None for turn in turns):
            had = list(turns)
        if had:
            async with self._database.transaction() as connection:
                await recheck_repository.note_turns(connection, had, now)
