"""Changes of an event on a page: the rows shown on every surface, with the reader's day."""

from collections.abc import Iterable
from datetime import date

import msgspec

from registerwatch.platform.clock import day_of
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events.change_words import ChangeRow, rows_of
from registerwatch.watches.events.word_difference import WordDifference, word_difference
from registerwatch.watches.models import EventSeverity

SEVERITY_TONES = {EventSeverity.HIGH: "bad", EventSeverity.MEDIUM: "warn", EventSeverity.LOW: "none"}


class ShownChange(msgspec.Struct, frozen=True):
    """A row of a change, and the reader's day, from which days are counted."""

    row: ChangeRow
    today: date

    @property
    def difference(self) -> WordDifference | None:
        """The words that differ, if that helps. Comparing takes time, so lists that do not show them skip it."""
        return None if self.row.is_date else word_difference(self.row.before or "", self.row.after)

    @property
    def when(self) -> str:
        """How near the end of a certificate is; empty for other changes."""
        return self.row.when(self.today)

    def shortened(self, most: int) -> "ShownChange":
        """The change with values cut to a number of characters."""
        return ShownChange(self.row.shortened(most), self.today)


def shown_changes(changes: Iterable[FieldChange], created_at: int, today: date) -> list[ShownChange]:
    """Changes of an event of an instant as they are shown on the reader's day, the most severe first."""
    return [ShownChange(row, today) for row in rows_of(changes, day_of(created_at))]


def severity_tone(severity: str) -> str:
    """The tone of a severity; none for one of a later release."""
    return SEVERITY_TONES.get(EventSeverity(severity), "none") if severity in list(EventSeverity) else "none"
