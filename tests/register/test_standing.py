"""How the certificates of a device stand together."""

from datetime import date

import pytest

from registerwatch.register.certificate_states import CertificateState, in_order, shown_certificate
from registerwatch.register.codes import CERTIFICATE_STATUSES, StatusFilter
from registerwatch.register.models import Certificate
from registerwatch.register.standing import CertificateStanding, device_standing, market_tone

TODAY = date(2026, 11, 21)


def standing(*certificates: tuple[str | None, str], is_listed: bool = True) -> CertificateStanding:
    """Of certificates with an expiry and a status."""
    made = [
        Certificate(f"Z-{place}", expiry=expiry, status=status.capitalize(), status_code=f"refdata.x.{status}")
        for place, (expiry, status) in enumerate(certificates)
    ]
    return CertificateStanding(in_order(shown_certificate(each, TODAY, is_listed=is_listed) for each in made))


VALID, LATER, PAST = ("2031-11-21", "issued"), ("2032-01-01", "issued"), ("2026-11-20", "issued")
CONTRADICTED, WITHDRAWN, UNDATED = ("2031-11-21", "expired"), ("2029-01-01", "withdrawn"), (None, "issued")
UNHEARD_OF, OTHER_UNHEARD_OF = ("2033-01-01", "held-back"), ("2033-02-01", "deferred")
RESTRICTED = "2030-01-01", "restricted"
COVERED, NONE = [("Covered until", "2031-11-21")], [("None valid today", "")]


@pytest.mark.parametrize(
    ("certificates", "words", "tone", "ends"),
    [
        ([VALID], "Valid", "good", COVERED),
        ([LATER, VALID], "Valid", "good", [("First end", "2031-11-21"), ("Covered until", "2032-01-01")]),
        ([VALID, WITHDRAWN], "Withdrawn (1 of 2)", "warn", COVERED),
        ([VALID, RESTRICTED], "Restricted (1 of 2)", "warn", [("First end", "2030-01-01"), *COVERED]),
        ([VALID, UNDATED], "No end date (1 of 2)", "good", [("First end", "2031-11-21"), ("No end date", "")]),
        ([UNDATED, WITHDRAWN], "Withdrawn (1 of 2)", "warn", [("No end date", "")]),
        ([(None, "reinstated")], "No end date", "good", [("No end date", "")]),
        ([(None, "withdrawn")], "Withdrawn", "bad", NONE),
        ([UNHEARD_OF], "Held-back", "none", [("Not known whether valid today", "")]),
        ([UNHEARD_OF, VALID], "Valid (1 of 2)", "none", [("First end", "2031-11-21")]),
        ([UNHEARD_OF, OTHER_UNHEARD_OF], "Held-back (1 of 2)", "none", [("Not known whether valid today", "")]),
        ([UNHEARD_OF, UNHEARD_OF], "Held-back", "none", [("Not known whether valid today", "")]),
        ([PAST], "Expired", "bad", [("Ended", "2026-11-20")]),
        ([PAST, ("2020-01-01", "issued")], "Expired", "bad", [("Ended", "2026-11-20")]),
        ([CONTRADICTED], "Expired by status, not by date", "bad", NONE),
        ([CONTRADICTED, PAST], "Expired (1 of 2)", "bad", NONE),
        ([WITHDRAWN, PAST], "Withdrawn (1 of 2)", "bad", NONE),
        ([("2031-01-01", "suspended")], "Suspended", "bad", NONE),
        ([UNDATED], "No end date", "good", [("No end date", "")]),
        ([], "", "none", []),
    ],
)
def test_the_worst_is_named_and_the_dates_are_those_of_the_certificates_that_count(
    certificates: list[tuple[str | None, str]], words: str, tone: str, ends: list[tuple[str, str]]
) -> None:
    found = standing(*certificates)

    assert (found.words, found.tone, found.ends) == (words, tone, ends)
    named = dict(ends)
    assert found.covered_until == named.get("Covered until", "")
    assert found.first_end == named.get("First end", found.covered_until)


def test_the_worst_certificate_is_the_one_that_is_most_serious_and_not_the_one_that_is_listed_first() -> None:
    """The order is: withdrawn, suspended, cancelled, expired, restricted, ends soon, no end date, valid, unknown."""
    serious = [
        ("2031-01-01", "withdrawn"),
        ("2031-01-01", "suspended"),
        ("2031-01-01", "cancelled"),
        PAST,
        CONTRADICTED,
        RESTRICTED,
        ("2027-01-01", "issued"),
        UNDATED,
        VALID,
        UNHEARD_OF,
    ]
    words = [standing(*serious[place:]).words.partition(" (")[0] for place in range(len(serious))]

    assert words == [
        *("Withdrawn", "Suspended", "Cancelled", "Expired", "Expired by status, not by date"),
        *("Restricted", "Ends within 90 days", "No end date", "Valid", "Held-back"),
    ]
    assert standing(VALID, ("2031-01-01", "suspended"), RESTRICTED, PAST).words == "Suspended (1 of 4)"


def test_only_certificates_that_are_valid_without_a_reservation_are_good() -> None:
    good = {each for each in CertificateState if each.tone == "good"}
    by_status = {each: standing(("2031-11-21", each)).tone for each in CERTIFICATE_STATUSES}

    assert good == {CertificateState.VALID, CertificateState.UNDATED}
    assert {each for each, tone in by_status.items() if tone == "bad"} == {
        *("suspended", "withdrawn", "cancelled", "expired")
    }
    assert {each for each, tone in by_status.items() if tone == "warn"} == {"restricted"}


def test_it_is_said_which_certificates_the_dates_are_of() -> None:
    assert standing(VALID).note == ""
    assert standing(VALID, LATER).note == "2 count as valid"
    assert standing(VALID, LATER, PAST).note == "2 count as valid, 1 does not"
    assert standing(VALID, PAST, WITHDRAWN).note == "One counts as valid, 2 do not"
    assert standing(UNDATED).note == ""
    assert standing(UNDATED, UNDATED).note == "2 count as valid"
    assert standing(VALID, UNDATED).note == "2 count as valid, of which 1 has no end date"
    assert standing(UNDATED, PAST).note == "One counts as valid, 1 does not"
    assert standing(VALID, UNHEARD_OF).note == "One counts as valid, of 1 that is not known"
    assert standing(UNHEARD_OF).note == ""


def test_certificates_that_are_listed_no_more_do_not_count() -> None:
    gone = standing(VALID, is_listed=False)

    assert (gone.words, gone.tone, gone.ends, gone.first_end) == ("No longer listed", "bad", [], "")


def test_a_device_stands_as_badly_as_its_status_or_its_worst_certificate() -> None:
    on, off, not_eu = (each.code for each in (StatusFilter.ON, StatusFilter.OFF, StatusFilter.NOT_EU))
    withdrawn, valid = (standing(each).certificates for each in (WITHDRAWN, VALID))

    assert [market_tone(code) for code in (on, off, not_eu, "")] == ["good", "warn", "bad", "none"]
    assert [device_standing("x", *each).tone for each in ((on, valid), (off, valid), (on, withdrawn), ("", valid))] == [
        *("good", "warn", "bad", "none")
    ]
    assert device_standing("Off", off, withdrawn).warnings == [("Off", "warn"), ("Certificate withdrawn", "bad")]
