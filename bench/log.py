"""Lines on standard error that say what the bench does."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_started = time.monotonic()


def say(message: str) -> None:
    """One line, with the seconds since the start."""
    print(f"[{time.monotonic() - _started:6.1f} s] {message}", file=sys.stderr, flush=True)


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Say that something begins, and how long it took."""
    say(f"{what} …")
    began = time.monotonic()
    yield
    say(f"{what}: {time.monotonic() - began:.1f} s")
