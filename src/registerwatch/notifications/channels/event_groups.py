"""Groups the events of a message: each certificate once, else by cause or by watch, the worst first. Pure.

The same change of a certificate comes to the watch of its manufacturer by a sweep, and to those of the devices with the
certificate by their rechecks. Reports of several watches about one certificate are one group; the rest of their events
stays with the watch. Reports of ends that newer rows supersede are left out.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from registerwatch.notifications.channels.event_lines import MailedEvent
from registerwatch.notifications.channels.superseded_ends import ReportedRow, RowKey, superseded_ends
from registerwatch.watches.events.change_words import ChangeRow
from registerwatch.watches.models import EventSeverity

_RANKS = {str(severity): rank for rank, severity in enumerate(EventSeverity)}


class EventPart(msgspec.Struct, frozen=True):
    """One group's part of an event: all of its rows, or some. `more` rows of the event were not stored."""

    event: MailedEvent
    rows: Sequence[ChangeRow]
    more: int = 0

    @property
    def severity(self) -> str:
        """The event's; where other groups have a part of its rows, that of the worst row that is left."""
        if len(self.rows) == len(self.event.changes):
            return self.event.severity
        left = self.rows or self.event.changes[-1:]
        return min((row.severity or self.event.severity for row in left), key=_rank)

    @property
    def changes(self) -> int:
        """Number of changes; an event without rows counts as one."""
        return len(self.rows) + self.more or 1


class NewsGroup(msgspec.Struct, frozen=True):
    """Events of one block of a message, the worst first, of equal ones the newest."""

    parts: Sequence[EventPart]
    watches: Mapping[int, str]
    """The watches that report it, by id, with their labels."""
    manufacturer_srn: str = ""
    """A certificate's or a cause's; empty where it is not known."""
    certificate: str = ""
    """The number of its certificate, where several watches report the same of it."""

    @property
    def is_of_watch(self) -> bool:
        """Whether one watch alone reports it."""
        return len(self.watches) == 1

    @property
    def distinct_rows(self) -> Sequence[ChangeRow]:
        """Its rows, each as often as one event reports it."""
        most: dict[ChangeRow, int] = {}
        for part in self.parts:
            for row, number in Counter(part.rows).items():
                most[row] = max(number, most.get(row, 0))
        return [row for row, number in most.items() for _ in range(number)]

    @property
    def more(self) -> int:
        """Lower bound of the unstored changes, of events that report the same."""
        return max(part.more for part in self.parts)

    @property
    def changes(self) -> int:
        """Number of changes. Reports of several watches of one cause count once."""
        if self.is_of_watch or self.certificate:
            return sum(part.changes for part in self.parts)
        return len(self.distinct_rows) + self.more or 1


def groups_of(events: Sequence[MailedEvent]) -> Sequence[NewsGroup]:
    """The groups of a message, the worst first."""
    left_out = superseded_ends(events)
    of_certificates = [_of_certificate(*each) for each in _reported_by_several(events, left_out).items()]
    taken = {each.key for _, reports in of_certificates for each in reports}
    groups = [*(group for group, _ in of_certificates), *_of_causes_and_watches(events, taken | left_out)]
    return sorted(groups, key=lambda group: _worst_first(group.parts[0]))


def _rank(severity: str) -> int:
    """0 for the worst; later releases' severities count as the worst, so that none is overlooked."""
    return _RANKS.get(severity, 0)


_Certificate = tuple[str, str, frozenset[int]]
"""The number of a certificate, its manufacturer, and the watches that report the same of it."""


def _reported_by_several(
    events: Iterable[MailedEvent], left_out: Collection[RowKey]
) -> Mapping[_Certificate, Sequence[Sequence[ReportedRow]]]:
    """Changes that just these watches report, by certificate and watches, each with its reports, the earliest first;
    without rows that are `left_out`.
    Devices can have one certificate differently, so a change is never shown for a watch that does not report it.
    Notified bodies can share a number, so events whose manufacturer is not known are left out.
    """
    same: dict[tuple[str, str, object], list[ReportedRow]] = {}
    for event in events:
        for position, row in enumerate(event.changes if event.manufacturer_srn else ()):
            if row.certificate and (event.id, position) not in left_out:
                change = row.certificate, event.manufacturer_srn, (row.field, row.before, row.after, row.standing)
                same.setdefault(change, []).append(ReportedRow(event, position))
    found: dict[_Certificate, list[Sequence[ReportedRow]]] = {}
    for (certificate, srn, _), reports in same.items():
        for several in _by_occurrence(reports):
            watches = frozenset(each.event.watch_id for each in several)
            found.setdefault((certificate, srn, watches), []).append(several)
    return found


def _by_occurrence(same: Iterable[ReportedRow]) -> Sequence[Sequence[ReportedRow]]:
    """Reports of the same change by several watches, separated by occurrence: a certificate can be suspended,
    reinstated and suspended again within a week.
    """
    occurrences: Counter[int] = Counter()
    found: dict[int, list[ReportedRow]] = {}
    for each in sorted(same, key=lambda each: each.time):
        found.setdefault(occurrences[each.event.watch_id], []).append(each)
        occurrences[each.event.watch_id] += 1
    return [reports for reports in found.values() if len(reports) > 1]


def _of_certificate(
    of: _Certificate, changes: Sequence[Sequence[ReportedRow]]
) -> tuple[NewsGroup, Sequence[ReportedRow]]:
    """The group of a certificate, with every change once, at the time of its first report, of those of an end the most
    severe; and the reports in it.
    """
    rows: dict[int, list[ChangeRow]] = {}
    firsts = [min(reports, key=_rank_of_report) for reports in changes]
    for first in firsts:
        rows.setdefault(first.event.id, []).append(first.row)
    events = {first.event.id: first.event for first in firsts}
    parts = sorted((EventPart(events[event_id], shown) for event_id, shown in rows.items()), key=_worst_first)
    taken = [each for reports in changes for each in reports]
    watches = {each.event.watch_id: each.event.label for each in taken}
    certificate, manufacturer_srn, _ = of
    return NewsGroup(parts, watches, manufacturer_srn, certificate), taken


def _of_causes_and_watches(events: Iterable[MailedEvent], taken: Collection[RowKey]) -> Iterable[NewsGroup]:
    """Groups of the rest of events, without rows `taken` by groups of certificates or left out."""
    found: dict[object, list[EventPart]] = {}
    for event in events:
        rows = [row for position, row in enumerate(event.changes) if (event.id, position) not in taken]
        if rows or event.more or not event.changes:
            part = EventPart(event, rows, event.more)
            found.setdefault(event.cause or (event.watch_id, event.subject), []).append(part)
    for parts in found.values():
        ordered = sorted(parts, key=_worst_first)  # sorting 50,000 at once stops all threads
        watches = {part.event.watch_id: part.event.label for part in ordered}
        yield NewsGroup(ordered, watches, _srn_of_cause(ordered[0].event))


def _rank_of_report(each: ReportedRow) -> int:
    return _rank(each.row.severity or each.event.severity)


def _worst_first(part: EventPart) -> tuple[int, int, int]:
    return _rank(part.severity), -part.event.created_at, -part.event.id


def _srn_of_cause(event: MailedEvent) -> str:
    return (event.cause or "").partition("/")[2]
