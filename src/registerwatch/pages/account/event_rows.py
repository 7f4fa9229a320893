"""Events as the page of events shows them: by day, and those of one cause together."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from registerwatch.pages.account.changes import ShownChange, severity_tone, shown_changes
from registerwatch.watches.causes import EventGroup
from registerwatch.watches.event_search_repository import ListedEvent


class EventRow(msgspec.Struct, frozen=True):
    """One event, or several of one cause, newest first."""

    listed: Sequence[ListedEvent]

    @property
    def group(self) -> EventGroup:
        """The events."""
        return EventGroup([each.event for each in self.listed])

    @property
    def changes(self) -> Sequence[ShownChange]:
        """What changed, once."""
        return shown_changes(self.group.changes)

    @property
    def severity(self) -> str:
        """That of the most severe event."""
        return self.group.most_severe.severity

    @property
    def tone(self) -> str:
        """The tone of the severity."""
        return severity_tone(self.severity)


class Day(msgspec.Struct, frozen=True):
    """What a day brought."""

    at: int
    """An instant of it."""
    rows: Sequence[EventRow]


def by_day(events: Iterable[ListedEvent], zone: ZoneInfo) -> list[Day]:
    """Events by the days of a time zone, in their order; those of one cause stand where the newest of them does."""

    def day_of(each: ListedEvent) -> Any:
        return datetime.fromtimestamp(each.event.created_at, zone).date()

    return [
        Day(group[0].event.created_at, _rows(group)) for _, found in groupby(events, day_of) if (group := list(found))
    ]


def _rows(events: Sequence[ListedEvent]) -> list[EventRow]:
    found: dict[object, list[ListedEvent]] = {}
    for each in events:
        found.setdefault(each.event.cause or each.event.id, []).append(each)
    return [EventRow(group) for group in found.values()]
