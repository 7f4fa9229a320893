"""The history of a record for people: a line for each field, certificates one by one. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

import msgspec

from registerwatch.copy.history.record_history import ValueChange
from registerwatch.lookup.history_service import Entry, HistoryPage
from registerwatch.pages.languages import language_name
from registerwatch.pages.public.device_details import TITLES as CHARACTERISTICS
from registerwatch.platform.clock import date_in_words, iso_utc, utc_in_words
from registerwatch.register.codes import label
from registerwatch.register.other_codes import OtherCode
from registerwatch.watches.events.event_rules import field_name
from registerwatch.watches.events.word_difference import WordDifference, word_difference

MAX_TEXT = 4_000
"""Characters of a value that are shown."""
TITLES = {
    "trade_names": "Trade name",
    "emdn": "Nomenclature (EMDN)",
    "basic_udi": "Basic UDI-DI",
    "reference": "Catalogue reference",
    "device_model": "Model",
    "updated": "Last changed in the register",
    "version": "Version of the record",
    "certs": "Certificates",
    "other_codes": "Packaging and other codes",
    "available_in": "Available in",
    "placed_on_market_in": "First placed on the market in",
    "base_quantity": "Devices in what has the UDI-DI",
    "max_reuses": "Reuses",
    "storage": "Storage and handling",
    "warnings": "Critical warnings",
    "safety_summary": "Safety summary (SSCP)",
    "information_url": "Further information",
    "contradictions": "Where the register contradicts itself",
    "listed": "Listed in the register",
    "current": "Answers for the UDI-DI",
    "latest_version": "Latest version of the record",
    "name": "Name",
    "country": "Country",
    "status_code": "Status",
    "device_total": "Registered devices",
    "devices_registered": "Devices newly registered",
    "devices_off_market": "Devices off the market",
    "devices_on_market": "Devices on the market again",
}
OF_CERTIFICATE = {
    "status": "Status",
    "expiry": "Expiry",
    "valid_from": "Valid from",
    "notified_body_name": "Notified body",
    "type_code": "Kind",
    "listed_in": "Where it is listed",
}
"""Fields of a certificate whose changes are shown; labels stand for their codes."""
DATES = frozenset({"status_date", "expiry", "valid_from"})


class Line(msgspec.Struct, frozen=True):
    """One changed value. `of` is the number of its certificate; `devices` are UDI-DIs and names of counted devices."""

    title: str
    old: str
    new: str
    of: str = ""
    is_date: bool = False
    devices: Sequence[tuple[str, str]] = ()

    @property
    def difference(self) -> WordDifference | None:
        """The words that differ, if that helps."""
        return word_difference(self.old, self.new)


class ShownEntry(msgspec.Struct, frozen=True):
    """The changes of one read. `uuid` is empty if the subject has one record."""

    observed_at: str
    last_before: str
    """The last instant before the change."""
    uuid: str
    lines: Sequence[Line]
    first_read: str
    """Names of fields that were read for the first time."""


class HistoryView(msgspec.Struct, frozen=True, dict=True):
    """A page of a history. `address` is that of the whole history, `next` that of the next page, or empty."""

    page: HistoryPage
    address: str

    @cached_property
    def entries(self) -> Sequence[ShownEntry]:
        """The entries of the page, which its template asks for twice."""
        has_several = len(self.page.history.records) > 1
        return [_entry(each, has_several=has_several) for each in self.page.entries]

    @property
    def no_entries(self) -> str:
        """The sentence in place of entries where no change is shown."""
        first_read = _names_of(name for each in self.page.history.changes for name in each.first_read)
        if first_read:
            return f"Since then more was read ({first_read}), and what had been read before stayed as it was."
        return "No change was observed since then."

    @property
    def observed_since(self) -> str:
        """Since when this service has observed the subject."""
        return iso_utc(self.page.history.observed_since)

    @property
    def successors(self) -> Sequence[tuple[str, str, str]]:
        """The records that took over the UDI-DI when they were new, since when, and until when, empty for today."""
        found = self.page.history.successors
        return [(each.uuid, iso_utc(each.since), "" if each.until is None else iso_utc(each.until)) for each in found]

    @property
    def is_complete(self) -> bool:
        """Whether no older change was deleted."""
        return self.page.history.is_complete

    @property
    def next(self) -> str:
        """The address of older changes; empty if there are none."""
        return f"{self.address}?before={self.page.entries[-1].cursor}" if self.page.more else ""


def title_of(field: str) -> str:
    """The title of a field."""
    name = TITLES.get(field) or field_name(field)
    return name[:1].upper() + name[1:]


def lines_of(change: ValueChange) -> list[Line]:
    """The lines of a changed field: for certificates and trade names one for each that changed."""
    if change.field == "certs":
        return list(_certificates(change.old or [], change.new or []))
    if change.field == "trade_names":
        return list(_names(change.old or {}, change.new or {}))
    if change.field == "other_codes":
        return [Line(title_of(change.field), _codes(change.old or []), _codes(change.new or []))]
    if change.field == "contradictions":
        return [Line(title_of(change.field), _contradictions(change.old or []), _contradictions(change.new or []))]
    if change.field == "characteristics":
        return list(_characteristics(change.old or {}, change.new or {}))
    if change.field == "status_code":
        return [Line(title_of(change.field), label(text_of(change.old)), label(text_of(change.new)))]
    if change.field == "updated":
        return [Line(title_of(change.field), _instant(change.old), _instant(change.new))]
    is_date = change.field in DATES
    return [Line(title_of(change.field), text_of(change.old), text_of(change.new), is_date=is_date)]


def text_of(value: Any) -> str:
    """A field's value as text, empty for none."""
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, list):
        return ", ".join(text_of(each) for each in value)[:MAX_TEXT]
    if isinstance(value, Mapping):
        return " · ".join(text_of(each) for each in value.values() if each)[:MAX_TEXT]
    return "" if value is None else str(value)[:MAX_TEXT]


