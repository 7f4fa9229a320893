"""Selections of events for a user: unseen, all or archived ones, and filters. Pure."""

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
    """Events that the user has not seen, without archived ones."""
    ALL = "all"
    """Seen and unseen events, without archived ones."""
    ARCHIVED = "archived"


class EventSelection(msgspec.Struct, frozen=True):
    """Some of an account's events as one user sees them; an empty field matches all."""

    view: EventView = EventView.ALL
    about: EventFilter = msgspec.field(default_factory=EventFilter)
    fields: frozenset[str] = frozenset()
    """Names of changed fields; an event has at least one of them."""
    subject: str = ""
    """The beginning of the UDI-DI or SRN."""
    watch_id: int | None = None
    tag: str = ""
    """A tag that the event's watch has now."""
    since: int | None = None
    """Events of this instant and later."""
    until: int | None = None
    """Events before this instant."""

    @property
    def is_filtered(self) -> bool:
        """Whether anything but the view is set."""
        return self != EventSelection(self.view)


def field_filter(names: Collection[str]) -> frozenset[str]:
    """The fields of a request. Raises `InvalidInput` for a field that is not compared."""
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
