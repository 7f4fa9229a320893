"""Heaps of a process with many threads, as glibc tells of them."""

import os
import platform
import subprocess
import sys

import pytest

THREADS = 12
PROGRAM = f"""
import ctypes, sys, threading
from registerwatch.heaps import share_heaps
if sys.argv[1] == "shared":
    print(share_heaps(), flush=True)
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
together = threading.Barrier({THREADS})
def allocate():
    together.wait()
    for _ in range(100):
        assert libc.malloc(10_000)
    together.wait()
threads = [threading.Thread(target=allocate) for _ in range({THREADS})]
for each in threads: each.start()
for each in threads: each.join()
libc.fopen.argtypes, libc.malloc_info.argtypes = [ctypes.c_char_p] * 2, [ctypes.c_int, ctypes.c_void_p]
libc.fclose.argtypes = [ctypes.c_void_p]
told = libc.fopen(b"/dev/stdout", b"w")
libc.malloc_info(0, told)
libc.fclose(told)
"""

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc gives threads heaps of their own")


def heaps(whose: str, **settings: str) -> tuple[str, int]:
    """What a process was told when it asked for shared ones, and how many it has after its threads have allocated."""
    kept = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    command = [sys.executable, "-c", PROGRAM, whose]
    done = subprocess.run(command, env=kept | settings, capture_output=True, text=True, check=True)
    told, _, info = done.stdout.partition("<malloc")
    return told.strip(), info.count("<heap nr=")


def test_threads_share_two_heaps() -> None:
    _, own = heaps("own")
    told, shared = heaps("shared")
    assert own > 2
    assert (told, shared <= 2) == ("True", True)


def test_what_an_operator_has_set_stands() -> None:
    assert heaps("shared", MALLOC_ARENA_MAX="3") == ("False", 3)
