"""Indexing in a second process while a command fills the copy: storing and indexing each need a core.

The process ends when its standard input is closed and everything stored is indexed, so it ends with the fill even when
that is killed. It imports few modules, to save memory.
"""

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from registerwatch.copy.documents.open_documents import open_documents
from registerwatch.copy.search.index import SearchIndex
from registerwatch.copy.search.indexer import Indexer
from registerwatch.errors import IndexUnavailable
from registerwatch.settings import Settings, load_settings

IDLE_SECONDS = 0.2


class IndexingProcess:
    """A handle of the indexing process, for the process that fills."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([sys.executable, "-m", __name__], stdin=subprocess.PIPE)  # noqa: S603  # our own module

    def finish(self) -> None:
        """Let the process end once everything stored is indexed."""
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
        """Terminate the process."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait()
        self.finish()


@contextmanager
def indexing_process() -> Iterator[IndexingProcess]:
    """An indexing process that is stopped at the end of the block."""
    indexing = IndexingProcess()
    try:
        yield indexing
    finally:
        indexing.stop()


async def follow_fill(settings: Settings, filled: threading.Event) -> None:
    """Index what is stored until `filled` is set and all is indexed, or until a running service is found to index."""
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
    """Index what a fill stores, until standard input is closed."""
    filled = threading.Event()

    def wait_for_end_of_input() -> None:
        sys.stdin.read()
        filled.set()

    threading.Thread(target=wait_for_end_of_input, daemon=True).start()
    gc.freeze()  # as in the process that fills
    asyncio.run(follow_fill(load_settings(), filled))


if __name__ == "__main__":
    main()
