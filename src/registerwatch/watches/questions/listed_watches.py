"""Lists of watches: filter, order, rows, counts and pages."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import islice

import msgspec

from registerwatch.accounts.validation import one_line
from registerwatch.watches.models import HealthState, Watch
from registerwatch.watches.snapshot import Kind
from registerwatch.watches.tags import MAX_TAG_LENGTH

PAGE_ROWS = 40
MAX_TEXT_LENGTH = 200
MAX_WORDS = 8
MAX_TAGS = 5


class WatchOrder(StrEnum):
    """The orders of a list of watches."""

    NAME = "name"
    SUBJECT = "subject"
    LAST_READ = "read"
    ADDED = "added"
    LAST_CHANGE = "change"


class WatchFilter(msgspec.Struct, frozen=True):
    """Which watches are listed. An empty field does not restrict."""

    text: str = ""
    """Words that must all be in the name, the subject, or the manufacturer's name or SRN."""
    state: HealthState | None = None
    kind: Kind | None = None
    tags: Sequence[str] = ()
    """Tags, all required."""

    @classmethod
    def of(
        cls, text: str = "", state: HealthState | None = None, kind: Kind | None = None, tags: Iterable[str] = ()
    ) -> "WatchFilter":
        """A filter from typed texts."""
        named = dict.fromkeys(one_line(tag)[:MAX_TAG_LENGTH] for tag in islice(tags, MAX_TAGS))
        return cls(one_line(text)[:MAX_TEXT_LENGTH].rstrip(), state, kind, tuple(filter(None, named)))

    @property
    def words(self) -> Sequence[str]:
        """The words of the text."""
        return self.text.split()[:MAX_WORDS]

    @property
    def is_empty(self) -> bool:
        """Whether every watch is listed."""
        return self == WatchFilter()


class ListedWatch(msgspec.Struct, frozen=True):
    """A watch in a list."""

    watch: Watch
    changed_at: int | None
    """When its last event was stored; None when it has none."""
    tags: Sequence[str] = ()


class WatchCounts(msgspec.Struct, frozen=True):
    """How many watches match a filter, by state and kind. `cells` ignores the filter's own state and kind."""

    chosen: WatchFilter
    cells: Mapping[tuple[HealthState, Kind], int]

    @property
    def matching(self) -> int:
        """How many match the whole filter."""
        return self.of(self.chosen.state, self.chosen.kind)

    def of_state(self, state: HealthState | None) -> int:
        """How many would match with this state instead of the filter's."""
        return self.of(state, self.chosen.kind)

    def of(self, state: HealthState | None, kind: Kind | None) -> int:
        """How many would match with this state and kind; None stands for each."""
        return sum(
            number
            for (each_state, each_kind), number in self.cells.items()
            if state in (None, each_state) and kind in (None, each_kind)
        )


class WatchPage(msgspec.Struct, frozen=True):
    """A page of the watches that match a filter."""

    rows: Sequence[ListedWatch]
    counts: WatchCounts
    page: int
    """From 1; the last page if a later one was requested."""
