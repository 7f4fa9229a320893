"""Events as they wait for a mail or a chat: in words for people, cleaned and bounded, in one line of JSON. Pure."""

from collections.abc import Sequence
from functools import partial

import msgspec

from registerwatch.mail.clean_text import clean
from registerwatch.watches.diff import NUMBER, STATUS, FieldChange
from registerwatch.watches.event_rules import NUMBERS, field_name, headlines, most_severe_first
from registerwatch.watches.event_rules import told as in_words
from registerwatch.watches.expiry_marks import ENDS
from registerwatch.watches.models import Event
from registerwatch.watches.news_changes import NUMBER_OF, REFUSED

VERSION = "version"
MAX_ROWS = 15
"""Changes of one event that a mail shows."""
MAX_VALUE_LENGTH = 200
MAX_LABEL_LENGTH = 120
MAX_BRIEF_LENGTH = 90
MAX_DEVICES = 10
"""Devices that a row names."""


class MailedChange(msgspec.Struct, frozen=True, omit_defaults=True, array_like=True, gc=False):
    """A changed field as people read it. `before` is empty for no value, None where there is no before."""

    field: str
    before: str | None
    after: str


class MailedEvent(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a mail needs of an event. Kind and severity may be of a later release."""

    id: int
    watch_id: int
    subject: str
    label: str
    kind: str
    severity: str
    created_at: int
    brief: str
    """The worst of it, for the subject of a mail."""
    changes: Sequence[MailedChange]
    more: int = 0
    """Changes that are left out."""
    cause: str | None = None
    visible_at: int | None = None
    is_version_alone: bool = False
    """Whether it tells nothing but that the record has a new version."""


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(MailedEvent)

_value = partial(clean, most=MAX_VALUE_LENGTH)


def event_line(event: Event) -> str:
    """An event in one line."""
    changes = most_severe_first(event.changes)
    told = _told(changes)
    mailed = MailedEvent(
        id=event.id,
        watch_id=event.watch_id,
        subject=clean(event.subject, MAX_LABEL_LENGTH),
        label=clean(event.label, MAX_LABEL_LENGTH) or clean(event.subject, MAX_LABEL_LENGTH),
        kind=event.kind,
        severity=clean(event.severity, 20),
        created_at=event.created_at,
        brief=clean(_brief(changes[0]) if changes else event.summary, MAX_BRIEF_LENGTH),
        changes=[_row(each, changes) for each in told[:MAX_ROWS]],
        more=max(0, len(told) - MAX_ROWS),
        cause=event.cause,
        visible_at=event.visible_at,
        is_version_alone=bool(changes) and all(each.field == VERSION for each in changes),
    )
    return _encoder.encode(mailed).decode()


def event_in(line: str) -> MailedEvent:
    """What `event_line` made of an event."""
    return _decoder.decode(line)


def _told(changes: Sequence[FieldChange]) -> Sequence[FieldChange]:
    """Without devices that their number names, and without the record's version, which goes up with any change."""
    fields = {change.field for change in changes}
    return [
        each
        for each in changes
        if NUMBER_OF.get(each.field) not in fields and not (each.field == VERSION and len(fields) > 1)
    ]


def _row(change: FieldChange, changes: Sequence[FieldChange]) -> MailedChange:
    name = field_name(change.field)
    if change.field in NUMBERS:
        return MailedChange(_capital(name), None, _value(_number(change, changes)))
    if change.field == ENDS:
        return MailedChange(_capital(_named(name, change.certificate)), None, _value(f"{change.old}, {change.new}"))
    if change.device:
        return MailedChange(_capital(name), None, _value(in_words(change).partition(": ")[2]))
    if _is_new_certificate(change):
        return MailedChange("New certificate", None, _value(change.new))
    row = MailedChange(_capital(_named(name, change.certificate)), _value(change.old), _value(change.new))
    return MailedChange(row.field, None, row.after) if change.field == REFUSED else row


def _number(number: FieldChange, changes: Sequence[FieldChange]) -> str:
    """`12: Ceramill Zolid, Savina 300 and 10 more`."""
    named = [clean(each.new, 40) for each in changes if NUMBER_OF.get(each.field) == number.field][:MAX_DEVICES]
    total = int(number.new) if number.new.isdecimal() else len(named)
    more = f" and {total - len(named):,} more" if total > len(named) and named else ""
    return f"{total:,}" + (f": {', '.join(named)}{more}" if named else "")


def _brief(change: FieldChange) -> str:
    """A change in the fewest words: `certificate suspended`, `No longer placed on the EU market`."""
    if change.field == STATUS and change.new:
        return f"certificate {change.new[:1].lower()}{change.new[1:]}"
    if change.field == "status":
        return change.new
    if _is_new_certificate(change):
        return f"new certificate {change.new}"
    if change.field == VERSION:
        return f"new version {change.new} of the record"
    if change.field in NUMBERS or change.field in (ENDS, REFUSED) or change.device:
        return headlines([change])[0]
    return f"{field_name(change.field)} {change.new}"


def _is_new_certificate(change: FieldChange) -> bool:
    return change.field == NUMBER and not change.old


def _named(name: str, certificate: str | None) -> str:
    return f"{name} ({clean(certificate, 60)})" if certificate else name


def _capital(text: str) -> str:
    return clean(text[:1].upper() + text[1:], MAX_VALUE_LENGTH)
