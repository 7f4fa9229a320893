"""Which kind and severity a change has, in which order people read changes, and the page that says so."""

import re
from datetime import date
from pathlib import Path

import pytest

from registerwatch.watches.diff import EXPIRY, NUMBER, STATUS, FieldChange
from registerwatch.watches.events.event_rules import FIELDS, SEVERITY_RULES, SeverityRule, classified, most_severe_first
from registerwatch.watches.models import EventKind, EventSeverity
from registerwatch.watches.news.expiry_marks import ENDS
from registerwatch.watches.news.news_changes import NUMBER_OF, REFUSED, REVISION
from registerwatch.watches.snapshot import COMPARED

PAGE = (Path(__file__).parents[2] / "docs" / "events.md").read_text(encoding="utf-8")
RECORD, CERTIFICATE, PORTFOLIO, EXPIRES = (
    EventKind.RECORD,
    EventKind.CERTIFICATE,
    EventKind.PORTFOLIO,
    EventKind.EXPIRY,
)
HIGH, MEDIUM, LOW = EventSeverity
DAY = date(2026, 12, 17)
"""The day of the events."""


@pytest.mark.parametrize(
    ("field", "old", "new", "expected"),
    [
        ("cert_status", "Issued", "Suspended", (CERTIFICATE, HIGH)),
        ("cert_status", "Issued", "withdrawn", (CERTIFICATE, HIGH)),
        ("cert_status", "Suspended", "Issued", (CERTIFICATE, LOW)),
        ("cert_status", "", "Withdrawn", (CERTIFICATE, HIGH)),
        ("cert_status", "", "Restricted", (CERTIFICATE, HIGH)),
        ("cert_status", "", "Issued", (CERTIFICATE, LOW)),
        ("status", "On the EU market", "No longer placed on the EU market", (RECORD, HIGH)),
        ("status", "No longer placed on the EU market", "On the EU market", (RECORD, LOW)),
        ("risk_class", "Class I", "Class IIa", (RECORD, MEDIUM)),
        ("risk_class", "", "Class IIa", (RECORD, LOW)),
        ("certificate", "Z-1", "Z-2", (CERTIFICATE, MEDIUM)),
        ("certificate", "", "Z-2", (CERTIFICATE, LOW)),
        ("cert_expiry", "2030-01-01", "2031-01-01", (EXPIRES, MEDIUM)),
        ("cert_expiry", "2030-01-01", "2026-12-25", (EXPIRES, MEDIUM)),
        ("cert_expiry", "2030-01-01", "2026-12-24", (EXPIRES, HIGH)),
        ("cert_expiry", "2030-01-01", "2026-12-17", (EXPIRES, HIGH)),
        ("cert_expiry", "2030-01-01", "2026-12-16", (EXPIRES, HIGH)),
        ("cert_expiry", "2026-12-17", "2020-01-01", (EXPIRES, HIGH)),
        ("cert_expiry", "2026-12-16", "2020-01-01", (EXPIRES, MEDIUM)),
        ("cert_expiry", "2026-12-18", "2026-12-20", (EXPIRES, MEDIUM)),
        ("cert_expiry", "", "2031-12-16", (EXPIRES, LOW)),
        ("cert_expiry", "", "2026-12-16", (EXPIRES, HIGH)),
        ("cert_expiry", "2030-01-01", "soon", (EXPIRES, MEDIUM)),
        ("manufacturer_status", "Active", "Inactive", (RECORD, MEDIUM)),
        ("device_total", "7", "8", (PORTFOLIO, LOW)),
        ("reference", "R-1", "R-2", (RECORD, LOW)),
        ("devices_registered", "", "12", (PORTFOLIO, LOW)),
        ("device_registered", "", "Savina", (PORTFOLIO, LOW)),
        ("devices_off_market", "", "1", (PORTFOLIO, HIGH)),
        ("device_off_market", "", "Savina", (PORTFOLIO, HIGH)),
        ("devices_on_market", "", "1", (PORTFOLIO, LOW)),
        ("cert_revision", "01", "02", (CERTIFICATE, LOW)),
        ("cert_status", "Suspended", "Reinstated", (CERTIFICATE, MEDIUM)),
        ("cert_status", "", "Reinstated", (CERTIFICATE, LOW)),
        ("cert_refused", "", "A-17", (CERTIFICATE, MEDIUM)),
        ("cert_ends", "2026-12-24", "in 90 days", (EXPIRES, LOW)),
        ("cert_ends", "2026-12-24", "in 31 days", (EXPIRES, LOW)),
        ("cert_ends", "2026-12-24", "in 30 days", (EXPIRES, MEDIUM)),
        ("cert_ends", "2026-12-24", "in 8 days", (EXPIRES, MEDIUM)),
        ("cert_ends", "2026-12-24", "in 7 days", (EXPIRES, HIGH)),
        ("cert_ends", "2026-12-24", "in 1 day", (EXPIRES, HIGH)),
        ("cert_ends", "2026-12-24", "today", (EXPIRES, HIGH)),
        ("cert_ends", "2026-12-24", "3 days ago", (EXPIRES, HIGH)),
        ("of_a_later_release", "a", "b", (RECORD, LOW)),
    ],
)
def test_a_change_has_a_kind_and_a_severity(
    field: str, old: str, new: str, expected: tuple[EventKind, EventSeverity]
) -> None:
    assert classified([FieldChange(field, old, new)], DAY) == expected


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        ("Withdrawn", HIGH),
        ("Suspended", HIGH),
        ("Cancelled", HIGH),
        ("Restricted", HIGH),
        ("Expired", HIGH),
        ("Held back", LOW),
        (None, LOW),
    ],
)
def test_a_new_certificate_is_severe_where_a_change_to_its_status_would_be(
    standing: str | None, expected: EventSeverity
) -> None:
    new = FieldChange("certificate", "", "Z-1", "Z-1", standing=standing)

    revised = FieldChange("cert_revision", "01", "02", "Z-1", standing=standing)

    assert classified([new], DAY) == classified([revised], DAY) == (CERTIFICATE, expected)
    assert classified([FieldChange("cert_ends", "2026-12-24", "in 90 days", standing=standing)], DAY) == (EXPIRES, LOW)


