"""The content of a mail about events: the worst first, by certificate, cause or watch, bounded. Pure."""

from collections.abc import Sequence
from datetime import date, datetime
from urllib.parse import quote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from registerwatch.mail.clean_text import clean, unlinked
from registerwatch.mail.news import NewsBlock, NewsMail, NewsPart, NewsRow, severity_word
from registerwatch.notifications.channels.event_groups import EventPart, NewsGroup, groups_of
from registerwatch.notifications.channels.event_lines import MAX_BRIEF_LENGTH, MAX_DEVICES, MailedEvent
from registerwatch.notifications.choices import Choice, Frequency
from registerwatch.platform.clock import day_in_words, day_of, zone_in_words
from registerwatch.platform.structs import replace
from registerwatch.register.identifiers import kind
from registerwatch.watches.models import EventSeverity

MAX_BLOCKS = 50
MAX_ROWS = 15
"""Changes of one time that a mail shows."""
MAX_PARTS = 5
"""Times with changes of one watch that a mail shows."""
MAX_LABEL_IN_SUBJECT = 60
MAX_NAMED = 5
"""Watches of one cause or one certificate that a mail names."""

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class _Reader(msgspec.Struct, frozen=True):
    """The reader's time zone, and the day there on which the message is put together: days are counted from it."""

    zone: ZoneInfo
    today: date


class MailAddresses(msgspec.Struct, frozen=True):
    """The addresses of links in a mail."""

    public_url: str
    unsubscribe: str

    def page(self, path: str) -> str:
        """A page of the service."""
        return f"{self.public_url}{path}"

    def record(self, subject: str) -> str:
        """The page of a device or an actor."""
        return self.page(f"/{'a' if kind(subject) == 'srn' else 'd'}/{quote(subject, safe='')}")

    def certificates(self, number: str) -> str:
        """The account's certificates with this number."""
        return self.page(f"/app/certificates?q={quote(number, safe='')}")


def news_of(
    events: Sequence[MailedEvent],
    choice: Choice,
    zone_name: str,
    addresses: MailAddresses,
    now: float,
    note: str = "",
) -> NewsMail:
    """The mail about events, put together `now` (unix seconds); a test where there are none."""
    zone = _zone(zone_name)
    reader = _Reader(zone, day_of(now, zone))
    groups = groups_of(events)
    changes = [group.changes for group in groups]
    blocks = [_block(group, reader, addresses) for group in groups[:MAX_BLOCKS]]
    return NewsMail(
        subject=_subject(groups, sum(changes), reader) if groups else "A test of your mails",
        blocks=blocks,
        choice=_in_words(choice, zone.key),
        times=f"Times are those of {zone_in_words(zone.key)}.",
        service=addresses.public_url,
        events_url=addresses.page("/app/events"),
        choices_url=addresses.page("/app/notifications"),
        unsubscribe_url=addresses.unsubscribe,
        left_out=sum(changes[MAX_BLOCKS:]),
        note=note,
    )


def only_watch(events: Sequence[MailedEvent]) -> int | None:
    """The watch of all events; None where there are several, or no events."""
    watches = {event.watch_id for event in events}
    return watches.pop() if len(watches) == 1 else None


def _subject(groups: Sequence[NewsGroup], number: int, reader: _Reader) -> str:
    """`High: certificate Z-25-052 suspended, 3 changes of 2 watches`."""
    worst = groups[0].parts[0]
    watches = {watch_id for group in groups for watch_id in group.watches}
    begin = f"{severity_word(worst.severity)}: {_brief(worst, reader)}"
    whose = f"{len(watches):,} watches" if len(watches) > 1 else clean(worst.event.label, MAX_LABEL_IN_SUBJECT)
    return unlinked(f"{begin} ({whose})" if number == 1 else f"{begin}, {number:,} changes of {whose}")


def _brief(part: EventPart, reader: _Reader) -> str:
    """The worst change."""
    return clean(part.rows[0].brief(reader.today), MAX_BRIEF_LENGTH) if part.rows else part.event.brief


def _block(group: NewsGroup, reader: _Reader, addresses: MailAddresses) -> NewsBlock:
    if group.certificate:
        return _block_of_certificate(group, reader, addresses)
    return _block_of_watch(group, reader, addresses) if group.is_of_watch else _block_of_cause(group, reader, addresses)


def _block_of_watch(group: NewsGroup, reader: _Reader, addresses: MailAddresses) -> NewsBlock:
    event = group.parts[0].event
    return NewsBlock(
        title=event.label,
        identity=_identity(event.subject),
        severity=group.parts[0].severity,
        parts=_parts(group, reader),
        watch_url=addresses.page(f"/app/watches/{event.watch_id}"),
        record_url=addresses.record(event.subject),
        changes=group.changes,
    )


def _block_of_certificate(group: NewsGroup, reader: _Reader, addresses: MailAddresses) -> NewsBlock:
    """The block of a certificate of several watches."""
    return NewsBlock(
        title=f"Certificate {group.certificate}",
        identity=_identity(group.manufacturer_srn) if group.manufacturer_srn else "",
        severity=group.parts[0].severity,
        parts=_parts(group, reader),
        watch_url="",
        record_url=addresses.certificates(group.certificate),
        about=f"{len(group.watches):,} watches: {_named(group)}",
        changes=group.changes,
        record_title="Certificate",
    )


def _block_of_cause(group: NewsGroup, reader: _Reader, addresses: MailAddresses) -> NewsBlock:
    """The block of many watches' reports after a change of their manufacturer."""
    worst, srn = group.parts[0], group.manufacturer_srn
    part = _part(replace(worst, rows=group.distinct_rows, more=group.more), reader)
    return NewsBlock(
        title=f"{len(group.watches):,} watches of the manufacturer {srn}",
        identity=_identity(srn),
        severity=worst.severity,
        parts=[part],
        watch_url="",
        record_url=addresses.record(srn),
        about=_named(group),
        changes=group.changes,
    )


def _parts(group: NewsGroup, reader: _Reader) -> Sequence[NewsPart]:
    """Parts by time of the read. Left-out changes count to the last that is shown."""
    shown = group.parts[:MAX_PARTS]
    parts = [_part(each, reader) for each in shown]
    left_out = sum(each.changes for each in group.parts[MAX_PARTS:])
    return [*parts[:-1], replace(parts[-1], more=parts[-1].more + left_out)]


def _part(part: EventPart, reader: _Reader) -> NewsPart:
    rows = _rows(replace(part, rows=part.rows[:MAX_ROWS]), reader)
    return NewsPart(_seen(part.event.created_at, reader.zone), rows, part.more + len(part.rows) - len(rows))


def _rows(part: EventPart, reader: _Reader) -> list[NewsRow]:
    today = reader.today
    return [
        NewsRow(row.heading, row.before_text, row.after_text(today, MAX_DEVICES), row.line(today, MAX_DEVICES))
        for row in part.rows
    ]


def _named(group: NewsGroup) -> str:
    """`Ceramill Zolid, Savina 300 and 7 more`, the watches of a group."""
    named = list(group.watches.values())[:MAX_NAMED]
    more = len(group.watches) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def _identity(subject: str) -> str:
    return f"{'SRN' if kind(subject) == 'srn' else 'UDI-DI'} {subject}"


def _seen(at: int, zone: ZoneInfo) -> str:
    local = datetime.fromtimestamp(at, zone)
    return f"{day_in_words(local)}, {local:%H:%M}"


def _in_words(choice: Choice, zone: str) -> str:
    """The reader's choice, which explains why a mail came when it did."""
    hour = f"{choice.hour:02}:00 ({zone_in_words(zone)})"
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
