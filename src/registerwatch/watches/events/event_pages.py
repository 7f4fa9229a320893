"""Which events are listed, and pages of them. Pure."""

from collections.abc import Collection, Sequence

import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.watches.events.causes import EventGroup
from registerwatch.watches.models import Event, EventKind, EventSeverity
from registerwatch.watches.subjects import subject as subject_of


class EventFilter(msgspec.Struct, frozen=True):
    """Which events are listed; what is empty demands nothing."""

    kinds: frozenset[str] = frozenset()
    severities: frozenset[str] = frozenset()
    subject: str = ""

    @classmethod
    def of(
        cls, kinds: Collection[str] = (), severities: Collection[str] = (), subject: str | None = None
    ) -> "EventFilter":
        """The filter of a request. Raises `InvalidInput` for unknown kinds and severities and what is no subject."""
        return cls(
            _known("kind", kinds, list(EventKind)),
            _known("severity", severities, list(EventSeverity)),
            "" if subject is None else subject_of(subject),
        )


class EventPage(msgspec.Struct, frozen=True):
    """Some events. After the id `next` come those that will be stored, and those that are stored and not listed yet.

    `more` says whether others are stored: later ones where the page goes on from an id, earlier ones where it begins
    with the newest.
    """

    events: Sequence[Event]
    next: int
    more: bool

    @classmethod
    def cut(cls, read: Sequence[Event], *, after: int | None, limit: int) -> "EventPage":
        """The page in what was read, which is one event more than its limit where there are more."""
        listed = read[:limit]
        if not listed:
            return cls([], after or 0, more=False)
        last = listed[0] if after is None else listed[-1]
        return cls(listed, last.id, len(read) > limit)


class GroupPage(msgspec.Struct, frozen=True):
    """Some events by cause, newest first. Earlier ones come before the id `earlier`; None where there are none."""

    groups: Sequence[EventGroup]
    earlier: int | None


def _known(name: str, values: Collection[str], choices: Sequence[str]) -> frozenset[str]:
    for value in values:
        if value not in choices:
            raise InvalidInput(f"There is no {name} “{value[:40]}”; known are {', '.join(choices)}.")
    return frozenset(values)
