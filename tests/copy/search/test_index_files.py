"""Which files of the index are loaded."""

import json
import os
import threading
from pathlib import Path, PosixPath

from registerwatch.copy.search.index_files import PARTS, LoadedFiles

MAIN = threading.main_thread()


class WatchedPath(PosixPath):
    """A path at which two threads look in turn: first the other one, until it has noted some of the files."""

    notes_some, looks, is_noted = (threading.Event() for _ in range(3))

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """As any path."""
        if threading.current_thread() is MAIN:
            self.looks.set()
            assert self.is_noted.wait(10)
        elif self.name.endswith(PARTS[-1]):
            self.notes_some.set()
            assert self.looks.wait(10)
        return super().stat(follow_symlinks=follow_symlinks)


def test_loaded_files_can_be_looked_at_while_those_of_another_commit_are_noted(tmp_path: Path) -> None:
    committed = json.dumps({"segments": [{"segment_id": "a-1", "deletes": None}]}).encode()
    for part in PARTS:
        (tmp_path / f"a1.{part}").write_bytes(b"written")
    loaded = LoadedFiles()
    loaded.note(tmp_path, committed)

    def note_again() -> None:
        loaded.note(WatchedPath(tmp_path), committed)
        WatchedPath.is_noted.set()

    other = threading.Thread(target=note_again)
    other.start()
    assert WatchedPath.notes_some.wait(10)

    assert loaded.are_intact()
    WatchedPath.looks.set()
    other.join()
