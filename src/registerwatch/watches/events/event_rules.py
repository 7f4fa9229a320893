"""The names of compared fields, and the kinds and severities of events. Pure.

`FIELDS` and `SEVERITY_RULES` alone have these rules; `docs/events.md` shows both, and a test compares.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date

import msgspec

from registerwatch.register.certificate_states import days_left
from registerwatch.register.codes import CERTIFICATE_STATUS_PREFIX, STATUS_PREFIX, label
from registerwatch.watches.diff import EXPIRY, NUMBER, STATUS, FieldChange
from registerwatch.watches.models import EventKind, EventSeverity
from registerwatch.watches.news.expiry_marks import ENDS, days_of
from registerwatch.watches.news.news_changes import (
    DEVICE_OFF_MARKET,
    DEVICE_ON_MARKET,
    DEVICE_REGISTERED,
    DEVICES_OFF_MARKET,
    DEVICES_ON_MARKET,
    DEVICES_REGISTERED,
    NUMBER_OF,
    REFUSED,
    REVISION,
)


class EventField(msgspec.Struct, frozen=True):
    """A compared field: its name for people, and the kind of its changes."""

    name: str
    kind: EventKind


class SeverityRule(msgspec.Struct, frozen=True):
    """The severity of a change of one of `fields` (any field where there is none).

    `new` limits the rule to these new values, `standings` to certificates of these standings, `within_days` to ends at
    most this many days away or past, `was_later` to dates that were later and not past, `was_empty` to changes of a
    value that was empty before.
    """

    severity: EventSeverity
    fields: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    was_empty: bool = False
    was_later: bool = False
    within_days: int | None = None
    standings: tuple[str, ...] = ()

    def applies(self, change: FieldChange, day: date) -> bool:
        """Whether the rule is about this change, which was reported on a day."""
        return (
            (not self.fields or change.field in self.fields)
            and (not self.new or change.new.casefold() in {each.casefold() for each in self.new})
            and (not self.standings or change.standing in self.standings)
            and not (self.was_empty and change.old)
            and (not self.was_later or _was_later(change, day))
            and (self.within_days is None or _ends_within(change, self.within_days, day))
        )


FIELDS: Mapping[str, EventField] = {
    "status": EventField("market status", EventKind.RECORD),
    "status_date": EventField("date of the market status", EventKind.RECORD),
    "trade_name": EventField("trade name", EventKind.RECORD),
    "risk_class": EventField("risk class", EventKind.RECORD),
    "reference": EventField("catalogue reference", EventKind.RECORD),
    "manufacturer_status": EventField("manufacturer status", EventKind.RECORD),
    "version": EventField("version of the record", EventKind.RECORD),
    "name": EventField("name of the actor", EventKind.RECORD),
    "device_total": EventField("number of registered devices", EventKind.PORTFOLIO),
    NUMBER: EventField("certificate number", EventKind.CERTIFICATE),
    EXPIRY: EventField("certificate expiry", EventKind.EXPIRY),
    STATUS: EventField("certificate status", EventKind.CERTIFICATE),
    REVISION: EventField("certificate revision", EventKind.CERTIFICATE),
    REFUSED: EventField("refused application for a certificate", EventKind.CERTIFICATE),
    ENDS: EventField("end of the certificate", EventKind.EXPIRY),
    DEVICES_REGISTERED: EventField("devices registered", EventKind.PORTFOLIO),
    DEVICE_REGISTERED: EventField("device registered", EventKind.PORTFOLIO),
    DEVICES_OFF_MARKET: EventField("devices off the market", EventKind.PORTFOLIO),
    DEVICE_OFF_MARKET: EventField("device off the market", EventKind.PORTFOLIO),
    DEVICES_ON_MARKET: EventField("devices on the market again", EventKind.PORTFOLIO),
    DEVICE_ON_MARKET: EventField("device on the market again", EventKind.PORTFOLIO),
}

_NOT_GOOD = tuple(
    label(CERTIFICATE_STATUS_PREFIX + each) for each in ("suspended", "withdrawn", "cancelled", "expired", "restricted")
)
"""Statuses of certificates that are severe, also for a certificate that is new."""

SEVERITY_RULES: Sequence[SeverityRule] = (
    SeverityRule(EventSeverity.HIGH, (ENDS,), within_days=7),
    SeverityRule(EventSeverity.MEDIUM, (ENDS,), within_days=30),
    SeverityRule(EventSeverity.HIGH, (DEVICES_OFF_MARKET, DEVICE_OFF_MARKET)),
    SeverityRule(EventSeverity.MEDIUM, (REFUSED,)),
    SeverityRule(EventSeverity.HIGH, (NUMBER, REVISION), standings=_NOT_GOOD),
    SeverityRule(EventSeverity.HIGH, (EXPIRY,), within_days=7, was_empty=True),
    SeverityRule(EventSeverity.HIGH, (STATUS,), _NOT_GOOD),
    SeverityRule(EventSeverity.LOW, was_empty=True),
    SeverityRule(EventSeverity.MEDIUM, (STATUS,), (label(CERTIFICATE_STATUS_PREFIX + "reinstated"),)),
    SeverityRule(
        EventSeverity.HIGH,
        ("status",),
        tuple(label(STATUS_PREFIX + each) for each in ("no-longer-on-the-market", "not-intended-for-eu-market")),
    ),
    SeverityRule(EventSeverity.HIGH, (EXPIRY,), within_days=7, was_later=True),
    SeverityRule(EventSeverity.MEDIUM, ("risk_class", NUMBER, EXPIRY, "manufacturer_status")),
    SeverityRule(EventSeverity.LOW),
)
"""The first rule that applies to a change decides. Among the compared fields, values that were empty before come first:
the register is being filled until May 2027, and what it fills in has not changed. A new certificate or revision that is
withdrawn or similar is severe nevertheless, as is a certificate that gets such a status or an end which has come: no
later change reports it.
"""

NUMBERS: Mapping[str, str] = {number: device for device, number in NUMBER_OF.items()}
"""Fields with a number of devices, each with the field that names one of them."""

_ORDER = list(EventSeverity)
_FIRST_FIELDS = frozenset({"status", NUMBER, EXPIRY, STATUS, *NUMBERS})


def field_name(field: str) -> str:
    """A field's name for people; for one that a later release added, its own name made readable."""
    known = FIELDS.get(field)
    return known.name if known else field.replace("_", " ")


