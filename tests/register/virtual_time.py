"""Time of the event loop that a test moves, for limits that are measured by it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class LoopTime:
    """The running loop's time."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def move(self, seconds: float) -> None:
        """Let the loop believe that so much time has passed."""
        self.ahead += seconds
        asyncio.get_running_loop().call_soon(lambda: None)


@contextmanager
def loop_time() -> Iterator[LoopTime]:
    """The running loop's time, to be moved inside the block. That of uvloop cannot be moved."""
    loop, moved = asyncio.get_running_loop(), LoopTime()
    assert isinstance(loop, asyncio.BaseEventLoop), "the module needs an `anyio_backend` of its own"
    real = loop.time
    loop.time = lambda: real() + moved.ahead  # type: ignore[method-assign]  # no other way to reach a loop's clock
    try:
        yield moved
    finally:
        loop.time = real  # type: ignore[method-assign]
