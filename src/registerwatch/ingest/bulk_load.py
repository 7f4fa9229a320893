"""Fills the copy from a source that lists all its records: the Data Lake, the register itself, a file.

A run stores each batch and the next cursor in one transaction, so that after a kill it resumes with the next batch. It
is polite: its requests take slots of the register's budget after requests that a person waits for.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec
from msgspec.structs import asdict
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.records import RecordStore
from registerwatch.copy.unread_fields import UnreadFieldStore
from registerwatch.errors import BulkLoadRefused
from registerwatch.platform.clock import CLOCK_DIFFERENCE_SECONDS, Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.structs import replace
from registerwatch.register.models import DeviceReading
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.requests import ignore
from registerwatch.sources.source import BulkSource, RecordBatch
from registerwatch.sources.unread_fields import UnreadCounts

DEAD_SECONDS = 1_800
"""A run without a stored batch for this long counts as killed; the register never throttles for as long."""
KNOWN_BATCHES_TO_STOP = 3
"""After this many batches in a row without anything new, a load of the newest records ends."""


class LoadProgress(msgspec.Struct, frozen=True):
    """The progress of a load: device records read and stored (new or changed) in this run, and their total, exact or
    approximate, where known.

    `actors` were read after the devices, and `unread` fields could not be read in this run.
    """

    records: int
    changed: int
    total: int | None
    actors: int = 0
    unread: UnreadCounts = msgspec.field(default_factory=dict)


class LoadForecast(msgspec.Struct, frozen=True):
    """The forecast of a load: about how many device records there are, how many an unfinished run has stored, and the
    least and the most seconds that 1,000 of them have taken elsewhere. None for unknown values.
    """

    records: int | None
    stored: int
    seconds_per_thousand: tuple[int, int] | None

    @property
    def hours(self) -> tuple[float, float] | None:
        """The least and the most hours that are left."""
        if self.records is None or self.seconds_per_thousand is None:
            return None
        left = max(0, self.records - self.stored) / 1_000 / 3_600
        return left * self.seconds_per_thousand[0], left * self.seconds_per_thousand[1]


class LoadRun(msgspec.Struct, frozen=True):
    """A stored run of one source. Instants are unix seconds."""

    source: str
    cursor: str
    records: int
    changed: int
    started_at: int
    updated_at: int
    finished_at: int | None


class _Start(msgspec.Struct, frozen=True):
    """The start of a run: its stored state, and the source's cursor.

    `known_at` is a revision: the run ends at batches of which nothing was stored after it. None: it reads to the end.
    """

    run: LoadRun
    cursor: str
    known_at: int | None = None


ProgressCallback = Callable[[LoadProgress], None]


class BulkLoader:
    """Fills one copy."""

    def __init__(self, database: Database, copy: RecordStore, clock: Clock, unread: UnreadFieldStore) -> None:
        self._database = database
        self._copy = copy
        self._clock = clock
        self._unread = unread

    async def load(
        self, source: BulkSource, watch: ProgressCallback, received: Callable[[int], None] = ignore
    ) -> LoadProgress:
        """Store what a source lists; an unfinished run continues after its last stored batch.

        `watch` is called after each stored batch, `received` with the bytes of a batch while it comes.
        Raises `BulkLoadRefused` when the source cannot be read.
        """
        try:
            return await self._store_batches(source, await self._start(source), watch, received)
        except RegisterFailure as failure:
            raise BulkLoadRefused(
                f"{failure.reason} What was read is stored; the same command goes on there, with --restart anew."
            ) from failure

    async def forecast(self, source: BulkSource) -> LoadForecast:
        """The forecast for a source. It has about as many records as its last whole run had."""
        last = await self.run(source.load_name)
        if last is None or last.finished_at is None:
            stored = last.records if last is not None else 0
            return LoadForecast(source.expected_records, stored, source.expected_seconds)
        return LoadForecast(last.records, 0, source.expected_seconds)

    async def forget(self, source: str) -> None:
        """Let the next run of a source, named by its `load_name`, begin at the start."""
        async with self._database.transaction() as connection:
            await connection.execute(_FORGET, {"source": source})

    async def claim(self, source: str, *, since: int) -> bool:
        """Whether the caller is to load a source now: it was not read to its end since then, and no one else loads it.

        A run that has stored nothing for half an hour counts as dead. A run that stored something or ended in the
        future is from before the clock was put back, and is ignored.
        """
        now = self._now()
        asked = {
            "source": source,
            "now": now,
            "since": since,
            "dead": now - DEAD_SECONDS,
            "latest": now + CLOCK_DIFFERENCE_SECONDS,
        }
        async with self._database.reading() as connection:
            if (await connection.execute(_IS_TAKEN, asked)).first() is not None:
                return False
        async with self._database.transaction() as connection:
            return (await connection.execute(_CLAIM, asked)).rowcount == 1

    async def run(self, source: str) -> LoadRun | None:
        """The last run of a source."""
        return next((run for run in await self.runs() if run.source == source), None)

    async def runs(self) -> list[LoadRun]:
        """The last run of every source, newest first."""
        async with self._database.reading() as connection:
            return [LoadRun(*row) for row in (await connection.execute(_RUNS)).all()]

    async def _start(self, source: BulkSource) -> _Start:
        """The start of a run of a source.

        A run of the newest records begins at the newest batch even after an interrupted one. Records that
        the earlier one stored do not count as known: behind them there may be records that are not stored.
        """
        now, last = self._now(), await self.run(source.load_name)
        if last is None:
            return _Start(LoadRun(source.load_name, "", 0, 0, now, now, None), "")
        is_finished = last.finished_at is not None
        run = LoadRun(source.load_name, "", 0, 0, now, now, None) if is_finished else last
        if not source.is_newest_first or not (is_finished or last.cursor.endswith(_KNOWN)):
            return _Start(run, run.cursor)
        revision = await self._copy.revision()
        return _Start(run, "", revision if is_finished else _known_at(last.cursor, revision))

    async def _store_batches(
        self, source: BulkSource, start: _Start, watch: ProgressCallback, received: Callable[[int], None]
    ) -> LoadProgress:
        """Store every batch with its cursor, while the next one is read."""
        run, known, counted = start.run, 0, self._unread.counted()
        progress = LoadProgress(run.records, run.changed, (await self.forecast(source)).records)
        upcoming = self._batches(source, start.cursor, received)
        reading = asyncio.ensure_future(anext(upcoming, None))
        try:
            while (step := await reading) is not None:
                batch, since, read_at = step
                now = self._now()
                async with self._unread.transaction() as connection:
                    changes = await self._copy.store_in(
                        connection, batch.readings, read_at=read_at, now=now, since=since
                    )
                    await self._copy.store_bulk_actors(connection, batch.actors, read_at=read_at, source=source.name)
                    known = known + 1 if await self._is_known(connection, batch.readings, start.known_at) else 0
                    ended = not batch.cursor or known == KNOWN_BATCHES_TO_STOP
                    run = replace(
                        run,
                        cursor=_noted_cursor(batch.cursor, start.known_at),
                        records=run.records + len(batch.readings),
                        changed=run.changed + len(changes or ()),
                        updated_at=now,
                        finished_at=now if ended else None,
                    )
                    await _note(connection, run, source)
                    reading = asyncio.ensure_future(anext(upcoming, None))  # runs while the commit is written
                progress = replace(
                    progress,
                    records=run.records,
                    changed=run.changed,
                    total=batch.total if batch.total is not None else progress.total,
                    actors=progress.actors + len(batch.actors),
                    unread=self._unread.since(counted),
                )
                watch(progress)
                if ended:
                    return progress
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        now = self._now()
        async with self._database.transaction() as connection:
            await _note(connection, replace(run, cursor="", updated_at=now, finished_at=now), source)
        return progress

    async def _batches(
        self, source: BulkSource, cursor: str, received: Callable[[int], None]
    ) -> AsyncIterator[tuple[RecordBatch, int | None, int]]:
        """Batches, each with the time and the copy's revision before its request (None for a source that lags
        anyway).
        """
        batches = source.batches(cursor, received)
        while True:
            since = None if source.lags else await self._copy.revision()
            read_at = self._now()
            batch = await anext(batches, None)
            if batch is None:
                return
            yield batch, since, read_at

    async def _is_known(
        self, connection: AsyncConnection, readings: Sequence[DeviceReading], known_at: int | None
    ) -> bool:
        return known_at is not None and await self._copy.newest_of(connection, readings) <= known_at

    def _now(self) -> int:
        return int(self._clock.now())


async def _note(connection: AsyncConnection, run: LoadRun, source: BulkSource) -> None:
    """Store a run's state. A finished run of the whole register marks the copy as whole since its start."""
    await connection.execute(_NOTE, asdict(run))
    if run.finished_at is not None and source.is_whole_register:
        await connection.execute(_NOTE_WHOLE, {"began_at": run.started_at})


