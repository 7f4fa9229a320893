"""The garbage collector, which has nothing to find in what is loaded once and stays."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """Let the collector wait while modules are loaded or the application is built, a third of which it would take.

    It never looks again at what there is then: one collection among all of that would stop every request for 80 ms.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
