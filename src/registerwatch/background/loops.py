"""The loops of the background: what each does, and how often. All go on until cancelled, whatever fails in between."""

import structlog

from registerwatch.accounts.credential_uses import CredentialUses
from registerwatch.accounts.old_trials import OldTrialService
from registerwatch.accounts.prune import AccountPruner
from registerwatch.background.run_forever import run_forever
from registerwatch.billing.cancellation import SubscriptionUpkeep
from registerwatch.db.run_uncancelled import run_uncancelled
from registerwatch.db.schedule import Schedule
from registerwatch.notifications.delivery import DeliveryService
from registerwatch.notifications.worker import DeliveryWorker
from registerwatch.register.ingest.daily_load import DailyLoad
from registerwatch.register.search.indexer import Indexer
from registerwatch.watches.recheck import RecheckService

INDEX_SECONDS = 0.5
DAILY_LOAD_SECONDS = 60.0
RECHECK_LOOK_SECONDS = 5.0
SUBSCRIPTIONS_SECONDS = 60.0
SUBSCRIPTIONS_LOOK_SECONDS = 10.0
PRUNE_SECONDS = 3600.0
CREDENTIAL_USES_SECONDS = 30.0
OLD_TRIALS_SECONDS = 24 * 3600.0
OLD_TRIALS_LOOK_SECONDS = 600.0
DELIVERIES_KEPT_SECONDS = 30 * 24 * 3600

log = structlog.get_logger(__name__)


async def index(indexer: Indexer) -> None:
    """Keep this node's search index up to date with the copy."""
    await run_forever(indexer.catch_up, every=INDEX_SECONDS, problem="the search index could not be updated")


async def store_credential_uses(uses: CredentialUses) -> None:
    """Store when keys and sessions were last used."""
    await run_forever(uses.store, every=CREDENTIAL_USES_SECONDS, problem="uses of credentials could not be stored")


async def load_daily(daily_load: DailyLoad) -> None:
    """Fill the copy whenever the daily load is due."""
    await run_forever(daily_load.run_where_due, every=DAILY_LOAD_SECONDS, problem="the copy could not be filled")


async def recheck(recheck_service: RecheckService, schedule: Schedule, every: float) -> None:
    """Recheck watches in every slot of `every` seconds that this process claims."""

    async def run() -> None:
        if await schedule.claim("recheck", every):
            await recheck_service.run()

    await run_forever(run, every=min(RECHECK_LOOK_SECONDS, every), problem="watches could not be rechecked")


async def deliver(deliveries: DeliveryService) -> None:
    """Claim and deliver what is due. When cancelled, deliveries under way are finished first."""
    worker = DeliveryWorker(deliveries)
    try:
        await run_forever(worker.step, every=0.0, problem="deliveries could not be made")
    finally:
        await run_uncancelled(worker.end())


async def sync_subscriptions(upkeep: SubscriptionUpkeep, schedule: Schedule) -> None:
    """Read due subscriptions from the payment provider, in every minute that this process claims."""

    async def run() -> None:
        if await schedule.claim("payments", SUBSCRIPTIONS_SECONDS):
            await upkeep.run()

    await run_forever(run, every=SUBSCRIPTIONS_LOOK_SECONDS, problem="subscriptions could not be synchronized")


async def delete_old_trials(old_trials: OldTrialService, schedule: Schedule) -> None:
    """Announce and carry out the deletion of old trials, in every day that this process claims."""

    async def run() -> None:
        if await schedule.claim("old trials", OLD_TRIALS_SECONDS):
            await old_trials.run()

    await run_forever(run, every=OLD_TRIALS_LOOK_SECONDS, problem="old trials could not be deleted")


async def prune(pruner: AccountPruner, deliveries: DeliveryService) -> None:
    """Delete expired rows at once and then every hour."""

    async def run() -> None:
        deleted = await pruner.prune() + await deliveries.forget(DELIVERIES_KEPT_SECONDS)
        if deleted:
            log.info("deleted expired rows", rows=deleted)

    await run_forever(run, every=PRUNE_SECONDS, problem="expired rows could not be deleted")
