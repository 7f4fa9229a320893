"""How a message puts its events together: each certificate once, else by cause or by watch, the worst first. Pure.

The same change of a certificate comes to the watch of its manufacturer by a sweep, and to those of the devices that
show it by their rechecks. What several watches report of one certificate is one group; what else their events report
stays with the watch.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from registerwatch.notifications.channels.event_lines import MailedEvent
from registerwatch.watches.events.change_words import ChangeRow
from registerwatch.watches.models import EventSeverity

_RANKS = {str(severity): rank for rank, severity in enumerate(EventSeverity)}


class EventPart(msgspec.Struct, frozen=True):
    """What one group has of an event: all of its rows, or some. `more` rows of the event were not stored."""

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
        """How many changes it is about; an event that names none is one all the same."""
        return len(self.rows) + self.more or 1


class NewsGroup(msgspec.Struct, frozen=True):
    """Events of one block of a message, the worst first, of several alike the newest."""

    parts: Sequence[EventPart]
    watches: Mapping[int, str]
    """The watches that report it, by id, with their labels."""
    manufacturer_srn: str = ""
    """Of a certificate or a cause, empty where it is not known."""
    certificate: str = ""
    """The number of the certificate that it is about, where several watches report the same of it."""

    @property
    def is_of_watch(self) -> bool:
        """Whether it is what one watch reports."""
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
        """How many changes of one event at least were not stored, of events that report the same."""
        return max(part.more for part in self.parts)

    @property
    def changes(self) -> int:
        """How many changes it is about. What several watches report of one cause counts once."""
        if self.is_of_watch or self.certificate:
            return sum(part.changes for part in self.parts)
        return len(self.distinct_rows) + self.more or 1


class _Reported(msgspec.Struct, frozen=True):
    """A row of an event, by its position: two certificates with one number have equal rows in one event."""

    event: MailedEvent
    position: int

    @property
    def row(self) -> ChangeRow:
        """What changed."""
        return self.event.changes[self.position]


def groups_of(events: Sequence[MailedEvent]) -> Sequence[NewsGroup]:
    """The groups of a message, the worst first."""
    of_certificates = [_of_certificate(*each) for each in _reported_by_several(events).items()]
    taken = {(each.event.id, each.position) for _, reports in of_certificates for each in reports}
    groups = [*(group for group, _ in of_certificates), *_of_causes_and_watches(events, taken)]
    return sorted(groups, key=lambda group: _worst_first(group.parts[0]))


def _rank(severity: str) -> int:
    """0 for the worst; one of a later release counts as the worst, so that it is not overlooked."""
    return _RANKS.get(severity, 0)


_Certificate = tuple[str, str, frozenset[int]]
"""The number of a certificate, its manufacturer, and the watches that report the same of it."""


def _reported_by_several(events: Iterable[MailedEvent]) -> Mapping[_Certificate, Sequence[Sequence[_Reported]]]:
    """By certificate and watches: the changes that just these watches report, each with the reports of it, the earliest
    first. Devices can have one certificate differently, so a change is never said of a watch that does not report it.
    Notified bodies number alike, so events whose manufacturer is not known are left out.
    """
    same: dict[tuple[str, str, object], list[_Reported]] = {}
    for event in events:
        for position, row in enumerate(event.changes if event.manufacturer_srn else ()):
            if row.certificate:
                change = row.certificate, event.manufacturer_srn, (row.field, row.before, row.after, row.standing)
                same.setdefault(change, []).append(_Reported(event, position))
    found: dict[_Certificate, list[Sequence[_Reported]]] = {}
    for (certificate, srn, _), reports in same.items():
        for several in _by_occurrence(reports):
            watches = frozenset(each.event.watch_id for each in several)
            found.setdefault((certificate, srn, watches), []).append(several)
    return found


def _by_occurrence(same: Iterable[_Reported]) -> Sequence[Sequence[_Reported]]:
    """Reports of the same change, where several watches have one, apart by how often it happened: a certificate can be
    suspended, reinstated and suspended again within a week.
    """
    occurrences: Counter[int] = Counter()
    found: dict[int, list[_Reported]] = {}
    for each in sorted(same, key=lambda each: (each.event.created_at, each.event.id)):
        found.setdefault(occurrences[each.event.watch_id], []).append(each)
        occurrences[each.event.watch_id] += 1
    return [reports for reports in found.values() if len(reports) > 1]


def _of_certificate(of: _Certificate, changes: Sequence[Sequence[_Reported]]) -> tuple[NewsGroup, Sequence[_Reported]]:
    """The group of a certificate, with every change once, at the time at which it was seen first; and what it takes."""
    rows: dict[int, list[ChangeRow]] = {}
    for first, *_ in changes:
        rows.setdefault(first.event.id, []).append(first.row)
    events = {first.event.id: first.event for first, *_ in changes}
    parts = sorted((EventPart(events[event_id], shown) for event_id, shown in rows.items()), key=_worst_first)
    taken = [each for reports in changes for each in reports]
    watches = {each.event.watch_id: each.event.label for each in taken}
    certificate, manufacturer_srn, _ = of
    return NewsGroup(parts, watches, manufacturer_srn, certificate), taken


def _of_causes_and_watches(events: Iterable[MailedEvent], taken: set[tuple[int, int]]) -> Iterable[NewsGroup]:
    """What events report beside what groups of certificates have `taken` of them."""
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


def _worst_first(part: EventPart) -> tuple[int, int, int]:
    return _rank(part.severity), -part.event.created_at, -part.event.id


def _srn_of_cause(event: MailedEvent) -> str:
    return (event.cause or "").partition("/")[2]
