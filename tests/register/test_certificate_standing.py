"""How the certificates of a device stand together."""

from datetime import date

import pytest

from registerwatch.register.certificate_standing import CertificateStanding
from registerwatch.register.certificate_states import shown_certificates
from registerwatch.register.models import Certificate

TODAY = date(2026, 11, 21)


def standing(*certificates: tuple[str | None, str], are_gone: bool = False) -> CertificateStanding:
    """Of certificates with an expiry and a status."""
    made = [
        Certificate(f"Z-{place}", expiry=expiry, status=status.capitalize(), status_code=f"refdata.x.{status}")
        for place, (expiry, status) in enumerate(certificates)
    ]
    return CertificateStanding(shown_certificates(made, TODAY), are_gone)


VALID, LATER, PAST = ("2031-11-21", "issued"), ("2032-01-01", "issued"), ("2026-11-20", "issued")
EXPIRED, WITHDRAWN, UNDATED = ("2031-11-21", "expired"), ("2029-01-01", "withdrawn"), (None, "issued")
UNHEARD_OF = ("2033-01-01", "held-back")


@pytest.mark.parametrize(
    ("certificates", "words", "tone", "until"),
    [
        ([VALID], "Valid", "good", ("Valid until", "2031-11-21")),
        ([LATER, VALID], "Valid", "good", ("Valid until", "2031-11-21")),
        ([VALID, WITHDRAWN], "Withdrawn (1 of 2)", "warn", ("Valid until", "2031-11-21")),
        ([VALID, UNDATED], "No end date (1 of 2)", "good", ("Valid until", "2031-11-21")),
        ([UNDATED, WITHDRAWN], "Withdrawn (1 of 2)", "warn", ("No end date", "")),
        ([(None, "reinstated")], "No end date", "good", ("No end date", "")),
        ([(None, "withdrawn")], "Withdrawn", "bad", ("None valid today", "")),
        ([UNHEARD_OF], "Held-back", "none", ("Not known whether valid today", "")),
        ([UNHEARD_OF, VALID], "Valid (1 of 2)", "good", ("Valid until", "2031-11-21")),
        ([PAST], "Expired", "bad", ("Expired since", "2026-11-20")),
        ([PAST, ("2020-01-01", "issued")], "Expired", "bad", ("Expired since", "2026-11-20")),
        ([EXPIRED], "Expired", "bad", ("Expired by status", "")),
        ([EXPIRED, PAST], "Expired", "bad", ("Expired by status", "")),
        ([WITHDRAWN, PAST], "Expired (1 of 2)", "bad", ("None valid today", "")),
        ([("2031-01-01", "suspended")], "Suspended", "bad", ("None valid today", "")),
        ([UNDATED], "No end date", "good", ("No end date", "")),
        ([], "", "none", ("", "")),
    ],
)
def test_the_worst_is_named_and_the_date_is_that_of_the_certificates_that_count(
    certificates: list[tuple[str | None, str]], words: str, tone: str, until: tuple[str, str]
) -> None:
    found = standing(*certificates)

    assert (found.words, found.tone, found.until) == (words, tone, until)
    assert found.next_end == (until[1] if until[0] == "Valid until" else "")


def test_it_is_said_which_certificates_the_date_is_of() -> None:
    assert standing(VALID).note == ""
    assert standing(VALID, LATER).note == "First end of 2 that count as valid"
    assert standing(VALID, LATER, PAST).note == "First end of 2 that count as valid, 1 does not"
    assert standing(VALID, PAST, WITHDRAWN).note == "One counts as valid, 2 do not"
    assert standing(UNDATED).note == ""
    assert standing(UNDATED, UNDATED).note == "2 count as valid"
    assert standing(VALID, UNDATED).note == "First end of 2 that count as valid, of which 1 has no end date"
    assert standing(UNDATED, PAST).note == "One counts as valid, 1 does not"
    assert standing(VALID, UNHEARD_OF).note == "One counts as valid, of 1 that is not known"
    assert standing(UNHEARD_OF).note == ""


def test_certificates_that_are_listed_no_more_do_not_count() -> None:
    gone = standing(VALID, are_gone=True)

    assert (gone.words, gone.tone, gone.until, gone.next_end) == ("No longer listed", "bad", ("", ""), "")
