"""Changes of an event on a page: the rows that people read everywhere, with the day from which the reader counts."""

from collections.abc import Iterable
from datetime import date, tzinfo

import msgspec

from registerwatch.platform.clock import day_of
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events.change_words import ChangeRow, rows_of
from registerwatch.watches.events.word_difference import WordDifference, word_difference
from registerwatch.watches.models import EventSeverity

SEVERITY_TONES = {EventSeverity.HIGH: "bad", EventSeverity.MEDIUM: "warn", EventSeverity.LOW: "none"}


class ShownChange(msgspec.Struct, frozen=True):
    """A row of a change, and the reader's day on which it was seen."""

    row: ChangeRow
    day: date

    @property
    def difference(self) -> WordDifference | None:
        """The words that differ, where that helps. Comparing takes time: a list that does not show them leaves it."""
        return None if self.row.is_date else word_difference(self.row.before or "", self.row.after)

    @property
    def when(self) -> str:
        """How near the end of a certificate was on that day; empty of any other change."""
        return self.row.when(self.day)

    def shortened(self, most: int) -> "ShownChange":
        """The same with values of at most so many characters."""
        return ShownChange(self.row.shortened(most), self.day)


def shown_changes(changes: Iterable[FieldChange], seen_at: int, zone: tzinfo) -> list[ShownChange]:
    """Changes that were seen at an instant, in a reader's time zone: those that matter most first."""
    day = day_of(seen_at, zone)
    return [ShownChange(row, day) for row in rows_of(changes)]


def severity_tone(severity: str) -> str:
    """The tone of a severity; one that a later release added has none."""
    return SEVERITY_TONES.get(EventSeverity(severity), "none") if severity in list(EventSeverity) else "none"
