"""How certificates stand on a day."""

from datetime import date

import pytest

from registerwatch.pages.public.certificates import Standing, kind_of_certificate, standing_of, standings, tally
from registerwatch.register.models import Certificate

TODAY = date(2026, 11, 21)
STATUS = "refdata.certificate-status."


def _certificate(expiry: str | None, status: str = "issued", **more: str) -> Certificate:
    return Certificate("G10 1", expiry=expiry, status_code=STATUS + status, status=status.capitalize(), **more)


@pytest.mark.parametrize(
    ("expiry", "expected"),
    [
        ("2026-11-20", Standing.EXPIRED),
        ("2026-11-21", Standing.EXPIRING),
        ("2027-05-20", Standing.EXPIRING),
        ("2027-05-21", Standing.VALID),
        ("2031-01-01", Standing.VALID),
        (None, Standing.UNDATED),
        ("soon", Standing.UNDATED),
    ],
)
def test_a_certificate_is_valid_through_its_last_day_and_expiring_for_180_days(
    expiry: str | None, expected: Standing
) -> None:
    assert standing_of(_certificate(expiry), TODAY) is expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("withdrawn", Standing.ENDED),
        ("cancelled", Standing.ENDED),
        ("suspended", Standing.SUSPENDED),
        ("expired", Standing.EXPIRED),
        ("restricted", Standing.VALID),
        ("reissued", Standing.VALID),
        ("some-new-status", Standing.VALID),
    ],
)
def test_what_the_register_ended_is_never_called_valid(status: str, expected: Standing) -> None:
    assert standing_of(_certificate("2031-01-01", status), TODAY) is expected


def test_a_withdrawn_certificate_stays_withdrawn_when_its_date_passes() -> None:
    shown = standings([_certificate("2020-01-01", "withdrawn")], TODAY)[0]

    assert shown.standing is Standing.ENDED
    assert shown.words == "Withdrawn"


def test_a_certificate_that_begins_later_is_not_valid_yet() -> None:
    assert standing_of(_certificate("2031-01-01", valid_from="2026-11-22"), TODAY) is Standing.NOT_YET
    assert standing_of(_certificate("2031-01-01", valid_from="2026-11-21"), TODAY) is Standing.VALID


def test_certificates_come_by_expiry_and_those_without_a_date_last() -> None:
    expiries = [None, "2031-01-01", "2019-05-05", "2026-12-24"]

    shown = standings([_certificate(each) for each in expiries], TODAY)

    assert [each.certificate.expiry for each in shown] == ["2019-05-05", "2026-12-24", "2031-01-01", None]


def test_the_tally_counts_each_standing_and_begins_with_what_needs_attention() -> None:
    shown = standings([_certificate(each) for each in ("2031-01-01", None, "2030-01-01", "2019-05-05")], TODAY)

    assert tally(shown) == [(Standing.EXPIRED, 1), (Standing.VALID, 2), (Standing.UNDATED, 1)]
    assert tally([]) == []


@pytest.mark.parametrize(
    ("expiry", "words"),
    [
        ("2026-11-21", "today"),
        ("2026-11-22", "tomorrow"),
        ("2026-11-20", "yesterday"),
        ("2027-01-02", "in 42 days"),
        ("2020-11-21", "2,191 days ago"),
        (None, ""),
    ],
)
def test_the_distance_to_expiry_is_told_in_days(expiry: str | None, words: str) -> None:
    assert standings([_certificate(expiry)], TODAY)[0].when == words


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("MDD_II_EX_4", "MDD Annex II without section 4"),
        ("refdata.legacy.mdd-certificate-type.ii-ex-4", "MDD Annex II without section 4"),
        ("MDD_II_4", "MDD Annex II section 4"),
        ("refdata.legacy.ivdd-certificate-type.iv", "IVDD Annex IV"),
        ("refdata.certificate-mdr-type.quality-management-system", "MDR quality management system"),
        ("IVDR_TECHNICAL_DOCUMENTATION", "IVDR technical documentation"),
        ("refdata.something-else.brand-new", "brand new"),
        ("", ""),
    ],
)
def test_kinds_of_certificates_are_readable_in_every_form_of_their_code(code: str, words: str) -> None:
    assert kind_of_certificate(code) == words
