"""Certificates that end soon as an iCalendar (RFC 5545): an all-day event on the day of each."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from urllib.parse import quote, urlsplit

from icalendar import Alarm, Calendar, Event

from registerwatch.accounts.ended_period import HEADLINE, EndedPeriod
from registerwatch.errors import InvalidInput
from registerwatch.notifications.feeds.models import CalendarContent
from registerwatch.platform.clock import date_in_words, day_of, utc_in_words
from registerwatch.register.certificates import certificate_name
from registerwatch.register.standing import OTHER_RECORD
from registerwatch.watches.models import Expiring, Watch

MEDIA_TYPE = "text/calendar; charset=utf-8"
MAX_ALARMS, MAX_ALARM_DAYS = 5, 180
MAX_NAMED = 20
"""Devices in the description."""
EVENTS_AT_ONCE = 5
"""With five alarms each they take some 4 ms."""

_OF_DEVICES = "Certificates of watched devices; those of a watched manufacturer are on the page of its watch."
_END = b"END:VCALENDAR\r\n"

_MADE_AT = re.compile(rb"DTSTAMP:[0-9TZ]+\r\n")


def pieces(
    shown: CalendarContent, *, public_url: str, source_name: str, made_at: float, alarm_days: Collection[int] = ()
) -> Iterator[bytes]:
    """The calendar, in pieces: 2,500 certificates with alarms take two seconds, in which other requests run too.

    An event keeps its UID while its certificate keeps number and date, and names the source. Revisions with one number
    and date have UIDs of their own. Each has alarms the given
    days before. The description says whose certificates there are, and names watches that are unsure: some of their
    certificates may be missing or outdated.
    An end of the account's period is an event, and is in the descriptions of the calendar and of every event.
    """
    made = Calendar()
    made.add("prodid", "-//Registerwatch//Expiring certificates//EN")
    made.add("version", "2.0")
    made.add("method", "PUBLISH")
    made.add("x-wr-calname", "Certificates that end soon")
    notice = shown.ended.notice() if shown.ended is not None else ""
    about = notice, _OF_DEVICES, _doubt(shown.unsure) if shown.unsure else ""
    made.add("x-wr-caldesc", " ".join(filter(None, about)))
    head = bytes(made.to_ical())
    assert head.endswith(_END), "events stand before the end"
    yield head.removesuffix(_END)
    at, days = datetime.fromtimestamp(int(made_at), UTC), sorted(alarm_days, reverse=True)
    if shown.ended is not None:
        yield _end_of_period(shown.ended, public_url, at)
    read = "\n".join(
        [f"As last read from {source_name}; not a certificate of conformity.", *([notice] if notice else [])]
    )
    keyed = list(_with_keys(shown.items))
    for first in range(0, len(keyed), EVENTS_AT_ONCE):
        chosen = keyed[first : first + EVENTS_AT_ONCE]
        yield b"".join(_event_with_alarms(key, item, public_url, read, at, days) for key, item in chosen)
    yield _END


def alarm_days(text: str) -> Sequence[int]:
    """Days in a text such as `30,7,1`. Raises `InvalidInput`."""
    days = sorted({_days(each) for each in text.split(",")}, reverse=True) if text else []
    if len(days) > MAX_ALARMS:
        raise InvalidInput(f"`alarms` takes at most {MAX_ALARMS} numbers.")
    return days


def without_time(made: bytes) -> bytes:
    """The calendar without its time of making, to see whether two are equal."""
    return _MADE_AT.sub(b"", made)


def _doubt(unsure: Sequence[Watch]) -> str:
    named = ", ".join(watch.subject for watch in unsure[:MAX_NAMED])
    more = f" and {len(unsure) - MAX_NAMED:,} more" if len(unsure) > MAX_NAMED else ""
    return f"Certificates may be missing or outdated, since not all could be read: {named}{more}."


def _days(text: str) -> int:
    bare = text.strip()
    if not (bare.isascii() and bare.isdigit() and len(bare) < 4 and int(bare) <= MAX_ALARM_DAYS):
        raise InvalidInput(f"`alarms` is numbers of days from 0 to {MAX_ALARM_DAYS}, with commas between.")
    return int(bare)


def _called(item: Expiring) -> str:
    """`Certificate Z-25-052, revision 01 ends`, `End date of certificate Z-25-052 (withdrawn)`."""
    name = certificate_name(item.certificate, item.revision)
    if not item.standing:
        return f"Certificate {name} ends"
    return f"End date of certificate {name} ({item.standing[:1].lower()}{item.standing[1:]})"


def _with_keys(items: Iterable[Expiring]) -> Iterator[tuple[str, Expiring]]:
    """The items with the keys of their UIDs."""
    alike: Counter[str] = Counter()
    for item in items:
        key = "\n".join((item.subject, item.certificate, item.expiry))
        alike[key] += 1
        yield key if alike[key] == 1 else f"{key}\n{alike[key]}", item


def _event_with_alarms(
    key: str, item: Expiring, public_url: str, read: str, made_at: datetime, alarm_days: Sequence[int]
) -> bytes:
    called = _called(item)
    event = _day(key, date.fromisoformat(item.expiry), public_url, made_at)
    event.add("summary", f"{called}: {item.label}")
    event.add("description", "\n".join([item.subject, *_of_other_record(item), read]))
    event.add("url", f"{public_url}/d/{quote(item.subject, safe='')}")
    for days in alarm_days:
        event.add_component(_alarm(item, called, days))
    return bytes(event.to_ical())


def _of_other_record(item: Expiring) -> Sequence[str]:
    if not item.other_record_as_of:
        return ()
    as_of = utc_in_words(datetime.fromisoformat(item.other_record_as_of).timestamp())
    return [f"Of {OTHER_RECORD}, as of {as_of}."]


def _alarm(item: Expiring, called: str, days: int) -> Alarm:
    alarm = Alarm()
    alarm.add("action", "DISPLAY")
    alarm.add("trigger", timedelta(days=-days))
    alarm.add("description", f"{called}, {date_in_words(item.expiry)}: {item.label}")
    return alarm


def _end_of_period(ended: EndedPeriod, public_url: str, made_at: datetime) -> bytes:
    event = _day(ended.name, day_of(ended.at), public_url, made_at)
    event.add("summary", HEADLINE)
    event.add("description", ended.notice())
    event.add("url", f"{public_url}/app/billing")
    return bytes(event.to_ical())


def _day(key: str, day: date, public_url: str, made_at: datetime) -> Event:
    """An event of a whole day, which keeps its UID while it has the same key."""
    event = Event()
    event.add("uid", f"{sha256(key.encode()).hexdigest()[:32]}@{urlsplit(public_url).hostname}")
    event.add("dtstamp", made_at)
    event.add("dtstart", day)
    event.add("dtend", day + timedelta(days=1))
    event.add("transp", "TRANSPARENT")
    return event
