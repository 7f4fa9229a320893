"""The loop that throws away what is over."""

import structlog

from registerwatch.accounts.prune import AccountPruning
from registerwatch.background.run_forever import run_forever
from registerwatch.notifications.delivery import DeliveryService

log = structlog.get_logger(__name__)

EVERY_SECONDS = 3600.0
DELIVERIES_KEPT = 30 * 24 * 3600


async def prune(pruning: AccountPruning, deliveries: DeliveryService) -> None:
    """Tidy at once and then every hour, until cancelled."""

    async def tidy() -> None:
        deleted = await pruning.tidy() + await deliveries.forget(DELIVERIES_KEPT)
        if deleted:
            log.info("threw away what was over", rows=deleted)

    await run_forever(tidy, every=EVERY_SECONDS, problem="could not throw away what is over")
