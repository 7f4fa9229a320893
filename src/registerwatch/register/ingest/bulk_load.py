"""Filling the copy: from the Data Lake, from the register itself, or from a file of records.

A fill stores a batch and where to go on in one transaction, so that after a kill it resumes with the next batch. It is
polite: every request takes its place in the register's budget, behind everybody who waits for an answer.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from sqlalchemy import text

from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.errors import BulkLoadRefused
from registerwatch.register.models import DeviceReading
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.register.sources.data_lake import DataLakeClient
from registerwatch.register.sources.eudamed.client import PAGE_SIZE, EudamedClient
from registerwatch.register.sources.record_file import lines, reading_of_line
from registerwatch.register.store.records import RecordStore

FILE_BATCH = 2_000
DEAD_SECONDS = 1_800
"""Without a stored batch, after which a run is not going on any more; longer than the register ever throttles."""
KNOWN_PAGES_TO_STOP = 3
"""Pages in a row without anything new after which the newest-first walk has met what it knows."""


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """How far a fill is: records read and stored (new or changed) in this run, and the expected total if known."""

    records: int
    changed: int
    total: int | None


@dataclass(frozen=True, slots=True)
class LoadRun:
    """A run of one source as it is noted in the database. Instants are unix seconds."""

    source: str
    cursor: str
    records: int
    changed: int
    started_at: int
    updated_at: int
    finished_at: int | None


@dataclass(frozen=True, slots=True)
class _Batch:
    """What one step of a source brings, and the cursor that goes on after it; `""` after the last."""

    readings: Sequence[DeviceReading]
    count: int
    cursor: str
    total: int | None = None
    since: int | None = None
    """The copy's revision when the register was asked; None for a source that lags behind it anyway."""


ProgressCallback = Callable[[LoadProgress], None]


class BulkLoader:
    """Fills one copy."""

    def __init__(self, database: Database, copy: RecordStore, clock: Clock) -> None:
        self._database = database
        self._copy = copy
        self._clock = clock

    async def from_file(self, path: Path, watch: ProgressCallback) -> LoadProgress:
        """Fill from a file of records; an unfinished run continues after its last stored line.

        Raises `BulkLoadRefused`.
        """
        path = path.resolve()
        if not path.is_file():
            raise BulkLoadRefused(f"There is no file {path}.")
        return await self._run(f"file:{path}", lambda cursor: _file_batches(path, cursor), watch)

    async def from_datalake(self, datalake: DataLakeClient, watch: ProgressCallback) -> LoadProgress:
        """Fill from the bulk Data Lake, page by page, then its actors.

        Raises `BulkLoadRefused` when it cannot be read.
        """

        async def batches(cursor: str) -> AsyncIterator[_Batch]:
            async for page in datalake.devices(cursor or None):
                yield _Batch(page.rows, len(page.rows), page.cursor or "")

        try:
            done = await self._run("datalake", batches, watch)
            async for actors in datalake.actors():
                await self._copy.store_bulk_actors(actors, read_at=self._now())
        except RegisterFailure as failure:
            raise BulkLoadRefused(
                f"{failure.reason} What was read is stored; the same command goes on there, with --restart anew."
            ) from failure
        return done

    async def from_register(self, register: EudamedClient, watch: ProgressCallback) -> LoadProgress:
        """Fill from the register, newest registrations first, until pages bring nothing new. Raises `BulkLoadRefused`.

        New registrations push older ones to later pages while the walk goes on; rows that come twice change nothing.
        A walk to what is known begins at the newest page even where an earlier one was broken off, and what that one
        stored does not count as known: behind it there may be registrations that nobody has stored.
        """
        run = await self.run("register")
        knows_all = run is not None and (run.finished_at is not None or run.cursor.endswith(_KNOWN))
        known_at = await self._copy.revision()
        if knows_all and run is not None and run.finished_at is None:
            known_at = _known_at(run.cursor, known_at)
        mark = f" {known_at}{_KNOWN}" if knows_all else ""

        async def batches(cursor: str) -> AsyncIterator[_Batch]:
            number, last = 0 if knows_all or not cursor else int(cursor), False
            while not last:
                since = await self._copy.revision()
                page = await register.newest(number)
                number += 1
                last = page.last or number * PAGE_SIZE >= page.total
                yield _Batch(page.rows, len(page.rows), "" if last else f"{number}{mark}", page.total, since)

        try:
            return await self._run("register", batches, watch, known_at=known_at if knows_all else None)
        except RegisterFailure as failure:
            raise BulkLoadRefused(
                f"{failure.reason} What was read is stored; the same command goes on there, with --restart anew."
            ) from failure

    async def forget(self, source: str) -> None:
        """Let the next run of a source (`datalake`, `register`, a file) begin anew."""
        key = source if source in ("datalake", "register") else f"file:{Path(source).resolve()}"
        async with self._database.transaction() as connection:
            await connection.execute(_FORGET, {"source": key})

    async def claim(self, source: str, *, since: int) -> bool:
        """Whether the caller is to fill from a source now: it was not read to its end since then, and nobody is at it.

        A run is taken for dead when it has stored nothing for half an hour.
        """
        now = self._now()
        asked = {"source": source, "now": now, "since": since, "dead": now - DEAD_SECONDS}
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

    async def _run(
        self,
        source: str,
        batches: "Callable[[str], AsyncIterator[_Batch]]",
        watch: ProgressCallback,
        *,
        known_at: int | None = None,
    ) -> LoadProgress:
        """Store every batch with its cursor; begin where an unfinished run stopped.

        `known_at` is a revision: the run ends at batches of which nothing was stored after it.
        """
        run = await self.run(source)
        cursor, records, changed, started_at = "", 0, 0, self._now()
        if run is not None and run.finished_at is None:
            cursor, records, changed, started_at = run.cursor, run.records, run.changed, run.started_at
        progress, known = LoadProgress(records, changed, None), 0
        upcoming = batches(cursor)
        reading = asyncio.ensure_future(anext(upcoming, None))
        try:
            while (batch := await reading) is not None:
                now = self._now()
                async with self._database.transaction() as connection:
                    changes = await self._copy.store_in(connection, batch.readings, read_at=now, since=batch.since)
                    records, changed = records + batch.count, changed + len(changes)
                    if known_at is not None:
                        newest = await self._copy.newest_of(connection, batch.readings)
                        known = known + 1 if newest <= known_at else 0
                    ended = not batch.cursor or known == KNOWN_PAGES_TO_STOP
                    noted = LoadRun(source, batch.cursor, records, changed, started_at, now, now if ended else None)
                    await connection.execute(_NOTE, asdict(noted))
                    reading = asyncio.ensure_future(anext(upcoming, None))  # goes on while the commit is written
                progress = LoadProgress(records, changed, batch.total)
                watch(progress)
                if ended:
                    return progress
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        now = self._now()
        async with self._database.transaction() as connection:
            await connection.execute(_NOTE, asdict(LoadRun(source, "", records, changed, started_at, now, now)))
        return progress

    def _now(self) -> int:
        return int(self._clock.now())


