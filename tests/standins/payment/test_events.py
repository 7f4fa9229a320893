"""Events are signed as Stripe signs them, kept, and sent until somebody takes them."""

import json

import httpx2
import pytest
import stripe

from tests.support.payments import DAY, SECRET, WEBHOOK, Payments

from .conftest import START, subscribed


async def test_the_real_sdk_accepts_what_is_sent(payments: Payments, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", payments.clock.now)
    await subscribed(payments)
    await payments.courier.deliver()
    assert [str(request.url) for request in payments.told] == [WEBHOOK] * 4
    for request in payments.told:
        event = stripe.Webhook.construct_event(request.content, request.headers["stripe-signature"], SECRET)
        assert event.api_version == stripe.api_version
        assert event.created == START


async def test_what_was_not_taken_is_sent_again_signed_anew_and_what_was_is_not(payments: Payments) -> None:
    await subscribed(payments)
    payments.refusing = 2
    await payments.courier.deliver()
    payments.clock.move(60)
    await payments.courier.deliver()
    await payments.courier.deliver()
    written = [event.id for event in payments.ledger.log.events]
    assert [json.loads(request.content)["id"] for request in payments.told] == [*written, *written[:2]]
    first, again = payments.told[0], payments.told[4]
    assert first.content == again.content
    assert [each.headers["stripe-signature"].split(",")[0] for each in (first, again)] == [
        f"t={START}",
        f"t={START + 60}",
    ]


async def test_a_running_courier_waits_longer_after_every_failure(payments: Payments) -> None:
    await subscribed(payments)
    payments.refusing = 10**6
    waits = []
    for second in range(40):
        before = len(payments.told)
        await payments.courier.deliver_due()
        if len(payments.told) > before:
            waits.append(second)
        payments.clock.move(1)
    assert waits == [0, 2, 6, 14, 30]


async def test_a_receiver_that_is_not_there_is_noted(payments: Payments) -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("nobody there", request=request)

    await subscribed(payments)
    await payments.lead_events_to(httpx2.MockTransport(refuse))
    await payments.courier.deliver()
    events = payments.ledger.log.events
    assert [(event.was_taken, [each.status for each in event.attempts]) for event in events] == [(False, [0])] * 4


async def test_an_update_that_changes_nothing_is_no_event(payments: Payments) -> None:
    bought = await subscribed(payments, trial_days=7)
    for _ in range(2):
        await payments.sdk.v1.subscriptions.update_async(bought.id, {"cancel_at_period_end": True})
    assert payments.ledger.log.events[-1].json["data"]["object"]["cancel_at_period_end"] is True
    assert payments.types().count("customer.subscription.updated") == 1


async def test_the_front_page_tells_sends_again_and_lets_time_pass(payments: Payments) -> None:
    await subscribed(payments, trial_days=7)
    await payments.courier.deliver()
    event = payments.ledger.log.events[-1]
    assert (await payments.browser.post(f"/send/{event.id}")).status_code == 303
    assert [attempt.status for attempt in event.attempts] == [200, 200]
    await payments.browser.post("/pass", data={"seconds": str(7 * DAY)})
    page = await payments.browser.get("/")
    assert "it does not move along" in page.text
    assert "payer@acme.example" in page.text
    assert ">active<" in page.text
    assert "<script" not in page.text
