"""Indexing in a process of its own while a command fills the copy: storing and indexing each need a core.

The process ends by itself when its standard input closes and everything that is stored is indexed, so it outlives
neither a fill that ends nor one that is killed. It imports little, since a fill has little memory to spare.
"""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from registerwatch.errors import IndexUnavailable
from registerwatch.register.search.index import SearchIndex
from registerwatch.register.search.indexer import Indexer
from registerwatch.register.store.open_documents import open_documents
from registerwatch.settings import Settings, load_settings

IDLE_SECONDS = 0.2


class Indexing:
    """The indexing process, as the filling one sees it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([sys.executable, "-m", __name__], stdin=subprocess.PIPE)  # noqa: S603  # our own module

    def finish(self) -> None:
        """Nothing more will be stored."""
        assert self._process.stdin is not None, "it was opened as a pipe"
        self._process.stdin.close()

    def ended(self) -> bool:
        """Whether everything is indexed. Raises `IndexUnavailable` when the process failed."""
        code = self._process.poll()
        if code:
            raise IndexUnavailable(
                "The search index could not be written; the copy is filled. Run `registerwatch copy reindex`."
            )
        return code is not None

    def stop(self) -> None:
        """End it now."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait()
        self.finish()


@contextmanager
def indexing_process() -> Iterator[Indexing]:
    """An indexing process that does not outlive the block."""
    indexing = Indexing()
    try:
        yield indexing
    finally:
        indexing.stop()


async def follow_fill(settings: Settings, filled: threading.Event) -> None:
    """Index what is stored, until `filled` is set and nothing is left, or where a running service does so already."""
    documents = open_documents(settings.database_address, cache_megabytes=2)
    indexer = Indexer(documents, SearchIndex(settings.index_dir))
    try:
        while await indexer.step():
            if indexer.is_caught_up:
                if filled.is_set():
                    await indexer.catch_up()
                    break
                await asyncio.sleep(IDLE_SECONDS)
    finally:
        await indexer.close()
        await documents.close()


def main() -> None:
    """Follow a fill until standard input closes."""
    filled = threading.Event()

    def wait_for_end_of_input() -> None:
        sys.stdin.read()
        filled.set()

    threading.Thread(target=wait_for_end_of_input, daemon=True).start()
    asyncio.run(follow_fill(load_settings(), filled))


if __name__ == "__main__":
    main()
