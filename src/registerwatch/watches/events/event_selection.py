"""Which events a person looks at: unseen, all or archived ones, and filters. Pure."""

from collections.abc import Collection
from enum import StrEnum

import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.platform.db.row_pages import row_id_of
from registerwatch.watches.events.event_pages import EventFilter
from registerwatch.watches.events.event_rules import FIELDS


class EventView(StrEnum):
    """The part of an account's events that is listed."""

    UNSEEN = "unseen"
    """What the user has not seen, without archived events."""
    ALL = "all"
    """Seen or not, without archived events."""
    ARCHIVED = "archived"


class EventSelection(msgspec.Struct, frozen=True):
    """Some of an account's events as one user sees them; what is empty demands nothing."""

    view: EventView = EventView.ALL
    about: EventFilter = msgspec.field(default_factory=EventFilter)
    fields: frozenset[str] = frozenset()
    """Names of changed fields, of which an event has one at least."""
    subject: str = ""
    """What the UDI-DI or SRN begins with."""
    watch_id: int | None = None
    tag: str = ""
    """A tag that the event's watch has now."""
    since: int | None = None
    """Events of this instant and later."""
    until: int | None = None
    """Events before this instant."""

    @property
    def is_filtered(self) -> bool:
        """Whether it demands anything but its view."""
        return self != EventSelection(self.view)


def field_filter(names: Collection[str]) -> frozenset[str]:
    """The fields of a request. Raises `InvalidInput` for one that is not compared."""
    for name in names:
        if name not in FIELDS:
            raise InvalidInput(f"There is no field “{name[:40]}”; known are {', '.join(FIELDS)}.")
    return frozenset(names)


def row_id(name: str, text: str) -> int | None:
    """An id in a request, None for an empty text. Raises `InvalidInput` for anything else."""
    if not text:
        return None
    found = row_id_of(text)
    if found is None:
        raise InvalidInput(f"“{text[:40]}” is no number of {name}.")
    return found
