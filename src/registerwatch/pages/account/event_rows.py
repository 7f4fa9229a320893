"""Events as pages show them: by day, and those of one cause together."""

from collections.abc import Iterable, Sequence
from datetime import date, tzinfo
from itertools import groupby

import msgspec

from registerwatch.clock import day_of
from registerwatch.pages.account.changes import ShownChange, severity_tone, shown_changes
from registerwatch.watches.causes import EventGroup
from registerwatch.watches.event_search_repository import ListedEvent


class EventRow(msgspec.Struct, frozen=True):
    """One event, or several of one cause, newest first."""

    listed: Sequence[ListedEvent]
    zone: tzinfo
    """The reader's."""

    @property
    def group(self) -> EventGroup:
        """The events."""
        return EventGroup([each.event for each in self.listed])

    @property
    def changes(self) -> Sequence[ShownChange]:
        """What changed, once."""
        return shown_changes(self.group.changes, self.group.newest.created_at, self.zone)

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


def by_day(events: Iterable[ListedEvent], zone: tzinfo) -> list[Day]:
    """Events by the days of a time zone, in their order; those of one cause stand where the newest of them does."""

    def local_day(each: ListedEvent) -> date:
        return day_of(each.event.created_at, zone)

    days = [list(found) for _, found in groupby(events, local_day)]
    return [Day(of_day[0].event.created_at, rows_of(of_day, zone)) for of_day in days]


def rows_of(events: Iterable[ListedEvent], zone: tzinfo) -> list[EventRow]:
    """Events in their order; those of one cause stand where the first of them does."""
    found: dict[object, list[ListedEvent]] = {}
    for each in events:
        found.setdefault(each.event.cause or each.event.id, []).append(each)
    return [EventRow(group, zone) for group in found.values()]
