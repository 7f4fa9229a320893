"""Filters and pages of an account's events. Pure."""

from collections.abc import Collection, Sequence

import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.watches.events.causes import EventGroup
from registerwatch.watches.models import Event, EventKind, EventSeverity
from registerwatch.watches.subjects import subject as subject_of


class EventFilter(msgspec.Struct, frozen=True):
    """A filter of events; an empty field matches all."""

    kinds: frozenset[str] = frozenset()
    severities: frozenset[str] = frozenset()
    subject: str = ""

    @classmethod
    def of(
        cls, kinds: Collection[str] = (), severities: Collection[str] = (), subject: str | None = None
    ) -> "EventFilter":
        """The filter of a request. Raises `InvalidInput` for unknown kinds or severities and invalid subjects."""
        return cls(
            _known("kind", kinds, list(EventKind)),
            _known("severity", severities, list(EventSeverity)),
            "" if subject is None else subject_of(subject),
        )


class EventPage(msgspec.Struct, frozen=True):
    """Some events. Events after the id `next` are not listed yet: stored ones, and ones that are still to come.

    `more` says whether others are stored: later ones where the page goes on from an id, earlier ones where it begins
    with the newest.
    """

    events: Sequence[Event]
    next: int
    more: bool

    @classmethod
    def cut(cls, read: Sequence[Event], *, after: int | None, limit: int) -> "EventPage":
        """The page from the events that were read: one more than `limit` where there are more."""
        listed = read[:limit]
        if not listed:
            return cls([], after or 0, more=False)
        last = listed[0] if after is None else listed[-1]
        return cls(listed, last.id, len(read) > limit)


class GroupPage(msgspec.Struct, frozen=True):
    """Some events by cause, newest first. Earlier ones are before the id `earlier`; None where there are none."""

    groups: Sequence[EventGroup]
    earlier: int | None


def _known(name: str, values: Collection[str], choices: Sequence[str]) -> frozenset[str]:
    for value in values:
        if value not in choices:
            raise InvalidInput(f"There is no {name} “{value[:40]}”; known are {', '.join(choices)}.")
    return frozenset(values)
