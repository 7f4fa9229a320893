"""Subscriptions over REST, and the endpoint for the payment provider's events."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from registerwatch.billing.models import RENEWAL_SECONDS
from registerwatch.billing.provider import Subscription
from registerwatch.platform.clock import iso_utc
from tests.billing.plain_provider import DAY, MONTH, SETTINGS, event, signed
from tests.rest.answers import granted, me, refused
from tests.support.harness import PASSWORD, NewAccount, ServiceHarness, ServiceStarter


@pytest.fixture
async def harness(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    async with start_service(**SETTINGS) as harness:
        yield harness


async def subscribe(harness: ServiceHarness, owner: NewAccount, **fields: object) -> Subscription:
    """Checkout, payment, confirmation."""
    session_id = granted(await harness.post("/v1/billing/checkout", owner.api_key, **fields))["session_id"]
    paid = harness.provider.pay(session_id)
    granted(await harness.post("/v1/billing/confirm", owner.api_key, session_id=session_id))
    return paid


async def posted(harness: ServiceHarness, body: bytes, **headers: str) -> httpx2.Response:
    """The answer to an event, with headers by their names in snake case."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await harness.client.post("/v1/billing/webhook", content=body, headers=named)


async def test_from_trial_to_paid_to_cancelled_to_the_end(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    now = harness.now

    started = granted(await harness.post("/v1/billing/checkout", owner.session))
    assert set(started) == {"url", "session_id"}
    paid = harness.provider.pay(started["session_id"])
    confirmed = granted(await harness.post("/v1/billing/confirm", owner.session, session_id=started["session_id"]))

    assert (confirmed["plan"], confirmed["watch_cap"]) == ("standard", 250)
    assert confirmed["expires_at"] == iso_utc(now + 7 * DAY + RENEWAL_SECONDS)
    assert confirmed["subscription"] == {
        "status": "trialing",
        "cancel_at_period_end": False,
        "current_period_end": iso_utc(now + 7 * DAY),
    }
    assert granted(await me(harness, owner.session)) == confirmed

    harness.clock.move(7 * DAY)
    harness.provider.next_period(paid.id)
    body = event("customer.subscription.updated", {"id": paid.id})
    headers = {"Payment-Signature": signed(body, harness.clock.now())}
    received = await harness.client.post("/v1/billing/webhook", content=body, headers=headers)
    assert granted(received) == {"received": True}
    assert granted(await me(harness, owner.api_key))["expires_at"] == iso_utc(now + 7 * DAY + MONTH + RENEWAL_SECONDS)

    cancelled = granted(await harness.post("/v1/billing/cancel", owner.session))
    assert cancelled["subscription"]["cancel_at_period_end"] is True
    assert (cancelled["expires_at"], cancelled["expired"]) == (iso_utc(now + 7 * DAY + MONTH), False)

    resumed = granted(await harness.post("/v1/billing/resume", owner.session))
    assert resumed["subscription"]["cancel_at_period_end"] is False
    granted(await harness.post("/v1/billing/cancel", owner.session))
    harness.clock.move(MONTH)
    harness.provider.end(paid.id)
    body = event("customer.subscription.deleted", {"id": paid.id}, "evt_2")
    headers = {"Stripe-Signature": signed(body, harness.clock.now())}
    granted(await harness.client.post("/v1/billing/webhook", content=body, headers=headers))

    over = granted(await me(harness, owner.api_key))
    assert (over["expired"], over["plan"], over["subscription"]["status"]) == (True, "trial", "canceled")
    refused(await harness.post("/v1/billing/resume", owner.api_key), 400)
    assert (await harness.post("/v1/sync", owner.api_key)).status_code == 402


@pytest.mark.parametrize("what", ["checkout", "confirm", "cancel", "resume", "portal", "webhook"])
async def test_without_payment_settings_each_route_is_a_503_that_names_them(
    start_service: ServiceStarter, what: str
) -> None:
    async with start_service() as harness:
        owner = await harness.sign_up()
        before, fields = harness.all_rows(), {"session_id": "cs_1"} if what == "confirm" else {}

        message = refused(await harness.post(f"/v1/billing/{what}", owner.session, **fields), 503)

        assert "REGISTERWATCH_PAYMENT_API_KEY" in message
        assert "REGISTERWATCH_PAYMENT_PRICES" in message
        assert harness.all_rows() == before
        assert granted(await me(harness, owner.session))["subscription"] is None


async def test_the_description_says_which_settings_payments_need(harness: ServiceHarness) -> None:
    paths = (await harness.get("/openapi.json")).json()["paths"]
    billing = [operation["post"] for path, operation in paths.items() if path.startswith("/v1/billing/")]

    assert len(billing) == 6
    for operation in billing:
        for name in ("API_KEY", "PRICES", "WEBHOOK_SECRET"):
            assert f"REGISTERWATCH_PAYMENT_{name}" in operation["responses"]["503"]["description"]


async def test_without_a_secret_no_event_is_taken_and_payments_go_on(start_service: ServiceStarter) -> None:
    settings = {**SETTINGS, "payment_webhook_secret": None}
    async with start_service(**settings) as harness:
        owner = await harness.sign_up()
        paid = await subscribe(harness, owner)
        body = event("customer.subscription.updated", {"id": paid.id})

        for secret in ("", "None"):
            message = refused(
                await posted(harness, body, Payment_Signature=signed(body, harness.clock.now(), secret)), 503
            )
            assert "REGISTERWATCH_PAYMENT_WEBHOOK_SECRET" in message


async def test_what_is_not_genuine_is_a_400_that_changes_nothing(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    paid = await subscribe(harness, owner)
    harness.provider.end(paid.id)
    body = event("customer.subscription.deleted", {"id": paid.id})
    now = harness.clock.now()
    right = signed(body, now)
    before, asked = harness.all_rows(), list(harness.provider.asked)

    for sent, headers in (
        (body, {}),
        (body, {"Payment_Signature": ""}),
        (body, {"Payment_Signature": signed(body, now, "whsec_guessed")}),
        (body, {"Payment_Signature": signed(body, now - 301)}),
        (body, {"Payment_Signature": signed(body, now + 302)}),
        (body, {"Authorization": right}),
        (body[:-1], {"Payment_Signature": right}),
        (body.replace(b" ", b""), {"Payment_Signature": right}),
        (b"{}", {"Payment_Signature": signed(b"{}", now)}),
    ):
        refused(await posted(harness, sent, **headers), 400)

    assert (harness.all_rows(), harness.provider.asked) == (before, asked)
    assert granted(await posted(harness, body, Payment_Signature=right)) == {"received": True}
    assert granted(await me(harness, owner.session))["subscription"]["status"] == "canceled"


async def test_an_event_that_could_not_be_applied_is_refused_so_that_it_comes_again(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    paid = await subscribe(harness, owner)
    harness.provider.end(paid.id)
    body = event("customer.subscription.deleted", {"id": paid.id})
    harness.provider.is_away = True

    away = await posted(harness, body, Stripe_Signature=signed(body, harness.clock.now()))
    assert refused(away, 503)
    assert away.headers["retry-after"]
    harness.provider.is_away = False
    granted(await posted(harness, body, Stripe_Signature=signed(body, harness.clock.now())))

    assert granted(await me(harness, owner.session))["subscription"]["status"] == "canceled"


async def test_a_plan_can_be_named_and_one_that_is_not_sold_is_a_400(start_service: ServiceStarter) -> None:
    settings = {**SETTINGS, "payment_prices": "operator=price_o"}
    async with start_service(**settings) as harness:
        owner = await harness.sign_up()

        assert "operator" in refused(await harness.post("/v1/billing/checkout", owner.session), 400)
        for plan in ("trial", "gold", "", 1):
            assert "plan" in refused(await harness.post("/v1/billing/checkout", owner.session, plan=plan), 400)
        granted(await harness.post("/v1/billing/checkout", owner.session, plan="operator"))

        [order] = harness.provider.orders.values()
        assert order.price_id == "price_o"


async def test_people_come_back_to_pages_that_are_there(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    started = granted(await harness.post("/v1/billing/checkout", owner.session))
    [order] = harness.provider.orders.values()
    public_url = harness.service.settings.public_url

    for address in (order.success_url.replace("{CHECKOUT_SESSION_ID}", started["session_id"]), order.cancel_url):
        assert address.startswith(f"{public_url}/")
        page = await harness.client.get(address.removeprefix(public_url))
        assert page.status_code == 200
        assert page.headers["content-type"].startswith("text/html")
        assert "noindex" in page.text


async def test_the_portal_is_an_address_and_nothing_else(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    refused(await harness.post("/v1/billing/portal", owner.session), 400)
    paid = await subscribe(harness, owner)

    portal = granted(await harness.post("/v1/billing/portal", owner.session))

    assert portal == {"url": f"https://pay.example/portal/{paid.customer_id}"}


async def test_a_smaller_plan_keeps_the_watches_and_adds_none_over_its_cap(start_service: ServiceStarter) -> None:
    async with start_service(trial_watch_cap=1, **SETTINGS) as harness:
        owner = await harness.sign_up()
        paid = await subscribe(harness, owner)
        for subject in ("04099999999992", "04088888888884", "04077777777776"):
            granted(await harness.post("/v1/watches", owner.session, subject=subject))
        harness.provider.end(paid.id)
        body = event("customer.subscription.deleted", {"id": paid.id})
        granted(await posted(harness, body, Payment_Signature=signed(body, harness.clock.now())))

        account = granted(await me(harness, owner.session))
        assert (account["plan"], account["watch_cap"], account["watch_count"]) == ("trial", 1, 3)
        assert account["expired"] is False, "the trial goes on"
        refused(await harness.post("/v1/watches", owner.session, subject="04066666666668"), 409)
        granted(await harness.post("/v1/sync", owner.session))


async def test_a_deleted_account_pays_no_more(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    paid = await subscribe(harness, owner)
    before = harness.all_rows()
    refused(await harness.post("/v1/account/delete", owner.api_key, password="wrong password"), 401)
    assert (harness.all_rows(), harness.provider.subscriptions[paid.id].ended_at) == (before, None)

    granted(await harness.post("/v1/account/delete", owner.api_key, password=PASSWORD))

    assert harness.provider.subscriptions[paid.id].ended_at is not None
    tables = harness.all_rows()
    assert (tables["subscriptions"], tables["payers"], tables["cancellations"]) == ([], [], [])


async def test_events_are_limited_by_address_and_widely(start_service: ServiceStarter) -> None:
    async with start_service(rate_limits=True, **SETTINGS) as harness:
        answer = await posted(harness, b"{}")

        assert (answer.status_code, answer.headers["ratelimit-limit"]) == (400, "600")
