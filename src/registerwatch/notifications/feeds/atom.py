"""Changes as an Atom feed (RFC 4287)."""

import re
from collections.abc import Sequence
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

from registerwatch.clock import iso_utc
from registerwatch.register.identifiers import kind
from registerwatch.watches.event_rules import told
from registerwatch.watches.models import Event

ATOM = "http://www.w3.org/2005/Atom"
MEDIA_TYPE = "application/atom+xml; charset=utf-8"

_IMPOSSIBLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document can hold."""


def atom(events: Sequence[Event], *, public_url: str, feed_id: int, made_at: float) -> bytes:
    """The feed, newest first. `feed_id` tells it from others and does not change with its address."""
    feed = ElementTree.Element("feed", xmlns=ATOM)
    _text(feed, "id", f"tag:{urlsplit(public_url).hostname},2026:feed/{feed_id}")
    _text(feed, "title", "Changes of watched devices and manufacturers")
    _text(feed, "updated", iso_utc(events[0].created_at if events else int(made_at)))
    ElementTree.SubElement(ElementTree.SubElement(feed, "author"), "name").text = "Registerwatch"
    ElementTree.SubElement(feed, "link", rel="alternate", type="text/html", href=f"{public_url}/")
    for event in events:
        _entry(feed, event, public_url)
    return bytes(ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True))


def _entry(feed: ElementTree.Element, event: Event, public_url: str) -> None:
    entry = ElementTree.SubElement(feed, "entry")
    page = "a" if kind(event.subject) == "srn" else "d"
    _text(entry, "id", f"tag:{urlsplit(public_url).hostname},2026:event/{event.id}")
    lines = [told(change) for change in event.changes]
    _text(entry, "title", f"{event.label}: {'; '.join(lines)}")
    _text(entry, "updated", iso_utc(event.created_at))
    ElementTree.SubElement(
        entry, "link", rel="alternate", type="text/html", href=f"{public_url}/{page}/{quote(event.subject, safe='')}"
    )
    ElementTree.SubElement(entry, "category", term=event.kind, label=f"Kind: {event.kind}")
    ElementTree.SubElement(entry, "category", term=event.severity, label=f"Severity: {event.severity}")
    _text(entry, "content", "\n".join([event.subject, *lines]))


def _text(parent: ElementTree.Element, name: str, text: str) -> None:
    ElementTree.SubElement(parent, name).text = _IMPOSSIBLE.sub("\ufffd", text)
