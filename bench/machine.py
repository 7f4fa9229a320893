"""The machine that is measured on: its cores, who runs on which, how it is described."""

import os
import platform
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import ClassVar

import psutil

CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE = CORES[0]
LOAD_CORE = CORES[-1]
"""The same as the server's where there is only one: then the load disturbs the server, and figures are lower."""


ALL_BUT_LOAD = tuple(core for core in CORES if core != LOAD_CORE) or tuple(CORES)
"""The cores of a server that is measured with all that the machine has for it."""


@contextmanager
def pinned(*cores: int) -> Iterator[None]:
    """Run the block on these cores. A process that is started inside stays there."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def memory_bytes() -> int:
    """The machine's memory."""
    return int(psutil.virtual_memory().total)


def description() -> str:
    """The machine and its versions in a few words, without any name of it."""
    cores = "1 core" if len(CORES) == 1 else f"{len(CORES)} cores"
    return (
        f"Machine: {cores} ({platform.machine()}), {memory_bytes() / 1e9:.0f} GB of memory, "
        f"{platform.system()}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}."
    )


class Others:
    """What other processes than ours take of the machine while the block runs.

    Ours are this one with all its descendants, and the families of `guests` (a server that made itself independent).
    """

    guests: ClassVar[set[int]] = set()

    def __enter__(self) -> "Others":
        self._began, self._before = time.monotonic(), self._foreign_seconds()
        self.share = 0.0
        return self

    def __exit__(self, *_: object) -> None:
        available = (time.monotonic() - self._began) * (os.cpu_count() or 1)
        self.share = max(0.0, (self._foreign_seconds() - self._before) / available)

    def _foreign_seconds(self) -> float:
        """Seconds that all cores worked since the system started, less those that they worked for us."""
        whole = psutil.cpu_times()
        busy = sum(whole) - whole.idle - getattr(whole, "iowait", 0.0) - getattr(whole, "guest", 0.0)
        return float(busy - sum(family_seconds(pid) for pid in {os.getpid(), *self.guests}))


def family_seconds(pid: int) -> float:
    """Seconds that a process and its descendants computed, those that ended included."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        return sum(_seconds(member) for member in (process, *process.children(recursive=True)))
    return 0.0


def _seconds(process: psutil.Process) -> float:
    with suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)
    return 0.0
