"""Checks the files of the index on disk: whether they are undamaged, and whether they still are the loaded ones.

`meta.json` names the segments of the last commit. A segment's file is written once and never again. Its footer, in
JSON, has the checksum of everything before it; after the footer come its length and a fixed number.
"""

import json
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

META = "meta.json"
PARTS = ("fast", "fieldnorm", "idx", "pos", "store", "term")
"""Files that every segment has."""
TRIES = 3
LOOK_SECONDS = 0.05
"""Least time between two looks at the loaded files: a look takes some 50 µs."""

_END = struct.Struct("<II")
_MAGIC = 1337
_CHUNK = 1 << 20

Stamp = tuple[int, int, int]
"""Inode, size and time of change, which identify a file's content."""


class IndexFiles:
    """The files of one index, and which of them were found undamaged."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, Stamp] = {}

    def fault(self, *, reads_new: bool) -> str | None:
        """The fault of the last commit's files, None without one.

        A file that was changed since the last call is read as a whole; with `reads_new` also a new one.
        """
        fault: str | None = f"{META} is missing"
        for _ in range(TRIES):  # a merge that ends meanwhile makes a commit and removes files of the one before
            committed = self._committed()
            if committed is None:
                return fault
            fault = self._fault_of(committed, reads_new=reads_new)
            if fault is None or self._committed() == committed:
                return fault
        return fault

    def _committed(self) -> bytes | None:
        try:
            return (self._folder / META).read_bytes()
        except OSError:
            return None

    def _fault_of(self, committed: bytes, *, reads_new: bool) -> str | None:
        try:
            names = list(_names(committed))
        except (ValueError, KeyError, TypeError):
            return f"{META} cannot be read"
        known: dict[str, Stamp] = {}
        for name in names:
            try:
                stamp = _stamp(self._folder / name)
                is_due = reads_new if name not in self._known else self._known[name] != stamp
                if is_due and not _is_whole(self._folder / name):
                    return f"{name} is not what was written"
            except OSError as error:
                return f"{name} cannot be read: {error.strerror}"
            known[name] = stamp
        self._known = known
        return None


class LoadedFiles:
    """The files of a loaded index, which are mapped into memory: reading a truncated one ends the process."""

    def __init__(self) -> None:
        self._stamps: dict[Path, Stamp] = {}
        self._looked_at = 0.0

    def note(self, folder: Path, committed: bytes) -> None:
        """Note the loaded files of a commit as `meta.json` names it."""
        stamps: dict[Path, Stamp] = {}
        for name in _names(committed):
            with suppress(OSError):  # a merge that ended meanwhile has removed it
                stamps[folder / name] = _stamp(folder / name)
        self._stamps = stamps  # at once: other threads go through them

    def are_intact(self) -> bool:
        """Whether all still have their size. A file that was deleted or replaced stays in memory as it was."""
        now = time.monotonic()
        if now - self._looked_at < LOOK_SECONDS:
            return True
        self._looked_at = now
        return all(_has_its_size(path, stamp) for path, stamp in self._stamps.items())


def _has_its_size(path: Path, stamp: Stamp) -> bool:
    try:
        inode, size, _ = _stamp(path)
    except OSError:
        return True
    return inode != stamp[0] or size == stamp[1]


def documents_in(committed: bytes) -> int:
    """The number of documents in a commit's segments, including deleted ones."""
    return sum(int(segment["max_doc"]) for segment in json.loads(committed)["segments"])


def _names(committed: bytes) -> Iterator[str]:
    """The files of the segments that a commit names."""
    for segment in json.loads(committed)["segments"]:
        key = segment["segment_id"].replace("-", "")
        yield from (f"{key}.{part}" for part in PARTS)
        if segment["deletes"]:
            yield f"{key}.{segment['deletes']['opstamp']}.del"


def _stamp(path: Path) -> Stamp:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _is_whole(path: Path) -> bool:
    """Whether a file has the checksum in its footer."""
    with path.open("rb") as file:
        size = path.stat().st_size
        if size < _END.size:
            return False
        file.seek(size - _END.size)
        length, magic = _END.unpack(file.read(_END.size))
        begin = size - _END.size - length
        if magic != _MAGIC or begin < 0:
            return False
        file.seek(begin)
        try:
            stored = json.loads(file.read(length))["crc"]
        except (ValueError, KeyError, TypeError):
            return False
        file.seek(0)
        return bool(stored == _checksum(file, begin))


def _checksum(file: IO[bytes], length: int) -> int:
    checksum = 0
    while length > 0 and (chunk := file.read(min(_CHUNK, length))):
        checksum, length = zlib.crc32(chunk, checksum), length - len(chunk)
    return checksum
