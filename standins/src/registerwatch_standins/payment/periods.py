"""When things fall due. Pure."""

from calendar import monthrange
from datetime import UTC, datetime

from registerwatch_standins.payment.records import Interval

HOUR, DAY = 3600, 86_400
_SECONDS: dict[Interval, int] = {"day": DAY, "week": 7 * DAY}
_MONTHS: dict[Interval, int] = {"month": 1, "year": 12}


def end_of_period(anchor: int, start: int, interval: Interval) -> int:
    """The first moment after `start` that lies a whole number of intervals after the anchor.

    A cycle anchored on the 31st ends on the last day of a shorter month, and on the 31st again after that.
    """
    if interval in _SECONDS:
        length = _SECONDS[interval]
        return anchor + ((start - anchor) // length + 1) * length
    step, count = _MONTHS[interval], 1
    while (end := _months_after(anchor, count * step)) <= start:
        count += 1
    return end


def _months_after(instant: int, months: int) -> int:
    moment = datetime.fromtimestamp(instant, UTC)
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    day = min(moment.day, monthrange(year, month + 1)[1])
    return int(moment.replace(year=year, month=month + 1, day=day).timestamp())
