"""Somebody pays at the page of a checkout."""

from datetime import UTC, datetime

import pytest

from registerwatch_standins.payment.records import Card
from tests.support.payments import DAY, Payments, texts

from .conftest import START, now, order, period

pytestmark = pytest.mark.anyio


async def test_a_good_card_makes_a_subscription_and_leads_back_with_the_sessions_id(payments: Payments) -> None:
    session = await payments.sdk.v1.checkout.sessions.create_async(order())
    assert (session.status, session.payment_status, session.subscription) == ("open", "unpaid", None)
    assert session.url == f"http://payments.test/c/pay/{session.id}"

    answer = await payments.pay(session.url)
    assert answer.status_code == 303
    assert answer.headers["location"] == f"http://service.test/thanks?session={session.id}"

    done = await payments.sdk.v1.checkout.sessions.retrieve_async(session.id)
    assert (done.status, done.payment_status, done.url) == ("complete", "paid", None)
    assert done.client_reference_id == "7"
    subscription = await now(payments, str(done.subscription))
    assert subscription.status == "active"
    assert subscription.customer == done.customer
    assert period(subscription) == (START, int(datetime(2026, 2, 28, 12, tzinfo=UTC).timestamp()))
    assert payments.types() == [
        "customer.created",
        "customer.subscription.created",
        "invoice.paid",
        "checkout.session.completed",
    ]


async def test_a_refused_card_leaves_the_checkout_open_for_another_one(payments: Payments) -> None:
    session = await payments.sdk.v1.checkout.sessions.create_async(order(trial_days=7))
    refused = await payments.pay(session.url, Card.REFUSED)
    assert refused.status_code == 402
    assert "Your card was declined." in texts(refused.text)
    assert (await payments.sdk.v1.checkout.sessions.retrieve_async(session.id)).status == "open"
    assert payments.types() == []
    assert (await payments.pay(session.url)).status_code == 303


async def test_the_page_has_a_way_back_that_changes_nothing(payments: Payments) -> None:
    session = await payments.sdk.v1.checkout.sessions.create_async(order())
    page = await payments.browser.get(str(session.url))
    assert "<a href='http://service.test/back'>Go back without paying</a>" in page.text
    assert "<script" not in page.text
    assert "script-src" not in page.headers["content-security-policy"]
    assert (await payments.sdk.v1.checkout.sessions.retrieve_async(session.id)).status == "open"


async def test_paying_twice_makes_one_subscription(payments: Payments) -> None:
    session = await payments.sdk.v1.checkout.sessions.create_async(order())
    first = await payments.pay(session.url)
    second = await payments.browser.post(str(session.url), data={"card": Card.GOOD.value})
    assert (second.status_code, second.headers["location"]) == (303, first.headers["location"])
    assert len(payments.ledger.subscriptions) == 1


async def test_a_checkout_is_over_after_a_day(payments: Payments) -> None:
    session = await payments.sdk.v1.checkout.sessions.create_async(order())
    await payments.let_pass(DAY)
    late = await payments.browser.post(str(session.url), data={"card": Card.GOOD.value})
    assert late.status_code == 400
    assert (await payments.browser.get(str(session.url))).status_code == 410
    assert (await payments.sdk.v1.checkout.sessions.retrieve_async(session.id)).status == "expired"
    assert payments.types() == ["checkout.session.expired"]


async def test_an_address_that_the_service_knows_is_not_asked_for(payments: Payments) -> None:
    known = await payments.sdk.v1.checkout.sessions.create_async(order(customer_email="a@acme.example"))
    asked = await payments.sdk.v1.checkout.sessions.create_async(order())
    assert "E-mail" not in (await payments.browser.get(str(known.url))).text
    assert "E-mail" in (await payments.browser.get(str(asked.url))).text
    await payments.pay(known.url)
    assert [customer.email for customer in payments.ledger.customers.values()] == ["a@acme.example"]


async def test_a_page_that_is_not_there_says_so(payments: Payments) -> None:
    assert (await payments.browser.get("/c/pay/cs_test_none")).status_code == 404
    assert (await payments.browser.get("/p/session/bps_none")).status_code == 404
