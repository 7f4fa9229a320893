"""Finishing what must not be left half-done, also where whoever waits for it is cancelled."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def run_uncancelled(work: Coroutine[Any, Any, T], *, on_cancel: Callable[[], None] | None = None) -> T:
    """What `work` gives. A cancellation is kept until it has ended, however it ends, and raised then; `on_cancel` may
    make it end sooner.

    What it raises is forgotten here: an error of a frame that holds the error, or its task, lives until the collector
    comes, and all that the frames below have in hand lives with it, such as a file of 10 MiB that was refused.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    try:
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancelled = error
                if on_cancel is not None:
                    on_cancel()
        if cancelled is not None:
            if not task.cancelled():
                task.exception()  # looked at, so that nobody complains
            raise cancelled
        return task.result()
    finally:
        del task, cancelled
