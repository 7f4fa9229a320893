"""The machine that is measured on: its cores, who runs on which, how it is described."""

import os
import platform
import sqlite3
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
