"""How certificates stand on a day."""

from datetime import date
from typing import Any

import pytest

from registerwatch.register.certificate_states import (
    NOT_IN_FORCE,
    CertificateState,
    count_by_words,
    shown_certificates,
    state_of,
    words_by_status,
)
from registerwatch.register.codes import CERTIFICATE_STATUSES
from registerwatch.register.models import Certificate

TODAY = date(2026, 11, 21)
STATUS = "refdata.certificate-status."


def _certificate(expiry: str | None, status: str = "issued", **more: Any) -> Certificate:
    return Certificate("G10 1", expiry=expiry, status_code=STATUS + status, status=status.capitalize(), **more)


@pytest.mark.parametrize(
    ("expiry", "expected"),
    [
        ("2026-11-20", CertificateState.EXPIRED),
        ("2026-11-21", CertificateState.ENDING),
        ("2027-02-19", CertificateState.ENDING),
        ("2027-02-20", CertificateState.VALID),
        ("2031-01-01", CertificateState.VALID),
        (None, CertificateState.UNDATED),
        ("soon", CertificateState.UNKNOWN),
    ],
)
def test_a_certificate_is_valid_through_its_last_day_and_ends_soon_for_90_days(
    expiry: str | None, expected: CertificateState
) -> None:
    assert state_of(_certificate(expiry), TODAY) is expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("withdrawn", CertificateState.WITHDRAWN),
        ("cancelled", CertificateState.CANCELLED),
        ("suspended", CertificateState.SUSPENDED),
        ("expired", CertificateState.CONTRADICTED),
        ("restricted", CertificateState.RESTRICTED),
        ("reissued", CertificateState.VALID),
        ("reinstated", CertificateState.VALID),
        ("some-new-status", CertificateState.UNKNOWN),
    ],
)
def test_what_the_register_ended_is_never_called_valid(status: str, expected: CertificateState) -> None:
    assert state_of(_certificate("2031-01-01", status), TODAY) is expected


def test_a_withdrawn_certificate_stays_withdrawn_when_its_date_passes() -> None:
    shown = shown_certificates([_certificate("2020-01-01", "withdrawn")], TODAY)[0]

    assert shown.state is CertificateState.WITHDRAWN
    assert shown.words == "Withdrawn"


@pytest.mark.parametrize("status", CERTIFICATE_STATUSES)
def test_without_an_end_date_the_status_alone_decides_and_the_date_never_ends_it(status: str) -> None:
    [shown] = shown_certificates([_certificate(None, status)], TODAY)

    assert shown.counts is (status not in NOT_IN_FORCE)
    assert (shown.words == "No end date") is (shown.counts and status != "restricted")
    assert shown.when == ""


def test_a_status_that_is_not_known_is_shown_and_decides_nothing() -> None:
    [shown] = shown_certificates([_certificate(None, "held-back")], TODAY)

    assert (shown.words, shown.counts) == ("Held-back", False)
    assert shown.counts_in_words == "Not known whether it counts as valid"
    assert state_of(_certificate("2026-11-20", "held-back"), TODAY) is CertificateState.EXPIRED
    assert state_of(Certificate("G10 1"), TODAY) is CertificateState.UNDATED, "without a status dates decide"


@pytest.mark.parametrize("status", [*CERTIFICATE_STATUSES, "held-back"])
def test_a_status_alone_has_the_words_of_a_certificate_without_dates_and_none_where_that_is_in_force(
    status: str,
) -> None:
    [shown] = shown_certificates([Certificate("Z-1", status_code=STATUS + status)], TODAY)

    words = words_by_status(STATUS + status)

    assert words == ("" if shown.state is CertificateState.UNDATED else shown.words)
    assert bool(words) is (status in {*NOT_IN_FORCE, "restricted", "held-back"})
    assert words_by_status("") == ""


def test_a_certificate_that_begins_later_is_not_valid_yet() -> None:
    assert state_of(_certificate("2031-01-01", valid_from="2026-11-22"), TODAY) is CertificateState.NOT_YET
    assert state_of(_certificate("2031-01-01", valid_from="2026-11-21"), TODAY) is CertificateState.VALID


def test_certificates_come_by_expiry_and_those_without_a_date_last() -> None:
    expiries = [None, "2031-01-01", "2019-05-05", "2026-12-24"]

    shown = shown_certificates([_certificate(each) for each in expiries], TODAY)

    assert [each.certificate.expiry for each in shown] == ["2019-05-05", "2026-12-24", "2031-01-01", None]


def test_the_tally_counts_each_standing_and_begins_with_what_needs_attention() -> None:
    shown = shown_certificates([_certificate(each) for each in ("2031-01-01", None, "2030-01-01", "2019-05-05")], TODAY)

    assert count_by_words(shown) == [("Expired", "bad", 1), ("No end date", "good", 1), ("Valid", "good", 2)]
    assert count_by_words([]) == []


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
    assert shown_certificates([_certificate(expiry)], TODAY)[0].when == words


@pytest.mark.parametrize(
    ("expiry", "status", "contradicts"),
    [
        ("2032-05-20", "expired", True),
        ("2026-11-21", "expired", True),
        ("2026-11-20", "expired", False),
        (None, "expired", False),
        ("2032-05-20", "issued", False),
        ("2032-05-20", "withdrawn", False),
    ],
)
def test_a_status_and_a_date_that_contradict_each_other_are_told(
    expiry: str | None, status: str, contradicts: bool
) -> None:
    shown = shown_certificates([_certificate(expiry, status)], TODAY)[0]

    assert bool(shown.contradiction) is contradicts
    assert not contradicts or (shown.words, shown.when, shown.end) == ("Expired by status, not by date", "", "")
