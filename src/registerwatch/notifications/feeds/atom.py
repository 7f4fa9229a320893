"""Changes as an Atom feed (RFC 4287)."""

import re
from collections.abc import Mapping
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

import msgspec

from registerwatch.accounts.ended_period import HEADLINE, EndedPeriod
from registerwatch.notifications.feeds.models import FeedPage
from registerwatch.platform.clock import day_of, iso_utc
from registerwatch.register.identifiers import kind
from registerwatch.watches.events.causes import EventGroup
from registerwatch.watches.events.change_words import row_of, rows_of
from registerwatch.watches.events.event_rules import most_severe_first
from registerwatch.watches.models import OVERDUE_AFTER, HealthState, Watch
from registerwatch.watches.watch_states import state_words

ATOM = "http://www.w3.org/2005/Atom"
MEDIA_TYPE = "application/atom+xml; charset=utf-8"
REASONS: Mapping[HealthState, str] = {
    "failing": "It could not be read for days.",
    "partial": "Its certificates could not be read for days, or some may be missing.",
    "overdue": "Nobody has read it for days, though nothing failed.",
}
"""Reasons for a watch's state that its last error alone does not say."""
MAX_SUBJECTS = 100
"""Watches that an entry names."""
MAX_HEADLINES = 10
"""Changes in a title."""

_IMPOSSIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML cannot contain."""


class PageLinks(msgspec.Struct, frozen=True):
    """Addresses of a page, of the one with the newest entries, and of the one with earlier entries (RFC 5005)."""

    this: str
    first: str
    next: str | None


def atom(shown: FeedPage, *, public_url: str, links: PageLinks) -> bytes:
    """A page of the feed, newest first. Its id distinguishes the feed and does not change with its address."""
    groups = shown.page.groups
    feed = ElementTree.Element("feed", xmlns=ATOM)
    _text(feed, "id", f"tag:{urlsplit(public_url).hostname},2026:feed/{shown.feed.id}")
    _text(feed, "title", "Changes of watched devices and manufacturers")
    instants = [*(group.newest.created_at for group in groups[:1]), *(_since(*each) for each in shown.unhealthy)]
    if shown.ended is not None:
        _text(feed, "subtitle", shown.ended.notice())
        instants.append(shown.ended.at)
    _text(feed, "updated", iso_utc(max(instants, default=shown.feed.created_at)))
    ElementTree.SubElement(ElementTree.SubElement(feed, "author"), "name").text = "Registerwatch"
    _link(feed, "alternate", f"{public_url}/", "text/html")
    for relation, address in (("self", links.this), ("first", links.first), ("next", links.next)):
        if address is not None:
            _link(feed, relation, address, "application/atom+xml")
    if shown.ended is not None and shown.is_first:
        _end_entry(feed, shown.ended, public_url)
    for watch, state in shown.unhealthy:
        _health_entry(feed, watch, state, public_url)
    for group in groups:
        _entry(feed, group, public_url)
    return bytes(ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True))


def _entry(feed: ElementTree.Element, group: EventGroup, public_url: str) -> None:
    """An entry, which keeps its id while events join its group."""
    entry = ElementTree.SubElement(feed, "entry")
    event = group.newest
    subject = group.manufacturer_srn if len(group.events) > 1 else event.subject
    name = f"cause/{group.cause}" if group.cause else f"event/{event.id}"
    day = day_of(event.created_at)
    lines = [row_of(change, day).line(day) for change in most_severe_first(group.changes, day)]
    _text(entry, "id", f"tag:{urlsplit(public_url).hostname},2026:{name}")
    _text(entry, "title", f"{_title(group)}: {'; '.join(_headlines(group))}")
    _text(entry, "updated", iso_utc(event.created_at))
    _link(entry, "alternate", _page_of(subject, public_url), "text/html")
    about = group.most_severe
    ElementTree.SubElement(entry, "category", term=about.kind, label=f"Kind: {about.kind}")
    ElementTree.SubElement(entry, "category", term=about.severity, label=f"Severity: {about.severity}")
    _text(entry, "content", "\n".join([subject, *lines, *_subjects(group)]))


def _end_entry(feed: ElementTree.Element, ended: EndedPeriod, public_url: str) -> None:
    """An entry for the end of the account's period, which keeps its id until the account goes on."""
    entry = ElementTree.SubElement(feed, "entry")
    _text(entry, "id", f"tag:{urlsplit(public_url).hostname},2026:{ended.name}")
    _text(entry, "title", HEADLINE)
    _text(entry, "updated", iso_utc(ended.at))
    _link(entry, "alternate", f"{public_url}/app/billing", "text/html")
    ElementTree.SubElement(entry, "category", term="period-ended", label="Account: period ended")
    _text(entry, "content", ended.notice())


def _health_entry(feed: ElementTree.Element, watch: Watch, state: HealthState, public_url: str) -> None:
    """An entry for a watch while it is not healthy."""
    entry, since = ElementTree.SubElement(feed, "entry"), _since(watch, state)
    _text(entry, "id", f"tag:{urlsplit(public_url).hostname},2026:watch/{watch.id}/{state}/{since}")
    words = state_words(watch, state)
    _text(entry, "title", f"{watch.label}: {words}")
    _text(entry, "updated", iso_utc(since))
    _link(entry, "alternate", _page_of(watch.subject, public_url), "text/html")
    ElementTree.SubElement(entry, "category", term=state, label=f"Health: {words}")
    _text(entry, "content", "\n".join(filter(None, [watch.subject, REASONS.get(state), watch.last_error])))


def _since(watch: Watch, state: HealthState) -> int:
    if state == "overdue":
        return watch.unread_since + OVERDUE_AFTER
    return watch.failing_since or watch.created_at


def _page_of(subject: str, public_url: str) -> str:
    return f"{public_url}/{'a' if kind(subject) == 'srn' else 'd'}/{quote(subject, safe='')}"


def _title(group: EventGroup) -> str:
    """The subject of an entry: the watch, or the manufacturer of several."""
    if len(group.events) == 1:
        return group.newest.label
    own = [event.label for event in group.events if event.subject == group.manufacturer_srn]
    return f"{own[0] if own else f'Manufacturer {group.manufacturer_srn}'} ({len(group.events)} watches)"


def _headlines(group: EventGroup) -> list[str]:
    """The changes in a title: the first ones, devices by number."""
    day = day_of(group.newest.created_at)
    lines = [row.line(day) for row in rows_of(group.changes, day)]
    more = len(lines) - MAX_HEADLINES
    return [*lines[:MAX_HEADLINES], *([f"and {more:,} more"] if more > 0 else [])]


def _subjects(group: EventGroup) -> list[str]:
    """A line for each watch of several."""
    if len(group.events) == 1:
        return []
    lines = [f"{event.subject} {event.label}" for event in group.events[:MAX_SUBJECTS]]
    more = len(group.events) - len(lines)
    return ["", *lines, *([f"and {more:,} more"] if more else [])]


def _link(parent: ElementTree.Element, relation: str, address: str, media_type: str) -> None:
    ElementTree.SubElement(parent, "link", rel=relation, type=media_type, href=address)


def _text(parent: ElementTree.Element, name: str, text: str) -> None:
    ElementTree.SubElement(parent, name).text = _IMPOSSIBLE.sub("\ufffd", text)
