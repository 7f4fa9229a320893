"""Work that goes on until the process ends, whatever goes wrong in between."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from registerwatch.errors import RegisterwatchError

log = structlog.get_logger(__name__)

PAUSE_AFTER_ERROR_SECONDS = 10.0


async def run_forever(work: Callable[[], Awaitable[object]], *, every: float, problem: str) -> None:
    """Do `work` again and again, `every` seconds after its end, until cancelled.

    `problem` is how the log calls it when something went wrong; then it is tried again no sooner than in 10 seconds.
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
