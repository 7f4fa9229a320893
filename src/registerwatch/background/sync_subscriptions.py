"""The loop that looks after payments, once a minute over the whole fleet."""

from registerwatch.background.run_forever import guarded
from registerwatch.billing.cancellation import Tending
from registerwatch.db.schedule import Ticks

EVERY_SECONDS = 60.0
LOOK_SECONDS = 10.0


async def tend_payments(tending: Tending, ticks: Ticks) -> None:
    """Tend in every minute that this process claims, until cancelled."""

    async def once() -> None:
        if await ticks.claim("payments", EVERY_SECONDS):
            await tending.run()

    await guarded(once, every=LOOK_SECONDS, trouble="payments could not be looked after")
