"""What people call the compared fields, and which kind and severity an event has. Pure.

`FIELDS` and `SEVERITY_RULES` are the only place of these rules; `docs/events.md` shows both, and a test compares.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from registerwatch.register.codes import CERTIFICATE_STATUS_PREFIX, STATUS_PREFIX, label
from registerwatch.watches.diff import EXPIRY, NUMBER, STATUS, FieldChange
from registerwatch.watches.models import EventKind, EventSeverity


@dataclass(frozen=True, slots=True)
class EventField:
    """A compared field: what people call it, and what its change is about."""

    name: str
    kind: EventKind


@dataclass(frozen=True, slots=True)
class SeverityRule:
    """A change of one of `fields` (any field where there is none) has this severity.

    `new` limits the rule to these new values, `was_empty` to changes of a value that was empty before.
    """

    severity: EventSeverity
    fields: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    was_empty: bool = False

    def applies(self, change: FieldChange) -> bool:
        """Whether the rule is about this change."""
        return (
            (not self.fields or change.field in self.fields)
            and (not self.new or change.new.casefold() in {each.casefold() for each in self.new})
            and not (self.was_empty and change.old)
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
}

SEVERITY_RULES: Sequence[SeverityRule] = (
    SeverityRule(EventSeverity.LOW, was_empty=True),
    SeverityRule(
        EventSeverity.HIGH,
        (STATUS,),
        tuple(
            label(CERTIFICATE_STATUS_PREFIX + each)
            for each in ("suspended", "withdrawn", "cancelled", "expired", "restricted")
        ),
    ),
    SeverityRule(
        EventSeverity.HIGH,
        ("status",),
        tuple(label(STATUS_PREFIX + each) for each in ("no-longer-on-the-market", "not-intended-for-eu-market")),
    ),
    SeverityRule(EventSeverity.MEDIUM, ("risk_class", NUMBER, EXPIRY, "manufacturer_status")),
    SeverityRule(EventSeverity.LOW),
)
"""The first rule that applies to a change decides. Values that were empty before come first: the register is being
filled until May 2027, and what it fills in has not changed.
"""

_ORDER = list(EventSeverity)
_FIRST_FIELDS = frozenset({"status", NUMBER, EXPIRY, STATUS})


def field_name(field: str) -> str:
    """What people call a field; of one that a later release added, its own name made readable."""
    known = FIELDS.get(field)
    return known.name if known else field.replace("_", " ")


def told(change: FieldChange) -> str:
    """A change as people read it: `certificate expiry (Z-25-052): 2026-12-24 → 2030-09-16`."""
    of = f" ({change.certificate})" if change.certificate else ""
    return f"{field_name(change.field)}{of}: {change.old or '–'} → {change.new}"


def severity_of(change: FieldChange) -> EventSeverity:
    """How much one change matters."""
    return next(rule.severity for rule in SEVERITY_RULES if rule.applies(change))


def most_severe_first(changes: Iterable[FieldChange]) -> list[FieldChange]:
    """Changes as people read them: by severity, of several alike market status and certificates first, the version
    of the record last.
    """
    return sorted(changes, key=lambda change: (_ORDER.index(severity_of(change)), _field_rank(change.field)))


def _field_rank(field: str) -> int:
    return 0 if field in _FIRST_FIELDS else 2 if field == "version" else 1


def classified(changes: Sequence[FieldChange]) -> tuple[EventKind, EventSeverity]:
    """Kind and severity of an event: those of its most severe change, of several alike the first."""
    if not changes:
        return EventKind.RECORD, EventSeverity.LOW
    most = min(changes, key=lambda change: _ORDER.index(severity_of(change)))
    known = FIELDS.get(most.field)
    return known.kind if known else EventKind.RECORD, severity_of(most)
