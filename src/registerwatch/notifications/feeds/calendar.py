"""Certificates that end soon as an iCalendar (RFC 5545): an all-day event on the day of each."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from urllib.parse import quote, urlsplit

from icalendar import Calendar, Event

from registerwatch.watches.models import Expiring

MEDIA_TYPE = "text/calendar; charset=utf-8"


def calendar(items: Sequence[Expiring], *, public_url: str, made_at: float) -> bytes:
    """The calendar. An event keeps its UID while its certificate keeps number and date."""
    made = Calendar()
    made.add("prodid", "-//Registerwatch//Expiring certificates//EN")
    made.add("version", "2.0")
    made.add("method", "PUBLISH")
    made.add("x-wr-calname", "Certificates that end soon")
    for item in items:
        made.add_component(_event(item, public_url, datetime.fromtimestamp(int(made_at), UTC)))
    return bytes(made.to_ical())


def _event(item: Expiring, public_url: str, made_at: datetime) -> Event:
    day = date.fromisoformat(item.expiry)
    told = sha256("\n".join((item.subject, item.certificate, item.expiry)).encode()).hexdigest()[:32]
    event = Event()
    event.add("uid", f"{told}@{urlsplit(public_url).hostname}")
    event.add("dtstamp", made_at)
    event.add("dtstart", day)
    event.add("dtend", day + timedelta(days=1))
    event.add("summary", f"Certificate {item.certificate} ends: {item.label}")
    event.add("description", f"{item.subject}\nAs last read from EUDAMED; not a certificate of conformity.")
    event.add("url", f"{public_url}/d/{quote(item.subject, safe='')}")
    event.add("transp", "TRANSPARENT")
    return event
