"""What a mail says of its events: the worst first, those of one watch or one cause together, bounded. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from urllib.parse import quote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from registerwatch.clock import day_in_words
from registerwatch.mail.clean_text import clean, unlinked
from registerwatch.mail.news import NewsBlock, NewsMail, NewsPart, NewsRow, severity_word
from registerwatch.notifications.channels.event_lines import MAX_ROWS, MailedEvent
from registerwatch.notifications.choices import Choice, Frequency
from registerwatch.register.identifiers import kind
from registerwatch.watches.models import EventSeverity

MAX_BLOCKS = 50
MAX_PARTS = 5
"""Times at which one watch has something to tell that a mail shows."""
MAX_LABEL_IN_SUBJECT = 60
MAX_NAMED = 5
"""Watches of one cause that a mail names."""

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_RANKS = {str(severity): rank for rank, severity in enumerate(EventSeverity)}


class MailAddresses(msgspec.Struct, frozen=True):
    """Where the links of a mail lead."""

    public_url: str
    unsubscribe: str

    def page(self, path: str) -> str:
        """A page of the service."""
        return f"{self.public_url}{path}"

    def record(self, subject: str) -> str:
        """The page of a device or an actor."""
        return self.page(f"/{'a' if kind(subject) == 'srn' else 'd'}/{quote(subject, safe='')}")


def news_of(
    events: Sequence[MailedEvent], choice: Choice, zone_name: str, addresses: MailAddresses, note: str = ""
) -> NewsMail:
    """The mail that tells events; a test where there are none."""
    zone = _zone(zone_name)
    groups = _groups(events)
    changes = [_changes(group) for group in groups]
    blocks = [_block(group, zone, addresses) for group in groups[:MAX_BLOCKS]]
    return NewsMail(
        subject=_subject(groups, sum(changes)) if groups else "A test of your mails",
        blocks=blocks,
        choice=_in_words(choice, zone.key),
        times=f"Times are those of {zone.key}.",
        service=addresses.public_url,
        events_url=addresses.page("/app/events"),
        choices_url=addresses.page("/app/notifications"),
        unsubscribe_url=addresses.unsubscribe,
        left_out=sum(changes[MAX_BLOCKS:]),
        note=note,
    )


def only_watch(events: Sequence[MailedEvent]) -> int | None:
    """The watch that all events are of; None where there are several, or no events."""
    watches = {event.watch_id for event in events}
    return watches.pop() if len(watches) == 1 else None


def _groups(events: Iterable[MailedEvent]) -> list[list[MailedEvent]]:
    """Events of one cause together, others by their watch; worst first, of several alike the newest. A new version of a
    record of which nothing else is known comes after all that is alike.
    """
    found: dict[object, list[MailedEvent]] = {}
    for event in events:
        found.setdefault(event.cause or (event.watch_id, event.subject), []).append(event)
    groups = [sorted(group, key=_worst_first) for group in found.values()]  # sorting 50,000 at once stops all threads
    return sorted(groups, key=lambda group: _worst_first(group[0]))


def _worst_first(event: MailedEvent) -> tuple[int, bool, int, int]:
    return rank(event.severity), event.is_version_alone, -event.created_at, -event.id


def rank(severity: str) -> int:
    """0 for the worst; one of a later release counts as the worst, so that it is not overlooked."""
    return _RANKS.get(severity, 0)


def _subject(groups: Sequence[Sequence[MailedEvent]], number: int) -> str:
    """`High: certificate suspended, 3 changes of 2 watches`."""
    worst = groups[0][0]
    watches = {event.watch_id for group in groups for event in group}
    begin = f"{severity_word(worst.severity)}: {worst.brief}"
    label = clean(worst.label, MAX_LABEL_IN_SUBJECT)
    if number == 1:
        return unlinked(f"{begin} ({label})")
    of = f"of {len(watches):,} watches" if len(watches) > 1 else f"of {label}"
    return unlinked(f"{begin}, {number:,} changes {of}")


def _block(events: Sequence[MailedEvent], zone: ZoneInfo, addresses: MailAddresses) -> NewsBlock:
    if len({event.watch_id for event in events}) > 1:
        return _block_of_cause(events, zone, addresses)
    worst = events[0]
    parts = [NewsPart(_seen(each.created_at, zone), _rows(each), each.more) for each in events[:MAX_PARTS]]
    if len(events) > MAX_PARTS:
        left_out = _changes(events[MAX_PARTS:])
        parts[-1] = NewsPart(parts[-1].seen, parts[-1].rows, parts[-1].more + left_out)
    return NewsBlock(
        title=worst.label,
        identity=_identity(worst.subject),
        severity=worst.severity,
        parts=parts,
        watch_url=addresses.page(f"/app/watches/{worst.watch_id}"),
        record_url=addresses.record(worst.subject),
        changes=_changes(events),
    )


def _block_of_cause(events: Sequence[MailedEvent], zone: ZoneInfo, addresses: MailAddresses) -> NewsBlock:
    """What many watches tell since something of their manufacturer changed."""
    worst, srn = events[0], (events[0].cause or "").partition("/")[2]
    watches = list(dict.fromkeys(event.watch_id for event in events))
    named = list({event.watch_id: event.label for event in events}.values())[:MAX_NAMED]
    more = f" and {len(watches) - len(named):,} more" if len(watches) > len(named) else ""
    rows = list(dict.fromkeys(change for event in events for change in _rows(event)))
    return NewsBlock(
        title=f"{len(watches):,} watches of the manufacturer {srn}",
        identity=_identity(srn),
        severity=worst.severity,
        parts=[NewsPart(_seen(worst.created_at, zone), rows[:MAX_ROWS], max(0, len(rows) - MAX_ROWS))],
        watch_url="",
        record_url=addresses.record(srn),
        about=", ".join(named) + more,
        changes=_changes(events),
    )


def _rows(event: MailedEvent) -> list[NewsRow]:
    return [NewsRow(each.field, each.before, each.after) for each in event.changes]


def _changes(events: Sequence[MailedEvent]) -> int:
    """How many changes events tell; one that tells none is one all the same."""
    return sum(len(event.changes) + event.more or 1 for event in events)


def _identity(subject: str) -> str:
    return f"{'SRN' if kind(subject) == 'srn' else 'UDI-DI'} {subject}"


def _seen(at: int, zone: ZoneInfo) -> str:
    local = datetime.fromtimestamp(at, zone)
    return f"{day_in_words(local)}, {local:%H:%M}"


def _in_words(choice: Choice, zone: str) -> str:
    """What its reader gets, so that nobody wonders why a mail came when it did."""
    hour = f"{choice.hour:02}:00 ({zone})"
    often = {
        Frequency.DAILY: f"once a day at {hour}",
        Frequency.WEEKLY: f"every {WEEKDAYS[choice.weekday % 7]} at {hour}",
    }.get(choice.frequency, "at once")
    high = ", those of high severity at once" if choice.high_at_once and often != "at once" else ""
    severities = {
        EventSeverity.HIGH: "changes of high severity",
        EventSeverity.MEDIUM: "changes of medium and high severity",
    }
    what = severities.get(choice.severity, "all changes")
    of = " of some of the watches" if choice.tags or choice.watches else ""
    return f"You have chosen to get {what}{of} {often}{high}."


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")
