"""Days typed into forms, and the instants at which they begin in a time zone."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from registerwatch.errors import InvalidInput

MIN_YEAR, MAX_YEAR = 1971, 9998
"""Years that are whole in every time zone."""


def day_of(text: str) -> date | None:
    """The day in a text, None for an empty one. Raises `InvalidInput`."""
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise _no_date(text) from None
    if not MIN_YEAR <= day.year <= MAX_YEAR:
        raise _no_date(text)
    return day


def start_of(day: date | None, zone: ZoneInfo) -> int | None:
    """The first instant of a day in a zone, in unix seconds; None without a day."""
    return None if day is None else int(datetime.combine(day, time(), zone).timestamp())


def end_of(day: date | None, zone: ZoneInfo) -> int | None:
    """The first instant after a day."""
    return None if day is None else start_of(day + timedelta(days=1), zone)


def _no_date(text: str) -> InvalidInput:
    return InvalidInput(f"“{text[:40]}” is no date. Type year, month and day as YYYY-MM-DD.")
