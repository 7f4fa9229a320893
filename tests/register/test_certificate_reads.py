"""Which newer reads of other devices and of the list differ from the certificates of a device."""

from datetime import date
from typing import Any

import pytest

from registerwatch.register.certificate_reads import (
    CertificateRead,
    DeviceRead,
    ListRead,
    confirmed_at,
    listed_otherwise,
    newer_reads,
)
from registerwatch.register.certificate_states import shown_certificate
from registerwatch.register.codes import CERTIFICATE_STATUS_PREFIX
from registerwatch.register.models import Certificate

TODAY = date(2027, 1, 15)
BEFORE, THEN, AFTER = "2027-01-14T00:00:00Z", "2027-01-14T06:00:00Z", "2027-01-14T12:00:00Z"


def a_certificate(status: str = "issued", **fields: Any) -> Certificate:
    """A certificate with a revision, of one notified body."""
    known = {"revision": "01", "expiry": "2030-01-01", "notified_body": "0123", **fields}
    return Certificate("Z-1", status_code=CERTIFICATE_STATUS_PREFIX + status if status else "", **known)


def words(own: list[Certificate], *read: Certificate, as_of: str = AFTER) -> list[str]:
    """How the read of another device has each certificate, where it differs from what was known `THEN`."""
    shown = [shown_certificate(each, TODAY) for each in own]
    first = read[0]
    other = CertificateRead(
        "DE-MF-1", first.number, first.revision, first.notified_body, DeviceRead(as_of, read, "04012345678901")
    )
    found = newer_reads(shown, [THEN] * len(own), [other], TODAY)
    return ["" if each is None else each.shown.words for each in found]


def test_a_newer_read_with_another_state_or_end_differs() -> None:
    assert words([a_certificate()], a_certificate("withdrawn")) == ["Withdrawn"]
    assert words([a_certificate()], a_certificate(expiry="2031-01-01")) == ["Valid"]
    assert words([a_certificate("withdrawn")], a_certificate()) == ["Valid"]


def test_a_newer_read_with_another_status_differs_where_both_count_alike() -> None:
    assert words([a_certificate()], a_certificate("amended")) == ["Valid"]
    assert words([a_certificate("amended")], a_certificate("")) == [""]
    assert words([a_certificate("expired", expiry="2026-01-01")], a_certificate(expiry="2026-01-01")) == ["Expired"]


def test_an_equal_an_older_and_a_simultaneous_read_do_not() -> None:
    assert words([a_certificate()], a_certificate()) == [""]
    for as_of in (BEFORE, THEN):
        assert words([a_certificate()], a_certificate("withdrawn"), as_of=as_of) == [""]


@pytest.mark.parametrize("unknown", [{"revision": ""}, {"notified_body": ""}])
def test_what_can_be_a_renewal_does_not_differ(unknown: dict[str, str]) -> None:
    assert words([a_certificate()], a_certificate("withdrawn", **unknown)) == ["Withdrawn"]
    assert words([a_certificate()], a_certificate(expiry="2035-01-01", **unknown)) == [""]
    assert words([a_certificate()], a_certificate("withdrawn", revision="02")) == [""]


def test_a_certificate_that_both_list_twice_differs_as_a_whole() -> None:
    twice = [a_certificate(), a_certificate("suspended")]

    assert words(twice, *twice) == ["", ""]
    assert words(twice, a_certificate("withdrawn"), a_certificate("suspended")) == ["Withdrawn", "Withdrawn"]


def in_list(status: str = "issued", *, is_listed: bool = True, as_of: str = AFTER, **fields: str | None) -> ListRead:
    """The certificate in the register's list."""
    known = a_certificate(status, **fields)
    return ListRead("Z-1", known.revision, "0123", None, known.expiry, known.status_code, is_listed, as_of)


def listed_words(own: list[Certificate], *listed: ListRead) -> list[str]:
    """How the list has each certificate, where it was read after `THEN` and differs."""
    shown = [shown_certificate(each, TODAY) for each in own]
    found = [listed_otherwise(each, THEN, listed, shown, TODAY) for each in shown]
    return ["" if each is None else each.shown.words for each in found]


def test_a_list_that_was_read_later_differs_in_state_or_end() -> None:
    assert listed_words([a_certificate()], in_list("withdrawn")) == ["Withdrawn"]
    assert listed_words([a_certificate()], in_list(expiry="2031-01-01")) == ["Valid"]
    assert listed_words([a_certificate()], in_list("amended")) == ["Valid"]
    assert listed_words([a_certificate()], in_list(is_listed=False)) == ["No longer listed"]
    for same in (in_list(), in_list(""), in_list("withdrawn", as_of=THEN)):
        assert listed_words([a_certificate()], same) == [""]
    assert listed_words([a_certificate()]) == [""]


def test_what_the_list_has_no_more_does_not_count_beside_another_record_of_the_certificate() -> None:
    former = in_list("withdrawn", is_listed=False)

    assert listed_words([a_certificate()], former, in_list()) == [""]
    assert listed_words([a_certificate()], former, in_list("suspended")) == ["Suspended"]


def test_what_the_list_has_of_one_of_two_alike_is_no_difference_for_the_other() -> None:
    assert listed_words([a_certificate(expiry="2026-01-01"), a_certificate()], in_list()) == ["", ""]


def test_the_list_confirms_what_a_device_has_where_it_has_the_same_status_and_end() -> None:
    own = shown_certificate(a_certificate(), TODAY)

    assert confirmed_at(own, [in_list(as_of=BEFORE), in_list()], TODAY) == AFTER
    for other in (in_list("withdrawn"), in_list("amended"), in_list(expiry=None), in_list(is_listed=False)):
        assert confirmed_at(own, [other], TODAY) == ""
