"""The loop that fills the copy once a day."""

from registerwatch.background.run_forever import run_forever
from registerwatch.register.ingest.daily_load import DailyLoad

LOOK_SECONDS = 60.0


async def run_daily_load(daily: DailyLoad) -> None:
    """Fill whenever it is due, until cancelled."""
    await run_forever(daily.run_where_due, every=LOOK_SECONDS, problem="the copy could not be filled")
