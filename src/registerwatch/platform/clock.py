"""Time as the service sees it, so that tests can bring their own, and how it writes instants."""

import asyncio
import re
import time
from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


class Clock(Protocol):
    """What time it is, and letting it pass."""

    def now(self) -> float:
        """Unix seconds. Somebody may put the clock forward or back."""

    def monotonic(self) -> float:
        """Seconds since some instant, for durations in this process: nobody puts them forward or back."""

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""


def day_of(unix_seconds: float, zone: tzinfo = UTC) -> date:
    """The day of an instant in a time zone: that of the reader on pages of an account, UTC everywhere else."""
    return datetime.fromtimestamp(unix_seconds, zone).date()


CLOCK_DIFFERENCE_SECONDS = 60
"""The clock of another node may be ahead by so much. What lies further ahead is of before the clock was put back."""
_DATE = re.compile(r"(\d{4}-\d\d)(-\d\d(T\d\d(?::\d\d)?)?)?", re.ASCII)
JUMP_SECONDS = 2.0
"""A smaller difference is a clock that is put right a little at a time."""


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
    """Notices that somebody put the clock forward or back: time that only goes forward does not follow."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead = self._difference()

    def since_last_look(self) -> float:
        """By how many seconds the clock was put forward since the last look, negative where back, 0 where not."""
        ahead = self._difference()
        jump = ahead - self._ahead
        self._ahead = ahead
        return jump if abs(jump) >= JUMP_SECONDS else 0.0

    def _difference(self) -> float:
        return self._clock.now() - self._clock.monotonic()


def is_recent(instant: float, now: float, seconds: float) -> bool:
    """Whether an instant lies `seconds` back at most. One that is still to come does not: the clock was put back."""
    return now - seconds <= instant <= now + CLOCK_DIFFERENCE_SECONDS


@lru_cache(maxsize=4096)
def iso_utc(unix_seconds: int | float) -> str:
    """Unix seconds as `2026-11-21T03:38:00Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(unix_seconds))


def day_in_words(day: date) -> str:
    """A day as `21 Nov 2026`, as everything for people writes it."""
    return f"{day.day} {day:%b %Y}"


def date_in_words(iso: str) -> str:
    """`2028-01-31` as `31 Jan 2028`, `2028-01` as `Jan 2028`, `2028-01-31T22` as `31 Jan 2028, 22:00`, which codes may
    say; what is none of these as it is.
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
