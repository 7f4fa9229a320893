"""The query of the page of events: view, filters, position."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from zoneinfo import ZoneInfo

import msgspec

from registerwatch.accounts.validation import one_line
from registerwatch.errors import InvalidInput
from registerwatch.pages.account.days import day_of, end_of, start_of
from registerwatch.pages.addresses import with_query
from registerwatch.platform.clock import date_in_words
from registerwatch.platform.structs import replace
from registerwatch.register.identifiers import subject as identifier_in
from registerwatch.watches.events.event_pages import EventFilter
from registerwatch.watches.events.event_rules import field_name
from registerwatch.watches.events.event_selection import EventSelection, EventView, field_filter, row_id
from registerwatch.watches.models import EventKind

PATH = "/app/events"
LISTS = ("severity", "kind", "field")
"""Parameters that may occur several times."""
SINGLE = ("watch", "tag", "subject", "from", "to")
MAX_LENGTH = 200
KINDS = {kind.value: kind.words for kind in EventKind}
"""The kinds of events in words."""


class Chip(msgspec.Struct, frozen=True):
    """An active filter, and the address of the list without it."""

    words: str
    value: str
    address: str


class EventQuery(msgspec.Struct, frozen=True):
    """A view, filters, and a position in the list. `filters` are pairs of a parameter and its value."""

    view: EventView = EventView.UNSEEN
    filters: tuple[tuple[str, str], ...] = ()
    before: int | None = None
    after: int | None = None

    @classmethod
    def of(cls, parameters: Sequence[tuple[str, str]]) -> "EventQuery":
        """The query in an address or a form. Raises `InvalidInput`."""
        named: Mapping[str, str] = dict(parameters)
        singles = [(name, one_line(named.get(name, ""))[:MAX_LENGTH]) for name in SINGLE]
        lists = [(name, value) for name, value in dict.fromkeys(parameters) if name in LISTS]
        view = named.get("view", "") or EventView.UNSEEN
        if view not in list(EventView):
            raise InvalidInput(f"There is no list “{view[:40]}”; there are {', '.join(EventView)}.")
        filters = tuple((name, value) for name, value in [*lists, *singles] if value)
        before, after = row_id("an event", named.get("before", "")), row_id("an event", named.get("after", ""))
        return cls(EventView(view), filters, before, None if before is not None else after)

    def selection(self, zone: ZoneInfo) -> EventSelection:
        """The selection of events; days are in a time zone. Raises `InvalidInput`."""
        return EventSelection(
            self.view,
            EventFilter.of(self.values("kind"), self.values("severity")),
            field_filter(self.values("field")),
            _subject(self.value("subject")),
            row_id("a watch", self.value("watch")),
            self.value("tag"),
            start_of(day_of(self.value("from")), zone),
            end_of(day_of(self.value("to")), zone),
        )

    def values(self, name: str) -> list[str]:
        """The values of a filter."""
        return [value for each, value in self.filters if each == name]

    def value(self, name: str) -> str:
        """The first value of a filter, empty if it is off."""
        return next(iter(self.values(name)), "")

    @property
    def bad_dates(self) -> list[str]:
        """Those of the filters `from` and `to` that are not dates."""
        return [name for name in ("from", "to") if not _is_date(self.value(name))]

    @property
    def is_filtered(self) -> bool:
        """Whether any filter is on."""
        return bool(self.filters)

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The query as hidden fields, or parameters."""
        view = [] if self.view is EventView.UNSEEN else [("view", self.view.value)]
        positions = [("before", self.before), ("after", self.after)]
        return [*view, *self.filters, *((name, str(position)) for name, position in positions if position is not None)]

    @property
    def address(self) -> str:
        """The address of this list."""
        return self.address_at(PATH)

    def address_at(self, path: str) -> str:
        """The list at another path, such as that of a download."""
        return with_query(path, self.fields)

    @property
    def first(self) -> "EventQuery":
        """The query of the first page."""
        return replace(self, before=None, after=None)

    def with_view(self, view: str) -> str:
        """The address of another view with the same filters."""
        return replace(self.first, view=EventView(view)).address

    def since(self, day: date) -> str:
        """The address of the list from a day on, empty if that filter is on."""
        if self.value("from") == day.isoformat():
            return ""
        others = tuple(each for each in self.filters if each[0] != "from")
        return replace(self.first, filters=(*others, ("from", day.isoformat()))).address

    @property
    def without_filters(self) -> str:
        """The address of the list without filters."""
        return EventQuery(self.view).address

    def older(self, last: int) -> str:
        """The address of the events before one."""
        return replace(self, before=last, after=None).address

    def newer(self, first: int) -> str:
        """The address of the next events after one."""
        return replace(self, before=None, after=first).address

    def chips(self, watch_name: str) -> list[Chip]:
        """The active filters."""
        return [
            Chip(_WORDS[name], _shown(name, value, watch_name), self._without(name, value))
            for name, value in self.filters
        ]

    def _without(self, name: str, value: str) -> str:
        others: Iterable[tuple[str, str]] = (each for each in self.filters if each != (name, value))
        return replace(self.first, filters=tuple(others)).address


_WORDS = {
    "severity": "Severity",
    "kind": "About",
    "field": "Field",
    "watch": "Watch",
    "tag": "Tag",
    "subject": "Number begins with",
    "from": "From",
    "to": "To",
}


def _shown(name: str, value: str, watch_name: str) -> str:
    if name in ("field", "kind"):
        return field_name(value) if name == "field" else KINDS.get(value, value)
    if name in ("from", "to"):
        return date_in_words(value)
    return watch_name if name == "watch" else value


def _subject(text: str) -> str:
    return identifier_in(text) if text else ""


def _is_date(text: str) -> bool:
    try:
        day_of(text)
    except InvalidInput:
        return False
    return True