def _instant(value: Any) -> str:
    """`21 Nov 2026, 03:38 UTC`; any other text stays as it is."""
    try:
        return utc_in_words(datetime.fromisoformat(value or "").timestamp())
    except (ValueError, OverflowError):
        return text_of(value)


def _entry(entry: Entry, *, has_several: bool) -> ShownEntry:
    change = entry.change
    shown = [each for each in change.changes if each.field != "updated"] or change.changes
    lines = [line for each in shown for line in lines_of(each)]
    if entry.cursor.is_portfolio:
        lines = [Line(each.title, "", each.new, devices=entry.devices) for each in lines]
    return ShownEntry(
        iso_utc(change.observed_at),
        iso_utc(change.observed_at - 1),
        change.record if has_several else "",
        lines,
        _names_of(change.first_read),
    )


def _names_of(fields: Iterable[str]) -> str:
    """`market status, certificates`; labels stand for their codes."""
    return ", ".join(dict.fromkeys(title_of(each) for each in fields if not each.endswith("_code"))).lower()


def _characteristics(old: Mapping[str, bool], new: Mapping[str, bool]) -> Iterable[Line]:
    """A line for each known characteristic that has changed."""
    for name, before in old.items():
        after = new.get(name, before)
        if before is not after:
            title = CHARACTERISTICS.get(name, name)
            yield Line(title[:1].upper() + title[1:], text_of(before), text_of(after))


def _codes(codes: Sequence[Mapping[str, Any]]) -> str:
    """`14012345678908 (container package of 10), …`."""
    decoded = (msgspec.convert(each, OtherCode) for each in codes)
    return ", ".join(f"{each.code} ({each.explanation})" for each in decoded)[:MAX_TEXT]


def _contradictions(contradictions: Sequence[Mapping[str, str]]) -> str:
    """`Risk class: Class III by the device search, Class IIb by the record of the device`, separated by semicolons."""
    return "; ".join(
        f"{title_of(each['field'])}: {each['search']} by the device search,"
        f" {each['record']} by the record of the device"
        for each in contradictions
    )[:MAX_TEXT]


def _names(old: Mapping[str, str], new: Mapping[str, str]) -> Iterable[Line]:
    for code in sorted({*old, *new}):
        before, after = old.get(code, ""), new.get(code, "")
        if before != after:
            yield Line(f"Trade name ({language_name(code)})", text_of(before), text_of(after))


def _certificates(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> Iterable[Line]:
    """The lines of certificates, identified by notified body, number and revision; several alike are one line."""
    before, after = _by_key(old), _by_key(new)
    for key in sorted({*before, *after}):
        gone, come = before.get(key, []), after.get(key, [])
        if len(gone) == len(come) == 1:
            yield from _changed(gone[0], come[0])
        elif gone != come:
            yield Line("Listing", _listing_text(gone), _listing_text(come), of=key[1])


def _by_key(certificates: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, str], list[Mapping[str, Any]]]:
    found: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for each in certificates:
        key = each.get("notified_body", ""), each.get("number", ""), each.get("revision", "")
        found.setdefault(key, []).append(each)
    return found


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterable[Line]:
    """The lines of a certificate. The name of a known notified body is not brought by every read."""
    for name, title in OF_CERTIFICATE.items():
        before, after = text_of(old.get(name)), text_of(new.get(name))
        is_unread = name == "notified_body_name" and bool(old.get("notified_body")) and not (before and after)
        if before != after and not is_unread:
            yield Line(title, before, after, of=text_of(new.get("number")), is_date=name in DATES)


def _listing_text(certificates: Sequence[Mapping[str, Any]]) -> str:
    """`Listed, issued, until 16 Sep 2030`, separated by semicolons."""
    return "; ".join(
        ", ".join(
            part
            for part in (
                "Listed",
                text_of(each.get("status")).lower(),
                f"until {date_in_words(text_of(each['expiry']))}" if each.get("expiry") else "",
            )
            if part
        )
        for each in certificates
    )[:MAX_TEXT]
