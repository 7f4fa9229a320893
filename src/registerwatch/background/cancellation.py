"""Ending loops."""

import asyncio
from collections.abc import Collection

AGAIN_SECONDS = 1.0


async def cancel_and_wait(tasks: Collection[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait for them. A cancellation can be lost on its way (`asyncio.wait_for` of Python 3.11 swallows
    one that comes with the result), so it is said again every second.
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=AGAIN_SECONDS)
