"""The loop that throws away what is over."""

import structlog

from registerwatch.accounts.prune import Housekeeping
from registerwatch.background.run_forever import guarded
from registerwatch.notifications.delivery import Deliverer

log = structlog.get_logger(__name__)

EVERY_SECONDS = 3600.0
DELIVERIES_KEPT = 30 * 24 * 3600


async def keep_house(housekeeping: Housekeeping, deliverer: Deliverer) -> None:
    """Tidy at once and then every hour, until cancelled."""

    async def tidy() -> None:
        deleted = await housekeeping.tidy() + await deliverer.forget(DELIVERIES_KEPT)
        if deleted:
            log.info("threw away what was over", rows=deleted)

    await guarded(tidy, every=EVERY_SECONDS, trouble="could not throw away what is over")
