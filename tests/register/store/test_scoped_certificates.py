"""Certificates whose own scope names a device, beside those that are found by its Basic UDI-DI."""

from typing import Any

from registerwatch.register.models import Certificate
from registerwatch.register.store.scoped_certificates import with_scoped


def a_certificate(number: str = "Z-1", **differs: Any) -> Certificate:
    return Certificate(number, **{"notified_body": "0123", "status": "Issued", "listed_in": "search", **differs})


SCOPED = a_certificate(scoped=True, status="Suspended", expiry="2031-01-01")


def test_what_only_a_scope_names_stands_beside_the_others() -> None:
    other = a_certificate("Z-2")

    assert with_scoped((other,), [SCOPED]) == (SCOPED, other)
    assert with_scoped(
        (
            other,
            SCOPED,
        ),
        [],
    ) == (other,), "it names the device no more"
    assert with_scoped((SCOPED,), [SCOPED]) == (SCOPED,)


def test_a_certificate_of_two_places_is_one_and_says_what_was_read_of_the_device() -> None:
    for listed_in in ("record", "search"):
        own = a_certificate(listed_in=listed_in)
        assert with_scoped((own,), [SCOPED]) == (own,)
    unknown_body = a_certificate(notified_body="")
    assert with_scoped((unknown_body,), [SCOPED]) == (unknown_body,)


def test_one_that_an_earlier_search_found_is_as_the_list_has_it_now() -> None:
    found, now = a_certificate(), a_certificate(status="Suspended", expiry="2031-01-01")
    unconfirmed = a_certificate(confirmed=False, unconfirmed_since="2026-11-21T03:38:00Z")

    assert with_scoped((found,), [SCOPED], are_newer=True) == (now,)
    assert with_scoped((unconfirmed,), [SCOPED]) == (now,), "the list confirms it"
    record = a_certificate(listed_in="record")
    assert with_scoped((record,), [SCOPED], are_newer=True) == (record,), "the record says what it says"


def test_of_twins_in_the_list_nobody_knows_which_one_a_search_found() -> None:
    found, twin = a_certificate(), a_certificate(scoped=True, status="Withdrawn")

    assert with_scoped((found,), [SCOPED, twin], are_newer=True) == (found,)
