"""Indexing in a process of its own while a command fills the copy: storing and indexing each need a core."""

import asyncio
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event

from registerwatch.db.engine import Database
from registerwatch.errors import IndexUnavailable
from registerwatch.register.documents import stored_documents
from registerwatch.register.follow import IndexFollower
from registerwatch.register.index import SearchIndex
from registerwatch.settings import Settings

IDLE_SECONDS = 0.2


class Indexing:
    """The process that indexes; it ends by itself when the fill has ended and everything is indexed."""

    def __init__(self, settings: Settings) -> None:
        context = multiprocessing.get_context("spawn")
        self._filled = context.Event()
        self._process = context.Process(target=_run, args=(settings, self._filled), name="indexing", daemon=True)
        self._process.start()

    def finish(self) -> None:
        """Nothing more will be stored."""
        self._filled.set()

    def wait(self, seconds: float) -> bool:
        """Whether it has ended after at most so many seconds. Raises `IndexUnavailable` when it failed."""
        self._process.join(seconds)
        if self._process.exitcode:
            raise IndexUnavailable(
                "The search index could not be written; the copy is filled. Run `registerwatch copy reindex`."
            )
        return self._process.exitcode is not None

    def stop(self) -> None:
        """End it now."""
        if self._process.is_alive():
            self._process.terminate()
            self._process.join()


@contextmanager
def indexing_process(settings: Settings) -> Iterator[Indexing]:
    """An indexing process that does not outlive the block."""
    indexing = Indexing(settings)
    try:
        yield indexing
    finally:
        indexing.stop()


def _run(settings: Settings, filled: Event) -> None:
    asyncio.run(_follow(settings, filled))


async def _follow(settings: Settings, filled: Event) -> None:
    database = Database(settings.database_address)
    documents = stored_documents(database)
    follower = IndexFollower(documents, SearchIndex(settings.index_dir))
    try:
        while await follower.step():  # ends where a running service writes the index already
            if follower.is_level:
                if filled.is_set():
                    await follower.catch_up()
                    break
                await asyncio.sleep(IDLE_SECONDS)
    finally:
        await follower.close()
        await documents.close()
        await database.close()