def severity_of(change: FieldChange, day: date) -> EventSeverity:
    """The severity of one change. `day` is the UTC day of its event."""
    return next(rule.severity for rule in SEVERITY_RULES if rule.applies(change, day))


def most_severe_first(changes: Iterable[FieldChange], day: date) -> list[FieldChange]:
    """Changes of a day by severity. Of several alike market status, certificates and numbers of devices come first, and
    the version of the record last.
    """
    return sorted(changes, key=lambda change: (_ORDER.index(severity_of(change, day)), _field_rank(change.field)))


def _field_rank(field: str) -> int:
    return 0 if field in _FIRST_FIELDS else 2 if field == "version" else 1


def is_version_alone(changes: Sequence[FieldChange]) -> bool:
    """Whether only the version of the record changed: no other compared field did."""
    return bool(changes) and all(each.field == "version" for each in changes)


def classified(changes: Sequence[FieldChange], day: date) -> tuple[EventKind, EventSeverity]:
    """Kind and severity of an event of a UTC day: those of its most severe change, the first of several alike."""
    if not changes:
        return EventKind.RECORD, EventSeverity.LOW
    most = min(changes, key=lambda change: _ORDER.index(severity_of(change, day)))
    known = FIELDS.get(most.field)
    return known.kind if known else EventKind.RECORD, severity_of(most, day)


def _ends_within(change: FieldChange, days: int, day: date) -> bool:
    left = days_of(change.new) if change.field == ENDS else days_left(change.new, day)
    return left is not None and left <= days


def _was_later(change: FieldChange, day: date) -> bool:
    before, now = days_left(change.old, day), days_left(change.new, day)
    return before is not None and now is not None and before >= 0 and before > now
