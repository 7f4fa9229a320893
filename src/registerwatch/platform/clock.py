"""The clock, which tests can replace, and how the service writes instants."""

import asyncio
import re
import time
from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


class Clock(Protocol):
    """The time, and pauses."""

    def now(self) -> float:
        """Unix seconds. The clock may be put forward or back."""

    def monotonic(self) -> float:
        """Seconds since some instant, for durations in this process; never put forward or back."""

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""


def day_of(unix_seconds: float, zone: tzinfo = UTC) -> date:
    """The day of an instant in a time zone: the reader's zone on pages of an account, UTC everywhere else."""
    return datetime.fromtimestamp(unix_seconds, zone).date()


CLOCK_DIFFERENCE_SECONDS = 60
"""The clock of another node may be ahead by this much. A time further ahead was stored before the clock was put back.
"""
_DATE = re.compile(r"(\d{4}-\d\d)(-\d\d(T\d\d(?::\d\d)?)?)?", re.ASCII)
JUMP_SECONDS = 2.0
"""A smaller difference is a gradual correction of the clock."""


class SystemClock:
    """The machine's time."""

    def now(self) -> float:
        """Unix seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some instant."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""
        await asyncio.sleep(seconds)


class ClockJumps:
    """Notices that the clock was put forward or back, by comparison with the monotonic clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead = self._difference()

    def since_last_look(self) -> float:
        """Seconds by which the clock was put forward since the last look; negative for back, 0 for none."""
        ahead = self._difference()
        jump = ahead - self._ahead
        self._ahead = ahead
        return jump if abs(jump) >= JUMP_SECONDS else 0.0

    def _difference(self) -> float:
        return self._clock.now() - self._clock.monotonic()


def is_recent(instant: float, now: float, seconds: float) -> bool:
    """Whether an instant is at most `seconds` ago. An instant in the future is not: the clock was put back."""
    return now - seconds <= instant <= now + CLOCK_DIFFERENCE_SECONDS


@lru_cache(maxsize=4096)
def iso_utc(unix_seconds: int | float) -> str:
    """Unix seconds as `2026-11-21T03:38:00Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(unix_seconds))


def day_in_words(day: date) -> str:
    """A day as `21 Nov 2026`, as all texts for people write it."""
    return f"{day.day} {day:%b %Y}"


def date_in_words(iso: str) -> str:
    """`2028-01-31` as `31 Jan 2028`, `2028-01` as `Jan 2028`, `2028-01-31T22` as `31 Jan 2028, 22:00`, which codes may
    contain; any other text stays as it is.
    """
    found = _DATE.fullmatch(iso)
    if found is None:
        return iso
    month, day_of_month, hour = found.groups()
    try:
        value = datetime.fromisoformat(iso if day_of_month else f"{month}-01")
    except ValueError:
        return iso
    if not day_of_month:
        return f"{value:%b %Y}"
    return f"{day_in_words(value)}, {value:%H:%M}" if hour else day_in_words(value)


def zone_in_words(name: str) -> str:
    """The IANA name of a zone as people read it: `America/Los Angeles`."""
    return name.replace("_", " ")


def utc_in_words(unix_seconds: int | float) -> str:
    """Unix seconds as `21 Nov 2026, 03:38 UTC`, for texts that people in several zones read."""
    moment = datetime.fromtimestamp(unix_seconds, UTC)
    return f"{day_in_words(moment)}, {moment:%H:%M} UTC"


def in_words(unix_seconds: int, zone_name: str) -> str:
    """Unix seconds as `21 Nov 2026, 04:38 (Europe/Berlin)`, for mails to a user; as `utc_in_words` where the zone is
    UTC or not known.
    """
    try:
        zone = ZoneInfo(zone_name)
    except (ZoneInfoNotFoundError, ValueError):
        return utc_in_words(unix_seconds)
    if zone.key == "UTC":
        return utc_in_words(unix_seconds)
    local = datetime.fromtimestamp(unix_seconds, zone)
    return f"{day_in_words(local)}, {local:%H:%M} ({zone_in_words(zone.key)})"
