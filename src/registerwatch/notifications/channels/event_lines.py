"""Events that wait for a mail or a chat: their rows for people, cleaned and bounded, in one line of JSON. Pure.

Words that depend on the reader, such as how many days a date is ahead, are written with the message.
"""

from collections.abc import Sequence
from functools import partial

import msgspec

from registerwatch.mail.clean_text import clean
from registerwatch.platform.clock import day_of
from registerwatch.platform.structs import replace
from registerwatch.watches.events.change_words import VERSION, ChangeRow, NamedDevice, rows_of
from registerwatch.watches.models import Event

MAX_ROWS = 200
"""Changes of one event that wait: more than an event names certificates and devices. The message, which is put together
later, shortens them.
"""
MAX_VALUE_LENGTH = 200
MAX_LABEL_LENGTH = 120
MAX_CERTIFICATE_LENGTH = 60
MAX_BRIEF_LENGTH = 90
MAX_DEVICES = 10
"""Devices that a row names."""
MAX_DEVICE_LENGTH = 40


class MailedEvent(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """An event for a mail. Kind and severity may be of a later release."""

    id: int
    watch_id: int
    subject: str
    label: str
    kind: str
    severity: str
    created_at: int
    brief: str
    """The worst change, for the subject of a mail, where the rows do not say it."""
    changes: Sequence[ChangeRow]
    more: int = 0
    """Changes that are left out of `changes`."""
    cause: str | None = None
    manufacturer_srn: str = ""
    """Empty where it is not known."""


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(MailedEvent)

_value = partial(clean, most=MAX_VALUE_LENGTH)


def event_line(event: Event) -> str:
    """An event in one line, without the record's version, which goes up with any change."""
    day = day_of(event.created_at)
    rows = [row for row in rows_of(event.changes, day) if row.field != VERSION]
    mailed = MailedEvent(
        id=event.id,
        watch_id=event.watch_id,
        subject=clean(event.subject, MAX_LABEL_LENGTH),
        label=clean(event.label, MAX_LABEL_LENGTH) or clean(event.subject, MAX_LABEL_LENGTH),
        kind=event.kind,
        severity=clean(event.severity, 20),
        created_at=event.created_at,
        brief=clean(rows[0].brief(day) if rows else event.summary, MAX_BRIEF_LENGTH),
        changes=[_cleaned(row) for row in rows[:MAX_ROWS]],
        more=max(0, len(rows) - MAX_ROWS),
        cause=event.cause,
        manufacturer_srn=clean(event.manufacturer_srn, MAX_LABEL_LENGTH),
    )
    return _encoder.encode(mailed).decode()


def event_in(line: str) -> MailedEvent:
    """The event in a line of `event_line`."""
    return _decoder.decode(line)


def _cleaned(row: ChangeRow) -> ChangeRow:
    return replace(
        row,
        name=_value(row.name),
        before=None if row.before is None else _value(row.before),
        after=_value(row.after),
        certificate=clean(row.certificate, MAX_CERTIFICATE_LENGTH),
        standing=_value(row.standing),
        devices=tuple(
            NamedDevice(clean(each.name, MAX_DEVICE_LENGTH), _value(each.code)) for each in row.devices[:MAX_DEVICES]
        ),
    )
