"""Watched subjects for the device sweep, and the reads that it requests."""

from collections.abc import Collection, Mapping, Sequence

from registerwatch.copy.sweeps import SweptManufacturer
from registerwatch.ingest.watched_subjects import DueSubjects
from registerwatch.platform.clock import Clock, is_recent
from registerwatch.platform.db.engine import Database
from registerwatch.register.observation import ReadContext
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.watches.outbox import Outbox, release_at_end
from registerwatch.watches.reading import sweep_repository
from registerwatch.watches.reading.read_many import SubjectReads
from registerwatch.watches.reading.read_order import ReadGroup
from registerwatch.watches.reading.read_subject import SubjectReader
from registerwatch.watches.reading.sweep_repository import FailedTry

SIDE_BY_SIDE = 3
START_SECONDS = 120.0
"""How long the reads of one page wait for the request budget."""
HELD_SECONDS = 600
"""How long deliveries of reads whose process was killed are held back."""
MIN_WAIT_SECONDS = 300
MAX_WAIT_SECONDS = 3600
"""The longest wait between failed tries of a subject."""


class SweepTargets:
    """The watched subjects of active accounts."""

    def __init__(self, database: Database, clock: Clock, reader: SubjectReader, outbox: Outbox) -> None:
        self._database = database
        self._clock = clock
        self._reader = reader
        self._outbox = outbox

    async def manufacturers(self) -> Sequence[SweptManufacturer]:
        """Every manufacturer that is watched or has watched devices, with what active accounts watch."""
        async with self._database.reading() as connection:
            return await sweep_repository.manufacturers(connection, int(self._clock.now()))

    async def devices_of(self, srn: str) -> Sequence[str]:
        """The UDI-DIs of a manufacturer that active accounts watch."""
        async with self._database.reading() as connection:
            return await sweep_repository.devices_of(connection, srn, int(self._clock.now()))

    async def due(self, subjects: Sequence[str]) -> DueSubjects:
        """The subjects that may be read now. A subject whose reads fail waits as long as they have failed, but at most
        `MAX_WAIT_SECONDS`.
        """
        async with self._database.reading() as connection:
            tries = await sweep_repository.failed_tries(connection, subjects, int(self._clock.now()))
        now = int(self._clock.now())
        tried_at = {each.subject: each.tried_at for each in sorted(tries, key=lambda each: each.tried_at)}
        waiting = {each.subject for each in tries if is_recent(each.tried_at, now, wait_seconds(each))}
        return DueSubjects(
            sound=[each for each in subjects if each not in tried_at],
            failing=sorted(tried_at.keys() - waiting, key=lambda subject: (tried_at[subject], subject)),
        )

    async def read(self, visible_at: Mapping[str, int]) -> Collection[str]:
        """Read subjects in full whose changes a list showed at these instants. Returns those found and compared. Their
        events are delivered together.
        """
        held_until = int(self._clock.now()) + HELD_SECONDS
        context = ReadContext(held_until=held_until, visible_at=visible_at)
        limits = self._reader.limits(start_until=self._clock.monotonic() + START_SECONDS)
        groups = [ReadGroup([subject]) for subject in visible_at]
        reads = SubjectReads(self._reader, groups, RequestPriority.SWEEP, context, limits)
        async with release_at_end(context, self._outbox):
            await reads.read_all(SIDE_BY_SIDE)
        return reads.found_subjects


def wait_seconds(failed: FailedTry) -> int:
    """Seconds from a failed try until the subject may be read again."""
    return min(max(failed.tried_at - failed.since, MIN_WAIT_SECONDS), MAX_WAIT_SECONDS)
