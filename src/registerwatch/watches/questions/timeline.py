"""The timeline of one watch: its events and its failed reads. Pure."""

import re
from collections.abc import Sequence
from datetime import date, datetime, tzinfo
from itertools import groupby

import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.watches.models import Event
from registerwatch.watches.reading.read_failures import ReadFailure

PAGE_LENGTH = 30

_POSITION = re.compile(r"(?P<at>[0-9]{1,12})-(?P<kind>event|read)-(?P<id>[0-9]{1,18})")


class Position(msgspec.Struct, frozen=True, order=True):
    """The position of an entry in a timeline. Addresses have it as text: `1795320000-event-41`."""

    at: int
    """Unix seconds: when the event was stored, or when the read last failed."""
    is_event: bool
    id: int

    def __str__(self) -> str:
        return f"{self.at}-{'event' if self.is_event else 'read'}-{self.id}"

    @classmethod
    def of(cls, text: str) -> "Position":
        """The position that a text names. Raises `InvalidInput`."""
        found = _POSITION.fullmatch(text) if text.isascii() else None
        if found is None:
            raise InvalidInput("This address of a page of the timeline is not whole. Begin with its first page.")
        return cls(int(found["at"]), found["kind"] == "event", int(found["id"]))


TimelineEntry = Event | ReadFailure


class TimelineDay(msgspec.Struct, frozen=True):
    """The entries of one day, the newest first."""

    day: date
    entries: Sequence[TimelineEntry]


class TimelinePage(msgspec.Struct, frozen=True):
    """Entries, the newest first. `earlier` is where the next page begins, None if this is the last."""

    entries: Sequence[TimelineEntry]
    earlier: Position | None

    @classmethod
    def cut(cls, events: Sequence[Event], failures: Sequence[ReadFailure], limit: int) -> "TimelinePage":
        """A page of the newest of both; each holds up to `limit` + 1, if there are more."""
        both: list[TimelineEntry] = [*events, *failures]
        merged = sorted(both, key=position_of, reverse=True)
        shown = merged[:limit]
        return cls(shown, position_of(shown[-1]) if len(merged) > limit else None)

    def by_day(self, zone: tzinfo) -> Sequence[TimelineDay]:
        """The entries by day in a time zone, the newest day first."""
        days = groupby(self.entries, key=lambda entry: datetime.fromtimestamp(position_of(entry).at, zone).date())
        return [TimelineDay(day, list(entries)) for day, entries in days]


def position_of(entry: TimelineEntry) -> Position:
    """The position of an entry."""
    if isinstance(entry, Event):
        return Position(entry.created_at, is_event=True, id=entry.id)
    return Position(entry.last_at, is_event=False, id=entry.id)
