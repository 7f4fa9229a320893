"""Whether an event is genuine, and what it is about."""

import json

import pytest
import stripe
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.billing.models import EventSubject
from registerwatch.billing.provider_events import TOLERANCE_SECONDS, verified_event
from registerwatch.errors import InvalidInput
from tests.billing.plain_provider import SECRET, event, signature, signed

NOW = 1_800_000_000
BODY = event("customer.subscription.updated", {"id": "sub_1", "status": "active"})
HEADER = signed(BODY, NOW)
V1 = signature(BODY, SECRET, NOW)


def test_a_genuine_event_says_what_it_is_about() -> None:
    told = verified_event(BODY, HEADER, SECRET, NOW)

    assert (told.id, told.type, told.about) == ("evt_1", "customer.subscription.updated", EventSubject.SUBSCRIPTION)
    assert told.subject_id == "sub_1"


def test_signatures_are_those_of_the_providers_own_library() -> None:
    theirs = stripe.WebhookSignature.generate_signature_header(BODY.decode(), SECRET, NOW)

    assert theirs == HEADER
    assert verified_event(BODY, theirs, SECRET, NOW).id == "evt_1"


@pytest.mark.parametrize("away", [0, TOLERANCE_SECONDS, -TOLERANCE_SECONDS])
def test_the_signatures_time_may_be_five_minutes_away(away: int) -> None:
    assert verified_event(BODY, HEADER, SECRET, NOW + away).id == "evt_1"


@pytest.mark.parametrize("away", [TOLERANCE_SECONDS + 1, -TOLERANCE_SECONDS - 1, 365 * 86_400])
def test_a_signature_that_is_older_or_from_the_future_is_refused(away: int) -> None:
    with pytest.raises(InvalidInput, match="5 minutes"):
        verified_event(BODY, HEADER, SECRET, NOW + away)


def test_the_time_is_signed_too() -> None:
    with pytest.raises(InvalidInput, match="does not match"):
        verified_event(BODY, f"t={NOW + 1},v1={V1}", SECRET, NOW)


@pytest.mark.parametrize(
    "header",
    [
        f"t={NOW},v1={'0' * 64},v1={V1}",
        f"t={NOW},v1={V1},v1={'0' * 64}",
        f"t={NOW},v0=anything,v1={V1}",
        f"v1={V1},t={NOW}",
        f"t={NOW}, v1={V1}",
    ],
)
def test_one_right_signature_of_several_is_enough(header: str) -> None:
    assert verified_event(BODY, header, SECRET, NOW).id == "evt_1"


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "v1",
        V1,
        f"v1={V1}",
        f"t={NOW}",
        f"t=,v1={V1}",
        f"t=now,v1={V1}",
        f"t={NOW}.0,v1={V1}",
        f"t=-{NOW},v1={V1}",
        f"t={NOW},t={NOW},v1={V1}",
        f"t={NOW}=0,t={NOW},v1={V1}",
        f"t=+{NOW},t={NOW},v1={V1}",
        f"t={NOW:_},v1={V1}",
        f"t={NOW},v1=",
        f"t={NOW},v0={V1}",
        f"t={NOW},V1={V1}",
        f"t={NOW},v1={V1.upper()}",
        f"t={NOW},v1={V1[:-1]}",
        f"t={NOW},v1={V1}0",
        f"t={NOW},v1=ü{V1}",
        f"t={'9' * 400},v1={V1}",
        f"t=١٢٣,v1={V1}",
        signed(BODY, NOW, "whsec_of_somebody_else"),
    ],
)
def test_any_other_header_is_refused(header: str | None) -> None:
    with pytest.raises(InvalidInput):
        verified_event(BODY, header, SECRET, NOW)


@given(st.data())
def test_a_body_that_was_cut_off_or_changed_anywhere_is_refused(data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(BODY) - 1))
    changed = bytearray(BODY)
    changed[place] ^= data.draw(st.integers(1, 255))

    for body in (bytes(changed), BODY[:place], BODY + BODY[place:]):
        with pytest.raises(InvalidInput):
            verified_event(body, HEADER, SECRET, NOW)


def test_the_same_event_written_anew_is_refused() -> None:
    for body in (
        json.dumps(json.loads(BODY), separators=(",", ":")).encode(),
        json.dumps(json.loads(BODY), sort_keys=True).encode(),
        BODY + b"\n",
        b"\xef\xbb\xbf" + BODY,
    ):
        with pytest.raises(InvalidInput, match="does not match"):
            verified_event(body, HEADER, SECRET, NOW)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"event"',
        b"\xff",
        b"[" * 100_000,
        b"{}",
        b'{"id": "evt_1", "type": "invoice.paid"}',
        b'{"id": "evt_1", "type": "invoice.paid", "data": []}',
        b'{"id": "evt_1", "type": "invoice.paid", "data": {"object": "in_1"}}',
        b'{"id": 1, "type": "invoice.paid", "data": {"object": {}}}',
        b'{"id": "evt\\u0000", "type": "invoice.paid", "data": {"object": {}}}',
        b'{"id": "evt_1", "type": null, "data": {"object": {}}}',
    ],
)
def test_what_is_signed_and_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInput, match="not an event"):
        verified_event(body, signed(body, NOW), SECRET, NOW)


@pytest.mark.parametrize(
    ("event_type", "subject", "about", "subject_id"),
    [
        ("checkout.session.completed", {"id": "cs_1"}, EventSubject.CHECKOUT, "cs_1"),
        ("customer.subscription.deleted", {"id": "sub_1"}, EventSubject.SUBSCRIPTION, "sub_1"),
        ("invoice.paid", {"id": "in_1", "subscription": "sub_1"}, EventSubject.SUBSCRIPTION, "sub_1"),
        (
            "invoice.payment_failed",
            {"id": "in_1", "parent": {"subscription_details": {"subscription": "sub_1"}}},
            EventSubject.SUBSCRIPTION,
            "sub_1",
        ),
        ("invoice.paid", {"id": "in_1"}, None, None),
        ("invoice.paid", {"id": "in_1", "parent": None}, None, None),
        ("invoice.paid", {"id": "in_1", "parent": {"subscription_details": "sub_1"}}, None, None),
        ("customer.subscription.updated", {}, None, None),
        ("customer.subscription.updated", {"id": "sub/../1"}, None, None),
        ("customer.subscription.updated", {"id": 1}, None, None),
        ("customer.created", {"id": "cus_1"}, None, None),
        ("a.type.of.the.future", {}, None, None),
    ],
)
def test_an_event_is_about_a_checkout_a_subscription_or_nothing_of_interest(
    event_type: str, subject: dict[str, object], about: EventSubject | None, subject_id: str | None
) -> None:
    body = event(event_type, subject)
    told = verified_event(body, signed(body, NOW), SECRET, NOW)

    assert (told.about, told.subject_id) == (about, subject_id)
