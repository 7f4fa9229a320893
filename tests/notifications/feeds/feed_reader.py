"""Feeds and calendars as the parsers read them that people's readers are made of, with types."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import feedparser  # type: ignore[import-untyped]  # it comes without types
import icalendar


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a feed."""

    id: str
    title: str
    link: str
    text: str
    is_dated: bool
    terms: list[str]


@dataclass(frozen=True, slots=True)
class ReadFeed:
    """A feed; `problem` is None when it is well formed."""

    id: str
    version: str
    problem: object
    is_dated: bool
    entries: list[Entry]
    links: dict[str, str]
    """Addresses by relation."""
    subtitle: str


@dataclass(frozen=True, slots=True)
class Day:
    """One event of a calendar."""

    uid: str
    starts: date
    summary: str
    description: str
    alarms: list[timedelta]
    """When each alarm is, from the beginning of the day."""


def feed_of(body: bytes) -> ReadFeed:
    """What a feed reader sees."""
    read: Any = feedparser.parse(body)
    problem = read.bozo_exception if read.bozo else None
    entries = [
        Entry(
            each.id,
            each.title,
            each.link,
            each.content[0].value,
            bool(each.get("updated_parsed")),
            [tag.term for tag in each.get("tags", [])],
        )
        for each in read.entries
    ]
    links = {each.rel: each.href for each in read.feed.get("links", [])}
    is_dated = bool(read.feed.get("updated_parsed"))
    return ReadFeed(
        read.feed.get("id", ""), read.version, problem, is_dated, entries, links, read.feed.get("subtitle", "")
    )


def days_of(body: bytes) -> list[Day]:
    """What a calendar shows. Raises `ValueError` for what is no calendar."""
    return [_day(event) for event in icalendar.Calendar.from_ical(body).walk("VEVENT")]


def _day(event: Any) -> Day:
    """The library types a property as everything that any property can be."""
    alarms = [alarm["trigger"].dt for alarm in event.walk("VALARM")]
    return Day(str(event["uid"]), event["dtstart"].dt, str(event["summary"]), str(event["description"]), alarms)
