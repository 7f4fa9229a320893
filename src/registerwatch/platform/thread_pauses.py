"""Long work in a thread, with pauses in which the event loop runs."""

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

STEP_SECONDS = 0.0005
PAUSE_SECONDS = 0.0001


def with_pauses(items: Iterable[T]) -> Iterator[T]:
    """The same items, with a short pause whenever work on them took half a millisecond. Without pauses a thread makes
    the event loop wait for 5 ms at each step of each request (docs/performance.md).
    """
    began = time.perf_counter()
    for each in items:
        yield each
        if time.perf_counter() - began > STEP_SECONDS:
            time.sleep(PAUSE_SECONDS)
            began = time.perf_counter()
