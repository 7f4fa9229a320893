"""Certificates whose own scope names a device, beside those that are found by its Basic UDI-DI."""

from typing import Any

import pytest

from registerwatch.copy.certificates.scoped_certificates import (
    LostCertificate,
    StoredCertificates,
    decoded_lost,
    encoded_lost,
    with_scoped,
)
from registerwatch.register.certificate_identity import same_certificates
from registerwatch.register.models import Certificate, CertificateLocation


def a_certificate(number: str = "Z-1", **differs: Any) -> Certificate:
    return Certificate(number, **{"notified_body": "0123", "status": "Issued", "listed_in": "search", **differs})


SCOPED = a_certificate(scoped=True, status="Suspended", expiry="2031-01-01")


LONG_AGO, SEARCHED, NOW = 1, 5, 9
"""Revisions of the copy."""


def joined(
    own: tuple[Certificate, ...],
    *scoped: Certificate,
    listed: int = NOW,
    is_searched: bool = False,
    before: tuple[Certificate, ...] | None = None,
    lost: tuple[LostCertificate, ...] = (),
    is_doubtful: bool = False,
) -> tuple[Certificate, ...]:
    known = StoredCertificates(own if before is None else before, SEARCHED, lost)
    found = with_scoped(own, dict.fromkeys(scoped, listed), known, is_searched=is_searched)
    assert found.has_all_scoped is all(same_certificates(scoped, found.certificates))
    assert found.is_doubtful is is_doubtful
    return found.certificates


def test_what_only_a_scope_names_stands_beside_the_others() -> None:
    other = a_certificate("Z-2")

    assert joined((other,), SCOPED) == (SCOPED, other)
    assert joined((other, SCOPED)) == (other,), "it names the device no more"
    assert joined((SCOPED,), SCOPED) == (SCOPED,)
    assert joined((SCOPED,), SCOPED, listed=LONG_AGO) == (SCOPED,)


@pytest.mark.parametrize("listed_in", ["record", "search"])
def test_a_certificate_of_two_places_is_one_and_says_what_was_read_of_the_device(
    listed_in: CertificateLocation,
) -> None:
    own = a_certificate(listed_in=listed_in)

    assert joined((own,), SCOPED, is_searched=True, is_doubtful=listed_in == "search") == (own,)


def test_a_certificate_of_an_unknown_body_is_the_one_that_the_list_has() -> None:
    unknown_body = a_certificate(notified_body="")

    assert joined((unknown_body,), SCOPED, is_searched=True, is_doubtful=True) == (unknown_body,)


def test_a_certificate_whose_revision_the_list_does_not_have_is_one_with_the_record_s() -> None:
    record, search = a_certificate(listed_in="record", revision="04"), a_certificate(revision="04")

    assert joined((record,), SCOPED) == (record,)
    assert joined((search,), SCOPED) == (a_certificate(revision="04", status="Suspended", expiry="2031-01-01"),)
    assert joined((), SCOPED, before=(record,), listed=LONG_AGO, is_doubtful=True) == (), "the read lost it"
    two = (record, a_certificate(listed_in="record", revision="03"))
    assert joined(two, SCOPED) == (SCOPED, *reversed(two)), "nobody knows which one is meant"


def test_one_that_an_earlier_search_found_is_as_a_younger_list_has_it() -> None:
    found, now = a_certificate(), a_certificate(status="Suspended", expiry="2031-01-01")
    unconfirmed = a_certificate(confirmed=False, unconfirmed_since="2026-11-21T03:38:00Z")

    assert joined((found,), SCOPED) == (now,)
    assert joined((unconfirmed,), SCOPED) == (now,), "the list confirms it"
    record = a_certificate(listed_in="record")
    assert joined((record,), SCOPED) == (record,), "the record says what it says"


def test_a_list_that_may_be_older_than_the_search_replaces_nothing_that_the_search_found() -> None:
    found, unconfirmed = a_certificate(), a_certificate(confirmed=False, unconfirmed_since="2026-11-21T03:38:00Z")
    first_revision, next_revision = a_certificate(revision="1", scoped=True), a_certificate(revision="2")

    assert joined((found,), SCOPED, listed=LONG_AGO, is_doubtful=True) == (found,)
    assert joined((unconfirmed,), SCOPED, listed=LONG_AGO, is_doubtful=True) == (unconfirmed,)
    stays = joined((next_revision,), first_revision, listed=LONG_AGO, is_doubtful=True)
    assert stays == (next_revision,), "nor does it stand beside"


def test_a_younger_list_may_have_the_next_revision_of_what_a_search_found() -> None:
    found, after = a_certificate(), a_certificate(scoped=True, revision="2", expiry="2032-01-01")

    assert joined((found,), after) == (a_certificate(revision="2", expiry="2032-01-01"),)


def test_what_a_read_no_longer_found_comes_back_only_by_a_list_that_is_younger() -> None:
    found = a_certificate(expiry="2033-01-01")
    read = with_scoped((), {SCOPED: LONG_AGO}, StoredCertificates((found,), SEARCHED), is_searched=True)
    (lost,) = decoded_lost(encoded_lost(read.lost, NOW))

    assert (read.certificates, lost.since) == ((), NOW)
    assert joined((), SCOPED, lost=(lost,), listed=LONG_AGO, is_doubtful=True) == ()
    assert joined((), SCOPED, lost=(lost,), listed=NOW) == (SCOPED,)
    assert with_scoped((), {SCOPED: NOW}, StoredCertificates(lost=(lost,)), is_searched=False).lost == ()


def test_a_certificate_that_the_device_never_had_of_its_own_comes_by_a_list_of_any_age() -> None:
    assert joined((), SCOPED, is_searched=True, listed=LONG_AGO) == (SCOPED,)
    assert joined((a_certificate("Z-2"),), SCOPED, listed=LONG_AGO) == (SCOPED, a_certificate("Z-2"))


@pytest.mark.parametrize("is_listed_twice", [True, False])
def test_of_twins_nobody_knows_which_one_a_search_found(is_listed_twice: bool) -> None:
    found, twin = a_certificate(), a_certificate(scoped=True, status="Withdrawn")
    other = a_certificate(status="Withdrawn")

    if is_listed_twice:
        assert joined((found,), SCOPED, twin) == (found,)
    else:
        assert joined((found, other), SCOPED) == (found, other)
