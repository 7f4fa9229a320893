"""The loop that throws away what is over."""

import asyncio

import structlog

from registerwatch.accounts.housekeeping import Housekeeping
from registerwatch.errors import RegisterwatchError

log = structlog.get_logger(__name__)

EVERY_SECONDS = 3600.0


async def keep_house(housekeeping: Housekeeping) -> None:
    """Tidy at once and then every hour, until cancelled. Trouble is logged and tried again the next time."""
    while True:
        try:
            deleted = await housekeeping.tidy()
            if deleted:
                log.info("threw away what was over", rows=deleted)
        except RegisterwatchError as error:
            log.error("could not throw away what is over", error=str(error))
        except Exception:
            log.exception("could not throw away what is over")
        await asyncio.sleep(EVERY_SECONDS)
