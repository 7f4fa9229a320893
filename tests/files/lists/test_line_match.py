"""Until when the certificates of a line cover it."""

from datetime import date

import pytest

from registerwatch.files.lists.line_match import certified_until
from registerwatch.register.models import Certificate

TODAY = date(2026, 11, 21)
ENDED, LATER = ("2026-11-20", "issued"), ("2031-01-01", "amended")


@pytest.mark.parametrize(
    ("certificates", "expected"),
    [
        ([], None),
        ([ENDED], ""),
        ([ENDED, LATER, ("2029-01-01", "reinstated")], "2031-01-01"),
        ([(None, "issued"), LATER], None),
        ([(None, "withdrawn"), LATER], "2031-01-01"),
        ([(None, "withdrawn")], ""),
        ([("2032-01-01", "held-back"), LATER], None),
        ([("2030-01-01", "held-back"), LATER], "2031-01-01"),
        ([(None, "held-back")], None),
        ([("2026-11-20", "held-back")], ""),
    ],
)
def test_no_end_date_covers_without_an_end_and_a_status_that_is_not_known_decides_nothing(
    certificates: list[tuple[str | None, str]], expected: str | None
) -> None:
    made = [
        Certificate(f"Z-{place}", expiry=expiry, status_code=f"refdata.certificate-status.{status}")
        for place, (expiry, status) in enumerate(certificates)
    ]

    assert certified_until(made, TODAY) == expected
