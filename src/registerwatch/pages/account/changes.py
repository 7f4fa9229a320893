"""Changes of an event as people read them: a name for the field, before, after, and which words differ."""

from collections.abc import Iterable
from dataclasses import dataclass

from registerwatch.watches.diff import EXPIRY, FieldChange
from registerwatch.watches.event_rules import field_name, most_severe_first
from registerwatch.watches.models import EventSeverity
from registerwatch.watches.word_difference import WordDifference, word_difference

DATES = frozenset({EXPIRY, "status_date"})
"""Fields whose values are dates."""
SEVERITY_TONES = {EventSeverity.HIGH: "bad", EventSeverity.MEDIUM: "warn", EventSeverity.LOW: "none"}


@dataclass(frozen=True, slots=True)
class ShownChange:
    """One changed field."""

    change: FieldChange

    @property
    def difference(self) -> WordDifference | None:
        """The words that differ, where that helps. Comparing takes time: a list that does not show them leaves it."""
        return word_difference(self.change.old, self.change.new)

    @property
    def field(self) -> str:
        """What people call it."""
        name = field_name(self.change.field)
        return name[:1].upper() + name[1:]

    @property
    def is_date(self) -> bool:
        """Whether both values are dates."""
        return self.change.field in DATES


def shown_changes(changes: Iterable[FieldChange]) -> list[ShownChange]:
    """Changes, those that matter most first."""
    return [ShownChange(each) for each in most_severe_first(changes)]


def severity_tone(severity: str) -> str:
    """The tone of a severity; one that a later release added has none."""
    return SEVERITY_TONES.get(EventSeverity(severity), "none") if severity in list(EventSeverity) else "none"
