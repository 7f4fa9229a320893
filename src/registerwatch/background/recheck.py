"""The loop that rechecks watches, once in a while over the whole fleet."""

from registerwatch.background.run_forever import guarded
from registerwatch.db.schedule import Ticks
from registerwatch.watches.recheck import Rechecking

LOOK_SECONDS = 5.0


async def recheck_watches(rechecking: Rechecking, ticks: Ticks, every: float) -> None:
    """Recheck in every slot of `every` seconds that this process claims, until cancelled."""

    async def once() -> None:
        if await ticks.claim("recheck", every):
            await rechecking.run()

    await guarded(once, every=min(LOOK_SECONDS, every), trouble="watches could not be rechecked")
