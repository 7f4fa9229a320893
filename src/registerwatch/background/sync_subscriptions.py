"""The loop that looks after payments, once a minute over the whole fleet."""

from registerwatch.background.run_forever import run_forever
from registerwatch.billing.cancellation import SubscriptionUpkeep
from registerwatch.db.schedule import Schedule

EVERY_SECONDS = 60.0
LOOK_SECONDS = 10.0


async def sync_subscriptions(upkeep: SubscriptionUpkeep, schedule: Schedule) -> None:
    """Tend in every minute that this process claims, until cancelled."""

    async def once() -> None:
        if await schedule.claim("payments", EVERY_SECONDS):
            await upkeep.run()

    await run_forever(once, every=LOOK_SECONDS, problem="payments could not be looked after")
