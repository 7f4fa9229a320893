"""Which events a target gets, and when. Pure; instants are unix seconds."""

from collections.abc import Collection
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from registerwatch.watches.models import Event, EventSeverity

MAX_NAMED = 200
"""Tags and watches that one choice names."""

_LEAST_FIRST = (EventSeverity.LOW, EventSeverity.MEDIUM, EventSeverity.HIGH)


class Frequency(StrEnum):
    """How often a target is notified."""

    OFF = "off"
    AT_ONCE = "at-once"
    """People get together what was found within minutes, programs what one run found."""
    DAILY = "daily"
    WEEKLY = "weekly"


class Choice(msgspec.Struct, frozen=True):
    """Which events a target gets, and when. Stored as JSON; missing fields have their defaults.

    `hour` (0 to 23) is of the target's time zone, `weekday` 0 is Monday. `tags` and `watches` select events of watches
    that have one of the tags or are named; where there are neither, every event counts.
    """

    frequency: Frequency = Frequency.AT_ONCE
    severity: EventSeverity = EventSeverity.LOW
    """The lowest severity that counts."""
    high_at_once: bool = False
    """Whether events of high severity do not wait for the digest."""
    hour: int = 8
    weekday: int = 0
    tags: tuple[str, ...] = ()
    watches: tuple[int, ...] = ()

    def hears(self, event: Event, tags: Collection[str]) -> bool:
        """Whether an event of a watch with these tags counts."""
        if self.frequency is Frequency.OFF or _rank(event.severity) < _rank(self.severity):
            return False
        if not self.tags and not self.watches:
            return True
        wanted = {tag.casefold() for tag in self.tags}
        return event.watch_id in self.watches or any(tag.casefold() in wanted for tag in tags)

    def is_sent_at_once(self, event: Event) -> bool:
        """Whether an event that counts does not wait for a digest."""
        return self.frequency is Frequency.AT_ONCE or (self.high_at_once and event.severity == EventSeverity.HIGH)


EVERYTHING = Choice()
_decoder = msgspec.json.Decoder(Choice)


def choice_of(stored: str | None) -> Choice:
    """A stored choice. One that only a later release understands is everything at once, so that nothing is missed."""
    if stored is None:
        return EVERYTHING
    try:
        return _decoder.decode(stored)
    except msgspec.ValidationError:
        return EVERYTHING


class Period(msgspec.Struct, frozen=True):
    """The days that end with a digest. `batch` names it: a target gets one delivery of a batch."""

    frequency: Frequency
    due_at: int

    @property
    def batch(self) -> str:
        """Equal for all events of the period."""
        return f"{self.frequency}:{self.due_at}"


def is_of_digest(batch: str) -> bool:
    """Whether a batch is that of a period."""
    return batch.partition(":")[0] in (Frequency.DAILY, Frequency.WEEKLY)


def next_period(choice: Choice, zone: str, now: int) -> Period:
    """The period that `now` is in: its digest is due at the next chosen hour after it, in the time zone `zone`.

    Where the clock is put forward over that hour, the digest is due right after that; where the hour occurs twice, at
    the first.
    """
    zone_info = _zone(zone)
    local = datetime.fromtimestamp(now, zone_info)
    days = range(8) if choice.frequency is Frequency.WEEKLY else range(2)
    for day in days:
        date = local.date() + timedelta(days=day)
        if choice.frequency is Frequency.WEEKLY and date.weekday() != choice.weekday:
            continue
        due_at = int(datetime.combine(date, time(choice.hour), zone_info).astimezone(UTC).timestamp())
        if due_at > now:
            return Period(choice.frequency, due_at)
    raise AssertionError("every day has each hour once, and a week every weekday")


def _zone(name: str) -> ZoneInfo:
    """The zone of this name; UTC where this machine does not know it (any more)."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def _rank(severity: str) -> int:
    """Rank of a severity; one of a later release counts as the highest, so that nothing is missed."""
    try:
        return _LEAST_FIRST.index(EventSeverity(severity))
    except ValueError:
        return len(_LEAST_FIRST)
