"""Instants and dates: the register writes Brussels local time without a zone, the service serves UTC."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

BRUSSELS = "Europe/Brussels"


def utc_from_brussels(text: str | None) -> str | None:
    """`2021-10-08T12:42:27.657` (Brussels) as `2021-10-08T10:42:27Z`; None where there is no valid time."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        utc = moment.astimezone(UTC) if moment.tzinfo else moment - _ahead_of_utc(text[:13])
        return utc.isoformat(timespec="seconds")[:19] + "Z"
    except (ValueError, OverflowError):
        return None


def date_of(text: str | None) -> str | None:
    """The date of the register's `2030-09-16T00:00:00` or `2030-09-16`; None where there is no valid date."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).date().isoformat()
    except ValueError:
        return None


@lru_cache(maxsize=20_000)
def _ahead_of_utc(hour: str) -> timedelta:
    """The offset of Brussels from UTC in an hour such as `2021-10-08T12`; clocks change only between hours."""
    ahead = datetime.fromisoformat(hour).replace(tzinfo=ZoneInfo(BRUSSELS)).utcoffset()
    assert ahead is not None, "the zone has offsets"
    return ahead
