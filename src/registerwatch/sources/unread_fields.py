"""Counts of fields that could not be read, by kind of record and field. The first value of each is logged."""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec
import structlog

from registerwatch.sources.wire import UnreadField

log = structlog.get_logger(__name__)


class FieldOf(msgspec.Struct, frozen=True, order=True):
    """A field of a kind of record, such as `riskClass.code` of `device row`."""

    record: str
    field: str


class UnreadCount(msgspec.Struct, frozen=True):
    """The number of records in which a field could not be read, and its first value."""

    records: int
    example: str


UnreadCounts = Mapping[FieldOf, UnreadCount]


class UnreadFields:
    """The counts of one process."""

    def __init__(self) -> None:
        self.counts: Counter[FieldOf] = Counter()
        self.examples: dict[FieldOf, str] = {}
        self._taken: Counter[FieldOf] = Counter()

    def note(self, record: str, unread: Iterable[UnreadField]) -> None:
        """Count unread fields in records of a kind, as `wire.RecordReader` finds them."""
        for each in unread:
            field = FieldOf(record, each.path)
            if field not in self.examples:
                self.examples[field] = each.example
                log.warning("a field cannot be read", record=record, field=each.path, first=each.example)
            self.counts[field] += 1

    def since(self, before: Counter[FieldOf]) -> UnreadCounts:
        """The counts since a copy of `counts` was taken, the most frequent field first."""
        return {
            field: UnreadCount(number, self.examples[field]) for field, number in (self.counts - before).most_common()
        }

    @property
    def has_news(self) -> bool:
        """Whether anything was counted since `take` was last called."""
        return bool(self.counts - self._taken)

    def take(self) -> UnreadCounts:
        """The counts since the last call, less those that were given back."""
        taken = self.since(self._taken)
        self._taken = self.counts.copy()
        return taken

    def give_back(self, taken: UnreadCounts) -> None:
        """Count again what was taken and could not be stored."""
        self._taken.subtract({field: count.records for field, count in taken.items()})
