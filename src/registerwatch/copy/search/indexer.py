"""Keeps the search index up to date with the copy: by revision, in batches, committed within a second or two."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

import structlog

from registerwatch.copy.documents.documents import ChangedRow, DocumentReader
from registerwatch.copy.search.index import SearchIndex, without_panics
from registerwatch.copy.search.index_writer import IndexWriter
from registerwatch.errors import IndexUnavailable

log = structlog.get_logger(__name__)

Result = TypeVar("Result")

BATCH = 500
ROWS_PER_COMMIT = 250_000
"""Rows after which a long catch-up is committed; each commit costs a segment that has to be merged later."""

MAX_SILENT_LAG = 5_000
"""Changes that the index may lack before searches say that they do not show everything."""

Progress = Callable[[int, int], None]


class Indexer:
    """Follows the copy's revisions with the index of this node, or only reads it while another process writes."""

    def __init__(self, documents: DocumentReader, index: SearchIndex) -> None:
        self._documents = documents
        self._index = index
        self._writer = IndexWriter(index)
        self._copy_id = ""
        self._pending = 0
        self._position = 0
        self._target_revision = 0
        self._rebuilds = False
        self._acquisitions = 0
        self._is_building = False
        """Whether the index was begun anew, so that searches lack what it had before."""
        self._is_failing = False
        """Whether the last try to write failed."""
        self.has_caught_up = False
        """Whether the index was nearly up to date once since the start, so that searches can be trusted."""
        self._lock = asyncio.Lock()
        # One thread writes, so a cancelled task's work there ends before the next write begins.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="index")

    def problem(self) -> str | None:
        """Why searches cannot show everything right now: a sentence, None when they can."""
        lag = self._target_revision - self._position
        if lag <= MAX_SILENT_LAG and not self._is_broken():
            return None
        # Rows that are written but not committed cannot be found either.
        lag = lag or self._target_revision - self._index.loaded_revision(self._copy_id)
        state = "cannot be written" if self._is_failing else "is being built"
        return f"The search index {state}; {lag:,} of {self._target_revision:,} changes are not findable yet."

    def fault(self) -> str | None:
        """As `problem`, but None for an index that is merely behind, as while the copy is filled."""
        return self.problem() if self._is_broken() else None

    async def has_nothing(self) -> bool:
        """Whether the index finds nothing although the copy has something: it is being built."""
        if self._index.documents or (self.has_caught_up and self.problem() is None):
            return False
        copy_id, revision = await self._documents.revision()
        return revision > self._index.loaded_revision(copy_id)

    def _is_broken(self) -> bool:
        """Whether the index is being begun anew, cannot be read, or cannot be written."""
        is_missing = not self._index.is_open and self._target_revision > 0
        return self._is_building or is_missing or (self._is_failing and self._position < self._target_revision)

    @property
    def rebuilds(self) -> int:
        """How often this process found the index damaged and began it anew."""
        return self._writer.rebuilds

    async def open(self) -> None:
        """Load the existing index. A damaged one is logged and counts as being built."""
        try:
            await self._in_thread(self._index.refresh)
        except IndexUnavailable as error:
            self._is_building = True
            log.error("the search index cannot be read", error=str(error))

    async def catch_up(self, progress: Progress | None = None) -> bool:
        """Index everything up to the copy's present revision and commit. False when another process writes.

        `progress` is called with the revision reached and the one to reach.
        """
        while True:
            async with self._writing():
                if not await self._step():
                    return False
                if progress:
                    progress(self._position, self._target_revision)
                if self.is_caught_up:
                    await self._commit()
                    return True

    async def catch_up_where_near(self) -> None:
        """Make new records findable, unless the index lacks so much that searches say so. Never fails."""
        with suppress(IndexUnavailable):  # the background meets it too, and says so
            if await self.lag() <= MAX_SILENT_LAG:
                await self.catch_up()

    @property
    def is_caught_up(self) -> bool:
        """Whether everything up to the copy's revision at the last step is indexed."""
        return self._position >= self._target_revision

    async def step(self) -> bool:
        """Index the next batch of changed rows, without waiting for the commit. False when another process writes."""
        async with self._writing():
            return await self._step()

    async def lag(self) -> int:
        """Changes of the copy that cannot be found yet."""
        return self.lag_behind(*await self._documents.revision())

    def lag_behind(self, copy_id: str, revision: int) -> int:
        """Changes up to a revision of the copy that cannot be found yet."""
        return max(0, revision - self._index.indexed_revision(copy_id))

    async def close(self) -> None:
        """Stop writing; merges that are under way are finished."""
        async with self._lock:
            await self._in_thread(self._writer.finish)

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        """Let one task write at a time, and note whether it could."""
        async with self._lock:
            try:
                yield
            except IndexUnavailable:
                self._is_failing = True
                raise
            self._is_failing = False

    async def _step(self) -> bool:
        copy_id, self._target_revision = await self._documents.revision()
        if copy_id != self._copy_id:  # another copy, as after a restore: the index of the old one does not count
            self._copy_id, self._pending, self._rebuilds, self.has_caught_up = copy_id, 0, False, False
        if not await self._in_thread(self._writer.acquire, copy_id):
            await self._follow(copy_id)
            return False
        if self._writer.acquisitions != self._acquisitions:
            self._acquisitions, self._pending, self._rebuilds = self._writer.acquisitions, 0, False
            self._note_building(self._writer.revision == 0)
        if not self._pending:
            self._position = self._writer.revision
        await self._rebuild_where_due()
        rows = await self._documents.changed_since(self._position, BATCH)
        if rows:
            await self._written(self._write_rows, rows)
        if len(rows) < BATCH:  # later revisions are of reads that left all rows as they were shown
            self._position = max(self._position, self._target_revision)
        if self._pending >= ROWS_PER_COMMIT and not self._rebuilds:
            await self._commit()
        return True

    async def _follow(self, copy_id: str) -> None:
        """Load the commits of another process."""
        try:
            is_open = await self._in_thread(self._index.refresh)
        except IndexUnavailable:  # the process that writes says so in the log
            is_open = False
        self._position = self._index.indexed_revision(copy_id) if is_open else 0
        self._note_building(self._position == 0 < self._target_revision)
        self.has_caught_up |= self.problem() is None

    def _note_building(self, is_building: bool) -> None:
        self._is_building = is_building
        if is_building:
            self.has_caught_up = False

    async def _in_thread(self, work: Callable[..., Result], *arguments: object) -> Result:
        run = asyncio.get_running_loop().run_in_executor
        return await run(self._thread, without_panics, work, *arguments)

    async def _written(self, write: Callable[..., None], *arguments: object) -> None:
        """Write in a thread; when that fails, uncommitted rows are indexed once more."""
        try:
            await self._in_thread(write, *arguments)
        except IndexUnavailable:
            self._pending, self._rebuilds = 0, False
            raise

    async def _commit(self) -> None:
        """Make the indexed rows findable."""
        if self._pending or self._rebuilds:
            await self._written(self._writer.commit, self._position)
            self._pending = 0
        elif self._position > self._writer.revision:
            await self._written(self._writer.note, self._position)
        if self._rebuilds:
            self._rebuilds = False
            rebuild_request(self._index.folder).unlink(missing_ok=True)
        await self._in_thread(self._index.refresh)
        if self._is_building and self.is_caught_up:
            self._is_building = False
            if self._position:
                log.info("the search index is built", devices=self._index.documents, revision=self._position)
        self.has_caught_up |= self.problem() is None

    def _write_rows(self, rows: list[ChangedRow]) -> None:
        for row in rows:
            self._writer.put(row.id, row.document, is_current=row.is_current, is_listed=row.is_listed)
        self._pending += len(rows)
        self._position = rows[-1].revision

    async def _rebuild_where_due(self) -> None:
        """Start a rebuild where one was requested, or where the copy was restored to an older state.

        The request stays until the new index is committed, so that a kill in between does not lose it.
        """
        is_older = self._target_revision < self._position
        if is_older or (not self._rebuilds and rebuild_request(self._index.folder).exists()):
            await self._in_thread(self._writer.start_rebuild)
            self._position, self._pending, self._rebuilds = 0, 0, not is_older


def rebuild_request(index_folder: Path) -> Path:
    """The file whose presence asks the writing process to rebuild the index."""
    return index_folder.parent / "rebuild"
