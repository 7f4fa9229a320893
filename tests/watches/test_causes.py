"""What several events have in common: what is said of their manufacturer, or the same of a certificate."""

import pytest

from registerwatch.watches.diff import EXPIRY, NUMBER, STATUS, FieldChange
from registerwatch.watches.events.causes import cause_of

SRN = "DE-MF-000006413"
SUSPENDED = FieldChange(STATUS, "Issued", "Suspended", "Z-1")
LATER = FieldChange(EXPIRY, "2030-01-01", "2031-01-01", "Z-1")
ENDS, OTHER_ENDS = (FieldChange("cert_ends", "2027-01-22", "in 7 days", number) for number in ("Z-1", "Z-2"))
INACTIVE = FieldChange("manufacturer_status", "Active", "Inactive")
RENAMED = FieldChange("trade_name", "A", "B")


def test_the_same_of_one_certificate_has_one_cause_in_whatever_order_it_is_told() -> None:
    assert cause_of("run", SRN, [SUSPENDED, LATER]) == cause_of("run", SRN, [LATER, SUSPENDED])
    assert str(cause_of("run", SRN, [SUSPENDED])).endswith(f"/{SRN}"), "readers know the manufacturer by it"


@pytest.mark.parametrize(
    "other",
    [
        ("run", SRN, [SUSPENDED, LATER]),
        ("run", SRN, [FieldChange(STATUS, "Issued", "Suspended", "Z-2")]),
        ("run", SRN, [FieldChange(NUMBER, "", "Z-1", "Z-1")]),
        ("run", SRN, [FieldChange(NUMBER, "", "Z-1", "Z-1"), FieldChange(NUMBER, "", "Z-1", "Z-1", revision="01")]),
        ("run", SRN, [FieldChange(STATUS, "Issued", "Suspended", "Z-1", revision="01")]),
        ("run", SRN, [INACTIVE]),
        ("another run", SRN, [SUSPENDED]),
        ("run", "FR-MF-000000001", [SUSPENDED]),
    ],
)
def test_something_else_has_another_cause(other: tuple[str, str, list[FieldChange]]) -> None:
    assert cause_of(*other) not in (None, cause_of("run", SRN, [SUSPENDED]))


def test_ends_have_one_cause_where_they_are_those_of_the_same_certificates() -> None:
    causes = [cause_of("run", SRN, changes) for changes in ([ENDS], [OTHER_ENDS], [ENDS, OTHER_ENDS], [INACTIVE])]

    assert len({*causes, None}) == 5
    assert causes[2] == cause_of("run", SRN, [OTHER_ENDS, ENDS])


def test_what_is_said_of_the_device_itself_has_no_common_cause() -> None:
    unnamed = FieldChange("cert_ends", "2027-01-22", "in 7 days")
    for changes in ([RENAMED], [SUSPENDED, RENAMED], [INACTIVE, SUSPENDED], [unnamed]):
        assert cause_of("run", SRN, changes) is None
    assert cause_of("run", "", [SUSPENDED]) is None
