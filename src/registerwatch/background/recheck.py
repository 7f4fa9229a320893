"""The loop that rechecks watches, once in a while over the whole fleet."""

from registerwatch.background.run_forever import run_forever
from registerwatch.db.schedule import Schedule
from registerwatch.watches.recheck import RecheckService

LOOK_SECONDS = 5.0


async def recheck_watches(recheck_service: RecheckService, schedule: Schedule, every: float) -> None:
    """Recheck in every slot of `every` seconds that this process claims, until cancelled."""

    async def once() -> None:
        if await schedule.claim("recheck", every):
            await recheck_service.run()

    await run_forever(once, every=min(LOOK_SECONDS, every), problem="watches could not be rechecked")
