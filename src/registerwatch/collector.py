"""The garbage collector, which has nothing to find in what is loaded once and stays."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """Let the collector wait while modules are loaded or the application is built: else it takes a third of that time.

    What there is by then it never looks at again: a collection among all of it would stop every request for 80 ms.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
