"""Finishes work that must not stay half-done, also where its caller is cancelled."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def run_uncancelled(work: Coroutine[Any, Any, T], *, on_cancel: Callable[[], None] | None = None) -> T:
    """The result of `work`. A cancellation is held back until it has ended in any way, and raised then; `on_cancel` may
    make it end sooner.

    Its error is not kept here: an error that a frame refers to, itself or by its task, lives until the next garbage
    collection, with everything that the frames below refer to, such as a refused file of 10 MiB.
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
                task.exception()  # retrieved, so that asyncio logs nothing
            raise cancelled
        return task.result()
    finally:
        del task, cancelled
