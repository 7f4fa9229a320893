"""Rows of events for pages: by day, with events of one cause together."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, tzinfo
from itertools import groupby

import msgspec

from registerwatch.pages.account.events.changes import ShownChange, severity_tone, shown_changes
from registerwatch.platform.clock import day_of
from registerwatch.watches.events.causes import EventGroup
from registerwatch.watches.events.event_search_repository import ListedEvent


class EventRow(msgspec.Struct, frozen=True):
    """One event, or several of one cause, newest first."""

    listed: Sequence[ListedEvent]
    today: date
    """The reader's day."""
    total: int
    """The number of events of the cause, on this page and others."""

    @property
    def group(self) -> EventGroup:
        """The events."""
        return EventGroup([each.event for each in self.listed])

    @property
    def changes(self) -> Sequence[ShownChange]:
        """The changes, each once."""
        return shown_changes(self.group.changes, self.group.newest.created_at, self.today)

    @property
    def severity(self) -> str:
        """The severity of the most severe event."""
        return self.group.most_severe.severity

    @property
    def tone(self) -> str:
        """The tone of the severity."""
        return severity_tone(self.severity)


class Day(msgspec.Struct, frozen=True):
    """The events of a day."""

    at: int
    """An instant of the day."""
    rows: Sequence[EventRow]


def by_day(events: Iterable[ListedEvent], zone: tzinfo, by_cause: Mapping[str, int], today: date) -> list[Day]:
    """Events by the days of a time zone, in order; those of one cause are at the position of the newest.
    `by_cause` has the number of events of a cause, if there may be more; `today` is the reader's day.
    """

    def local_day(each: ListedEvent) -> date:
        return day_of(each.event.created_at, zone)

    days = [list(found) for _, found in groupby(events, local_day)]
    sizes = {**Counter(each.event.cause for of_day in days for each in of_day if each.event.cause), **by_cause}
    return [Day(of_day[0].event.created_at, rows_of(of_day, sizes, today)) for of_day in days]


def rows_of(events: Iterable[ListedEvent], by_cause: Mapping[str, int], today: date) -> list[EventRow]:
    """Events in order; those of one cause are at the position of the first. `by_cause` as for `by_day`."""
    found: dict[object, list[ListedEvent]] = {}
    for each in events:
        found.setdefault(each.event.cause or each.event.id, []).append(each)
    return [EventRow(of, today, max(len(of), by_cause.get(of[0].event.cause or "", 0))) for of in found.values()]
