"""Reports of ends of certificates that a message leaves out, since it has a newer one, or the end was moved. Pure.

An end is reported several times, and a message counts its days from one day: reports that waited together would read
alike. One that waited beside the change of the same end would contradict it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from registerwatch.notifications.channels.event_lines import MailedEvent
from registerwatch.watches.diff import EXPIRY, NUMBER
from registerwatch.watches.events.change_words import ChangeRow

RowKey = tuple[int, int]
"""Identifies a row in a message: the id of its event, and its position there."""
MovedEnds = Mapping[str, Mapping[str, str]]
"""The new ends of one certificate, by the end before and the revision."""


class ReportedRow(msgspec.Struct, frozen=True):
    """A row of an event, by its position: two certificates with one number have equal rows in one event."""

    event: MailedEvent
    position: int

    @property
    def row(self) -> ChangeRow:
        """The change."""
        return self.event.changes[self.position]

    @property
    def key(self) -> RowKey:
        """Identifies it."""
        return self.event.id, self.position

    @property
    def time(self) -> tuple[int, int]:
        """The sort key of reports by time."""
        return self.event.created_at, self.event.id


def superseded_ends(events: Iterable[MailedEvent]) -> set[RowKey]:
    """The rows to leave out.

    A certificate is known by manufacturer and number, as groups of certificates are, also by the number before; where
    one of them is not known, its watch stands for the manufacturer.
    """
    of_certificates: defaultdict[tuple[str | int, str], list[ReportedRow]] = defaultdict(list)
    for event in events:
        before = {row.certificate: row.before for row in event.changes if row.field == NUMBER and row.before}
        for position, row in enumerate(event.changes):
            if row.is_end or row.field == EXPIRY:
                manufacturer = event.manufacturer_srn if row.certificate else ""
                for number in {row.certificate, before.get(row.certificate, row.certificate)}:
                    of_certificates[manufacturer or event.watch_id, number].append(ReportedRow(event, position))
    ordered = (sorted(reports, key=lambda each: each.time) for reports in of_certificates.values())
    return {key for reports in ordered for key in _superseded(reports)}


def _superseded(ordered: Sequence[ReportedRow]) -> Iterator[RowKey]:
    """The rows to leave out of those of one certificate, the earliest first. Of what a watch reports of an end, the
    newest stays, as often as one event has it.
    """
    moved = _moved_ends(ordered)
    occurrences: Counter[tuple[object, ...]] = Counter()
    shown: Counter[tuple[object, ...]] = Counter()
    for each in reversed(ordered):
        if each.row.is_end:
            end = each.event.watch_id, each.row.revision, each.row.after
            occurrences[each.event.id, end] += 1
            if occurrences[each.event.id, end] <= shown[end] or _is_moved(each.row, moved):
                yield each.key
            else:
                shown[end] = occurrences[each.event.id, end]


def _moved_ends(ordered: Iterable[ReportedRow]) -> MovedEnds:
    """The ends that another date has replaced, without those that are back, whichever watch reports it."""
    moved: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for each in ordered:
        if each.row.field == EXPIRY:
            moved[each.row.before or ""][each.row.revision] = each.row.after
            moved[each.row.after].pop(each.row.revision, None)
    return moved


def _is_moved(row: ChangeRow, moved: MovedEnds) -> bool:
    """Whether the end of a row was moved: that of its revision, or that of another one, which goes on for longer."""
    return any(
        after > row.after or revision == row.revision or not (revision and row.revision)
        for revision, after in moved.get(row.after, {}).items()
    )
