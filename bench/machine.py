"""The machine that is measured on: its cores, who runs on which, how it is described."""

import os
import platform
import resource
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE = CORES[0]
LOAD_CORE = CORES[-1]
"""The same as the server's where there is only one: then the load disturbs the server, and figures are lower."""


@contextmanager
def pinned(core: int) -> Iterator[None]:
    """Run the block on one core. A process that is started inside stays there."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
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

    Ours are this one and what it started, if that ended and was waited for before the block ends.
    """

    def __enter__(self) -> "Others":
        self._began, self._before = time.monotonic(), _foreign_seconds()
        self._share = 0.0
        return self

    def __exit__(self, *_: object) -> None:
        available = (time.monotonic() - self._began) * (os.cpu_count() or 1)
        self._share = max(0.0, (_foreign_seconds() - self._before) / available)

    @property
    def remark(self) -> str:
        """One sentence, so that a reader knows how far to trust the figures."""
        return f"Other processes took {self._share:.0%} of the machine's cores meanwhile."


def _foreign_seconds() -> float:
    """Seconds that all cores worked since the system started, less those that they worked for us."""
    whole = psutil.cpu_times()
    busy = sum(whole) - whole.idle - getattr(whole, "iowait", 0.0) - getattr(whole, "guest", 0.0)
    used = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return float(busy - sum(each.ru_utime + each.ru_stime for each in used))
