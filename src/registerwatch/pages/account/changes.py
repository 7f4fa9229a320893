"""Changes of an event as people read them: a name for the field, before, after, and which words differ."""

from collections.abc import Iterable, Sequence

import msgspec

from registerwatch.watches.diff import EXPIRY, FieldChange
from registerwatch.watches.event_rules import NUMBERS, field_name, most_severe_first, told
from registerwatch.watches.expiry_marks import ENDS
from registerwatch.watches.models import EventSeverity
from registerwatch.watches.news_changes import NUMBER_OF
from registerwatch.watches.word_difference import WordDifference, word_difference

DATES = frozenset({EXPIRY, "status_date"})
"""Fields whose values are dates."""
SEVERITY_TONES = {EventSeverity.HIGH: "bad", EventSeverity.MEDIUM: "warn", EventSeverity.LOW: "none"}


class ShownChange(msgspec.Struct, frozen=True):
    """One changed field, or a number of devices with those of them that the event names."""

    change: FieldChange
    devices: Sequence[FieldChange] = ()

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

    @property
    def is_end(self) -> bool:
        """Whether it tells how near the end of a certificate is: a date, and words."""
        return self.change.field == ENDS

    @property
    def number(self) -> int | None:
        """Of how many devices it tells, None where it does not."""
        is_number = self.change.field in NUMBERS and self.change.new.isdecimal()
        return int(self.change.new) if is_number else None

    @property
    def sentence(self) -> str:
        """All of it but the names, where it reads as a sentence; empty where it is a value before and one now."""
        text = told(self.change) if self.is_end or self.number is not None else ""
        return text[:1].upper() + text[1:]


def shown_changes(changes: Iterable[FieldChange]) -> list[ShownChange]:
    """Changes, those that matter most first. Devices go with their number."""
    ordered = most_severe_first(changes)
    fields = {change.field for change in ordered}
    named: dict[str, list[FieldChange]] = {}
    for change in ordered:
        named.setdefault(NUMBER_OF.get(change.field, ""), []).append(change)
    return [ShownChange(each, named.get(each.field, ())) for each in ordered if NUMBER_OF.get(each.field) not in fields]


def severity_tone(severity: str) -> str:
    """The tone of a severity; one that a later release added has none."""
    return SEVERITY_TONES.get(EventSeverity(severity), "none") if severity in list(EventSeverity) else "none"
