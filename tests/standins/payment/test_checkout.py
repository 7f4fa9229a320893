"""The page of a checkout. That people pay there and how it ends is shown by the contract of payment providers."""

from registerwatch_standins.payment.records import Card
from tests.support.payments import DAY, Payments

from .conftest import order


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
