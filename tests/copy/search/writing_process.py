"""A process that writes an index and says how far it is, so that a test can kill it at that point.

`python -m tests.copy.search.writing_process FOLDER STOP` indexes two devices. With STOP `before-commit` it stands
still with both of them put, with `before-mark` between the commit and the note of it, with `after-mark` behind both.
"""

import signal
import sys
from pathlib import Path

from registerwatch.copy.search.index import SearchIndex
from registerwatch.copy.search.index_writer import IndexWriter
from registerwatch.register.models import document
from tests.copy.search.index_folder import COPY
from tests.register.builders import a_device


def stand_still() -> None:
    """Tell the test, and wait to be killed."""
    print("here", flush=True)
    signal.pause()


class StopsBeforeMark(SearchIndex):
    """An index whose writer never comes to note what it committed."""

    def note_revision(self, copy_id: str, revision: int) -> None:
        stand_still()


def main(folder: Path, stop: str) -> None:
    """Write, and stand still at the point that was asked for."""
    index = StopsBeforeMark(folder) if stop == "before-mark" else SearchIndex(folder)
    writer = IndexWriter(index)
    assert writer.acquire(COPY)
    revision = writer.revision
    for number in (1, 2):
        put = a_device(f"u-{number}", f"di-{number}", trade_name=f"Alpha after {revision}")
        writer.put(number, document(put), is_current=True)
    if stop != "before-commit":
        writer.commit(revision + 2)
    stand_still()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
