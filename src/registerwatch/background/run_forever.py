"""Run work until the process ends, whatever fails in between, and cancel it."""

import asyncio
from collections.abc import Awaitable, Callable, Collection

import structlog

from registerwatch.errors import RegisterwatchError

log = structlog.get_logger(__name__)

PAUSE_AFTER_ERROR_SECONDS = 10.0
REPEAT_CANCEL_SECONDS = 1.0


async def run_forever(work: Callable[[], Awaitable[object]], *, every: float, problem: str) -> None:
    """Run `work` repeatedly, `every` seconds after its last end, until cancelled.

    An error is logged as `problem`, and the next run is then at least 10 seconds later.
    """
    while True:
        pause = every
        try:
            await work()
        except RegisterwatchError as error:
            log.error(problem, error=str(error))
            pause = max(every, PAUSE_AFTER_ERROR_SECONDS)
        except Exception:
            log.exception(problem)
            pause = max(every, PAUSE_AFTER_ERROR_SECONDS)
        await asyncio.sleep(pause)


async def cancel_and_wait(tasks: Collection[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait for them.

    A cancellation can get lost (`asyncio.wait_for` of Python 3.11 swallows one that comes with the result), so it is
    repeated every second.
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=REPEAT_CANCEL_SECONDS)