def test_an_event_is_what_its_most_severe_change_is() -> None:
    reference, expiry = FieldChange("reference", "1", "2"), FieldChange("cert_expiry", "2030-01-01", "2031-01-01")
    withdrawn = FieldChange("cert_status", "Issued", "Withdrawn")

    assert classified([reference, expiry], DAY) == (EXPIRES, MEDIUM)
    assert classified([expiry, reference, withdrawn], DAY) == (CERTIFICATE, HIGH)
    assert classified([reference], DAY) == (RECORD, LOW)


def test_people_read_first_what_matters_most() -> None:
    version, reference = FieldChange("version", "1", "2"), FieldChange("reference", "1", "2")
    found = FieldChange(NUMBER, "", "Z-1", "Z-1")
    status = FieldChange("status", "On the EU market", "No longer placed on the EU market")
    risk = FieldChange("risk_class", "I", "IIa")

    assert most_severe_first([version, reference, found, risk, status], DAY) == [
        status,
        risk,
        found,
        reference,
        version,
    ]


def test_every_compared_field_has_a_name_and_a_kind() -> None:
    assert set(FIELDS) == {*COMPARED, NUMBER, EXPIRY, STATUS, REVISION, REFUSED, ENDS, *NUMBER_OF, *NUMBER_OF.values()}


def test_the_page_shows_the_fields_and_the_rules() -> None:
    fields = [f"| `{name}` | {field.name} | `{field.kind}` |" for name, field in FIELDS.items()]
    assert re.findall(r"^\| `\w+` \| [^`|]+ \| `\w+` \|$", PAGE, flags=re.MULTILINE) == fields
    rules = PAGE.partition("| severity |")[2].partition("\n\n")[0].splitlines()[2:]
    assert rules == [_line(rule) for rule in SEVERITY_RULES]


def _line(rule: SeverityRule) -> str:
    fields = ", ".join(f"`{field}`" for field in rule.fields) or "any"
    before = "empty" if rule.was_empty else "later, and not past" if rule.was_later else "any"
    now = ", ".join(rule.new) or ("any" if rule.within_days is None else f"at most {rule.within_days} days ahead")
    now += f", with `standing` {', '.join(rule.standings)}" if rule.standings else ""
    return f"| `{rule.severity}` | {fields} | {before} | {now} |"
