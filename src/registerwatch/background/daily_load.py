"""The loop that fills the copy once a day."""

from registerwatch.background.run_forever import guarded
from registerwatch.register.ingest.daily_load import DailyFill

LOOK_SECONDS = 60.0


async def fill_daily(daily: DailyFill) -> None:
    """Fill whenever it is due, until cancelled."""
    await guarded(daily.run_where_due, every=LOOK_SECONDS, trouble="the copy could not be filled")
