"""Keeping the search index in step with the copy: by revision, a batch at a time, committed within a second or two."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from registerwatch.errors import IndexUnavailable
from registerwatch.register.search.index import SearchIndex
from registerwatch.register.search.index_writer import IndexWriter
from registerwatch.register.store.documents import ChangedRow, DocumentReader

Result = TypeVar("Result")

BATCH = 500
ROWS_PER_COMMIT = 250_000
"""Rows after which a long catching up becomes findable; each commit costs a segment that has to be merged later."""

NOTICEABLE = 5_000
"""Changes behind which searches say that they do not show everything."""

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
        self._goal = 0
        self._rebuilds = False
        self.has_been_level = False
        """Whether everything (nearly) could be found once since the start, so that this index can be trusted."""
        self._turn = asyncio.Lock()
        # One thread writes: what a cancelled task left under way there ends before anything else begins.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="index")

    def problem(self) -> str | None:
        """Why searches cannot show everything right now: a sentence, None when they can."""
        behind = self._goal - self._position
        if behind <= NOTICEABLE:
            return None
        return f"The search index is being built; {behind:,} of {self._goal:,} changes are not findable yet."

    async def catch_up(self, progress: Progress | None = None) -> bool:
        """Index everything up to the copy's present revision and commit. False when another process writes.

        `progress` is told the revision reached and the one to reach.
        """
        while True:
            async with self._turn:
                if not await self._step():
                    return False
                if progress:
                    progress(self._position, self._goal)
                if self.is_level:
                    await self._commit()
                    return True

    @property
    def is_level(self) -> bool:
        """Whether everything up to the copy's revision, as it was at the last step, is indexed."""
        return self._position >= self._goal

    async def step(self) -> bool:
        """Index the next batch of changed rows, without waiting for the commit. False when another process writes."""
        async with self._turn:
            return await self._step()

    async def lag(self) -> int:
        """Changes of the copy that cannot be found yet."""
        copy_id, revision = await self._documents.revision()
        return max(0, revision - self._index.follows_until(copy_id))

    async def close(self) -> None:
        """Stop writing; merges that are under way are finished."""
        async with self._turn:
            await self._in_thread(self._writer.finish)

    async def _step(self) -> bool:
        copy_id, self._goal = await self._documents.revision()
        if copy_id != self._copy_id:  # another copy, as after a restore: nothing of the present one counts
            self._copy_id, self._pending, self._rebuilds, self.has_been_level = copy_id, 0, False, False
        if not await self._in_thread(self._writer.acquire, copy_id):
            await self._in_thread(self._index.refresh)
            self._position = self._index.follows_until(copy_id)
            self.has_been_level |= self.problem() is None
            return False
        if not self._pending:
            self._position = self._writer.revision
        await self._begin_anew_where_due()
        rows = await self._documents.changed_since(self._position, BATCH)
        if rows:
            await self._written(self._put, rows)
        if self._pending >= ROWS_PER_COMMIT and not self._rebuilds:
            await self._commit()
        return True

    async def _in_thread(self, work: Callable[..., Result], *arguments: object) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    async def _written(self, write: Callable[..., None], *arguments: object) -> None:
        """Write in a thread; when that fails, what is not committed is indexed once more."""
        try:
            await self._in_thread(write, *arguments)
        except IndexUnavailable:
            self._pending, self._rebuilds = 0, False
            raise

    async def _commit(self) -> None:
        """Make what was indexed findable."""
        if self._pending or self._rebuilds:
            await self._written(self._writer.commit, self._position)
            self._pending = 0
        if self._rebuilds:
            self._rebuilds = False
            rebuild_request(self._index.folder).unlink(missing_ok=True)
        await self._in_thread(self._index.refresh)
        self.has_been_level |= self.problem() is None

    def _put(self, rows: list[ChangedRow]) -> None:
        for row in rows:
            self._writer.put(row.id, row.document, is_current=row.is_current)
        self._pending += len(rows)
        self._position = rows[-1].revision

    async def _begin_anew_where_due(self) -> None:
        """Index everything once more where that was asked for, or where the copy has gone back to an older state.

        The request stays until the new index is committed, so that a kill in between does not lose it.
        """
        went_back = self._goal < self._position
        if went_back or (not self._rebuilds and rebuild_request(self._index.folder).exists()):
            await self._in_thread(self._writer.begin_anew)
            self._position, self._pending, self._rebuilds = 0, 0, not went_back


def rebuild_request(index_folder: Path) -> Path:
    """The file whose presence asks the writing process to build the index anew."""
    return index_folder.parent / "rebuild"