async def _file_batches(path: Path, cursor: str) -> AsyncIterator[_Batch]:
    """Batches of a file's records. The cursor has the number of lines read and the file's size and time of change."""
    stat = path.stat()
    same = f"{stat.st_size}.{stat.st_mtime_ns}"
    skip = int(cursor.split()[0]) if cursor.endswith(f" {same}") else 0
    numbered: Iterator[tuple[int, bytes]] = islice(enumerate(lines(path), start=1), skip, None)
    while chunk := list(islice(numbered, FILE_BATCH)):
        readings = [reading_of_line(line, number, path) for number, line in chunk if line.strip()]
        yield _Batch(readings, len(readings), f"{chunk[-1][0]} {same}")


_IS_TAKEN = text("SELECT 1 FROM fills WHERE source = :source AND (updated_at > :dead OR finished_at >= :since)")
_CLAIM = text(
    "INSERT INTO fills (source, cursor, records, changed, started_at, updated_at)"
    " VALUES (:source, '', 0, 0, :now, :now)"
    " ON CONFLICT (source) DO UPDATE SET updated_at = excluded.updated_at"
    " WHERE fills.updated_at <= :dead AND (fills.finished_at IS NULL OR fills.finished_at < :since)"
)


def _known_at(cursor: str, else_at: int) -> int:
    """The revision at which a walk to what is known began, from its cursor."""
    parts = cursor.split()
    return int(parts[1]) if len(parts) == 3 else else_at


_RUNS = text(
    "SELECT source, cursor, records, changed, started_at, updated_at, finished_at FROM fills ORDER BY updated_at DESC"
)
_KNOWN = " known"
"""Ends the cursor of a walk that stops where it meets what an earlier one stored."""

_FORGET = text("DELETE FROM fills WHERE source = :source")
_NOTE = text(
    "INSERT INTO fills (source, cursor, records, changed, started_at, updated_at, finished_at)"
    " VALUES (:source, :cursor, :records, :changed, :started_at, :updated_at, :finished_at)"
    " ON CONFLICT (source) DO UPDATE SET cursor = excluded.cursor, records = excluded.records,"
    " changed = excluded.changed, started_at = excluded.started_at, updated_at = excluded.updated_at,"
    " finished_at = excluded.finished_at"
)
