"""How a message puts its events together: each certificate once, else by cause or by watch, the worst first. Pure.

The same change of a certificate comes to the watch of its manufacturer by a sweep, and to those of the devices that
show it by their rechecks. What several watches report of one certificate is one group; what else their events report
stays with the watch.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from registerwatch.notifications.channels.event_lines import MailedEvent
from registerwatch.register.identifiers import kind
from registerwatch.watches.change_words import ChangeRow
from registerwatch.watches.models import EventSeverity

_RANKS = {str(severity): rank for rank, severity in enumerate(EventSeverity)}


class EventPart(msgspec.Struct, frozen=True):
    """What one group shows of an event: all of its rows, or some. `more` rows are left out."""

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
        """Its rows, each once."""
        return list(dict.fromkeys(row for part in self.parts for row in part.rows))

    @property
    def changes(self) -> int:
        """How many changes it is about. What several watches report of one cause counts once."""
        if self.is_of_watch or self.certificate:
            return sum(part.changes for part in self.parts)
        return len(self.distinct_rows) + sum(part.more for part in self.parts) or 1


_Reported = tuple[MailedEvent, ChangeRow]


def groups_of(events: Sequence[MailedEvent]) -> Sequence[NewsGroup]:
    """The groups of a message, the worst first. A new version of a record of which nothing else is known comes after
    all that is alike.
    """
    of_certificates = [_of_certificate(*each) for each in _reported_by_several(events).items()]
    taken = {(event.id, row) for _, pairs in of_certificates for event, row in pairs}
    groups = [*(group for group, _ in of_certificates), *_of_causes_and_watches(events, taken)]
    return sorted(groups, key=lambda group: _worst_first(group.parts[0]))


def _rank(severity: str) -> int:
    """0 for the worst; one of a later release counts as the worst, so that it is not overlooked."""
    return _RANKS.get(severity, 0)


def _reported_by_several(events: Iterable[MailedEvent]) -> Mapping[tuple[str, str], Sequence[Sequence[_Reported]]]:
    """By number and manufacturer of a certificate: its changes that several watches report, each with the events that
    do, the earliest first.
    """
    found: dict[tuple[str, str], list[Sequence[_Reported]]] = {}
    for certificate, reported in _by_certificate(events).items():
        srns = {event.id: _manufacturer_of(event) for event, _ in reported}
        known = set(srns.values()) - {""}
        only = min(known) if len(known) == 1 else ""  # notified bodies number alike: of two it is not clear which
        same: dict[tuple[str, object], list[_Reported]] = {}
        for event, row in reported:
            same.setdefault((srns[event.id] or only, (row.field, row.before, row.after)), []).append((event, row))
        for (srn, _), reports in same.items():
            if several := _by_occurrence(reports):
                found.setdefault((certificate, srn), []).extend(several)
    return found


def _by_certificate(events: Iterable[MailedEvent]) -> Mapping[str, Sequence[_Reported]]:
    found: dict[str, list[_Reported]] = {}
    for event in events:
        for row in event.changes:
            if row.certificate:
                found.setdefault(row.certificate, []).append((event, row))
    return found


def _by_occurrence(same: Iterable[_Reported]) -> Sequence[Sequence[_Reported]]:
    """Reports of the same change, where several watches have one, apart by how often it happened: a certificate can be
    suspended, reinstated and suspended again within a week.
    """
    occurrences: Counter[int] = Counter()
    found: dict[int, list[_Reported]] = {}
    for event, row in sorted(same, key=lambda each: (each[0].created_at, each[0].id)):
        found.setdefault(occurrences[event.watch_id], []).append((event, row))
        occurrences[event.watch_id] += 1
    return [each for each in found.values() if len(each) > 1]


def _of_certificate(
    of: tuple[str, str], changes: Sequence[Sequence[_Reported]]
) -> tuple[NewsGroup, Sequence[_Reported]]:
    """The group of a certificate, with every change once, at the time at which it was seen first; and what it takes."""
    rows: dict[int, list[ChangeRow]] = {}
    for (event, row), *_ in changes:
        rows.setdefault(event.id, []).append(row)
    first = {event.id: event for (event, _), *_ in changes}
    parts = sorted((EventPart(first[event_id], shown) for event_id, shown in rows.items()), key=_worst_first)
    taken = [pair for of_change in changes for pair in of_change]
    watches = {event.watch_id: event.label for event, _ in taken}
    certificate, manufacturer_srn = of
    return NewsGroup(parts, watches, manufacturer_srn, certificate), taken


def _of_causes_and_watches(events: Iterable[MailedEvent], taken: set[tuple[int, ChangeRow]]) -> Iterable[NewsGroup]:
    """What events report beside what groups of certificates have `taken` of them."""
    found: dict[object, list[EventPart]] = {}
    for event in events:
        rows = [row for row in event.changes if (event.id, row) not in taken] if taken else event.changes
        if rows or event.more or not event.changes:
            part = EventPart(event, rows, event.more)
            found.setdefault(event.cause or (event.watch_id, event.subject), []).append(part)
    for parts in found.values():
        ordered = sorted(parts, key=_worst_first)  # sorting 50,000 at once stops all threads
        watches = {part.event.watch_id: part.event.label for part in ordered}
        yield NewsGroup(ordered, watches, _srn_of_cause(ordered[0].event))


def _worst_first(part: EventPart) -> tuple[int, bool, int, int]:
    event = part.event
    return _rank(part.severity), event.is_version_alone, -event.created_at, -event.id


def _manufacturer_of(event: MailedEvent) -> str:
    return _srn_of_cause(event) or (event.subject if kind(event.subject) == "srn" else "")


def _srn_of_cause(event: MailedEvent) -> str:
    return (event.cause or "").partition("/")[2]
