"""The loop that keeps this node's search index in step with the copy."""

import asyncio

import structlog

from registerwatch.errors import RegisterwatchError
from registerwatch.register.follow import IndexFollower

log = structlog.get_logger(__name__)

IDLE_SECONDS = 0.5
TROUBLE_SECONDS = 10.0


async def follow_copy(follower: IndexFollower) -> None:
    """Follow until cancelled. Trouble (a full disk, a lost database) is logged and tried again."""
    while True:
        try:
            await follower.catch_up()
            await asyncio.sleep(IDLE_SECONDS)
        except RegisterwatchError as error:
            log.error("the search index does not follow the copy", error=str(error))
            await asyncio.sleep(TROUBLE_SECONDS)
        except Exception:
            log.exception("the search index does not follow the copy")
            await asyncio.sleep(TROUBLE_SECONDS)