_KNOWN = " known"
"""Suffix of the stored cursor of a run that stops at known records."""


def _noted_cursor(cursor: str, known_at: int | None) -> str:
    """A source's cursor for storage: for a run that stops at known records, with the revision of its start."""
    return cursor if not cursor or known_at is None else f"{cursor} {known_at}{_KNOWN}"


def _known_at(cursor: str, else_at: int) -> int:
    """The revision in a stored cursor."""
    parts = cursor.split()
    return int(parts[1]) if len(parts) == 3 else else_at


_IS_TAKEN = text(
    "SELECT 1 FROM fills WHERE source = :source AND updated_at <= :latest"
    " AND (updated_at > :dead OR finished_at >= :since)"
)
_CLAIM = text(
    "INSERT INTO fills (source, cursor, records, changed, started_at, updated_at)"
    " VALUES (:source, '', 0, 0, :now, :now)"
    " ON CONFLICT (source) DO UPDATE SET updated_at = excluded.updated_at"
    " WHERE fills.updated_at > :latest"
    " OR (fills.updated_at <= :dead AND (fills.finished_at IS NULL OR fills.finished_at < :since))"
)
_RUNS = text(
    "SELECT source, cursor, records, changed, started_at, updated_at, finished_at FROM fills ORDER BY updated_at DESC"
)
_FORGET = text("DELETE FROM fills WHERE source = :source")
_NOTE = text(
    "INSERT INTO fills (source, cursor, records, changed, started_at, updated_at, finished_at)"
    " VALUES (:source, :cursor, :records, :changed, :started_at, :updated_at, :finished_at)"
    " ON CONFLICT (source) DO UPDATE SET cursor = excluded.cursor, records = excluded.records,"
    " changed = excluded.changed, started_at = excluded.started_at, updated_at = excluded.updated_at,"
    " finished_at = excluded.finished_at"
)
_NOTE_WHOLE = text("UPDATE copy_state SET whole_at = :began_at WHERE id = 1")
