"""How a process that goes on for months keeps its memory together."""

import ctypes
import os

MAX_ARENAS = 2
_M_ARENA_MAX = -8
"""Of glibc's <malloc.h>."""


def limit_malloc_arenas() -> bool:
    """Let all threads of this process allocate from two heaps; call it before they start. Whether that took effect.

    glibc gives threads heaps of their own, eight for each core, and hashing one password (19 MB) teaches it to keep
    almost 40 MB of free memory in each. An operator's `MALLOC_ARENA_MAX` stands. Other C libraries have no such thing.
    """
    if "MALLOC_ARENA_MAX" in os.environ:
        return False
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return bool(set_option(_M_ARENA_MAX, MAX_ARENAS))
