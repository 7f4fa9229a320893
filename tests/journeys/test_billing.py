"""From a trial to a paid account and back: the service, the real SDK, and the stand-in in which people pay."""

import itertools
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from registerwatch.billing.models import RENEWAL_SECONDS
from registerwatch.billing.stripe_provider import StripeProvider
from registerwatch.platform.clock import iso_utc
from registerwatch_standins.payment.records import Card, Subscription
from tests.rest.answers import granted, me, refused
from tests.support.fakes import SteppedClock
from tests.support.harness import PASSWORD, ServiceHarness, ServiceStarter, auth_headers
from tests.support.payments import API_KEY, DAY, PAYMENTS, SECRET, Payments, texts

SETTINGS = {
    "payment_api_key": API_KEY,
    "payment_api_url": PAYMENTS,
    "payment_webhook_secret": SECRET,
    "payment_prices": "standard=price_standard,operator=price_operator",
    "public_url": "http://service.test",
}
HOUR = 3600
Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shop:
    """A service, and the payment provider that it speaks to. Events go out when a test says so."""

    harness: ServiceHarness
    payments: Payments

    async def start(self, credential: str, **fields: str) -> Answer:
        """A checkout."""
        return granted(await self.harness.post("/v1/billing/checkout", credential, **fields))

    async def buy(self, credential: str, card: Card = Card.GOOD, **fields: str) -> Answer:
        """A checkout that is paid, and confirmed as the page does to which people come back."""
        started = await self.start(credential, **fields)
        assert (await self.payments.pay(started["url"], card)).status_code == 303
        return granted(await self.harness.post("/v1/billing/confirm", credential, session_id=started["session_id"]))

    async def me(self, credential: str) -> Answer:
        """The account."""
        return granted(await me(self.harness, credential))

    async def tell(self) -> None:
        """Send all that has happened; the service takes it."""
        waiting = self.payments.courier.waiting()
        await self.payments.courier.deliver()
        assert [event.attempts[-1].status for event in waiting] == [200] * len(waiting)

    async def let_pass(self, seconds: float) -> None:
        """Time passes for everybody, and what happened is told."""
        await self.payments.let_pass(seconds)
        await self.tell()

    async def tend(self) -> None:
        """What the background does once a minute."""
        assert self.harness.service.billing.payments is not None
        await self.harness.service.billing.payments.upkeep.run()

    async def portal(self, credential: str) -> str:
        """The address of the provider's portal."""
        return str(granted(await self.harness.post("/v1/billing/portal", credential))["url"])

    def sold(self) -> Subscription:
        """The subscription that was bought last."""
        return list(self.payments.ledger.subscriptions.values())[-1]


@pytest.fixture
async def shop(start_service: ServiceStarter) -> AsyncIterator[Shop]:
    payments = Payments()
    provider = StripeProvider(API_KEY, PAYMENTS, SteppedClock(), transport=payments.transport)
    async with start_service(stripe=provider, **SETTINGS) as harness:
        payments.clock = harness.clock
        await payments.lead_events_to(httpx2.ASGITransport(app=harness.app, raise_app_exceptions=False))
        yield Shop(harness, payments)
    await payments.close()


async def test_trial_checkout_paid_cancelled_ended(shop: Shop) -> None:
    owner = await shop.harness.sign_up()
    key = owner.api_key
    assert owner.answer["subscription"] is None

    trial = await shop.buy(owner.session)
    sold = shop.sold()
    assert (trial["plan"], trial["watch_cap"]) == ("standard", 250)
    assert trial["expires_at"] == iso_utc(sold.period_end + RENEWAL_SECONDS)
    assert trial["subscription"]["status"] == "trialing"
    await shop.tell()
    assert await shop.me(key) == trial

    await shop.let_pass(7 * DAY)
    await shop.let_pass(HOUR)
    paid = await shop.me(key)
    assert paid["subscription"] == {
        "status": "active",
        "cancel_at_period_end": False,
        "current_period_end": iso_utc(sold.period_end),
    }
    assert paid["expires_at"] == iso_utc(sold.period_end + RENEWAL_SECONDS)
    assert (await shop.harness.post("/v1/sync", key)).status_code == 200

    await shop.let_pass(sold.period_end - shop.harness.clock.now() + HOUR)
    assert (await shop.me(key))["expires_at"] == iso_utc(sold.period_end + RENEWAL_SECONDS)

    cancelled = granted(await shop.harness.post("/v1/billing/cancel", key))
    assert cancelled["subscription"]["cancel_at_period_end"] is True
    assert (cancelled["expires_at"], cancelled["expired"]) == (iso_utc(sold.period_end), False)
    resumed = granted(await shop.harness.post("/v1/billing/resume", key))
    assert resumed["subscription"]["cancel_at_period_end"] is False
    granted(await shop.harness.post("/v1/billing/cancel", key))
    await shop.let_pass(sold.period_end - shop.harness.clock.now() - 1)
    assert (await shop.harness.post("/v1/sync", key)).status_code == 200

    await shop.let_pass(2)
    over = await shop.me(key)
    assert (over["expired"], over["expires_at"]) == (True, iso_utc(sold.period_end))
    assert over["subscription"]["status"] == "canceled"
    assert (await shop.harness.post("/v1/sync", key)).status_code == 402
    for path in ("resume", "cancel"):
        refused(await shop.harness.post(f"/v1/billing/{path}", key), 400)
    assert await shop.me(key) == over


async def test_a_cancellation_in_the_open_trial_ends_nothing_early(shop: Shop) -> None:
    owner = await shop.harness.sign_up()
    trial_end = owner.answer["expires_at"]
    await shop.harness.service.clock.sleep(DAY)
    bought = await shop.buy(owner.session)
    cancelled = granted(await shop.harness.post("/v1/billing/cancel", owner.session))
    assert cancelled["expires_at"] == cancelled["subscription"]["current_period_end"] > trial_end
    assert bought["expires_at"] > cancelled["expires_at"], "what will not be renewed ends with its period"
    granted(await shop.harness.post("/v1/account/delete", owner.session, password=PASSWORD))

    other = await shop.harness.sign_up("other@acme.example")
    await shop.buy(other.session)
    shop.payments.sandbox.subscriptions.cancel(shop.sold())
    await shop.tell()
    ended = await shop.me(other.session)
    assert (ended["subscription"]["status"], ended["plan"]) == ("canceled", "trial")
    assert ended["expires_at"] == other.answer["expires_at"]
    assert ended["expired"] is False


async def test_a_second_subscription_has_no_trial(shop: Shop) -> None:
    owner = await shop.harness.sign_up()
    first = await shop.start(owner.session)
    assert "7 days free" in texts((await shop.payments.browser.get(first["url"])).text)
    await shop.buy(owner.session)
    refused(await shop.harness.post("/v1/billing/checkout", owner.session), 400)
    granted(await shop.harness.post("/v1/billing/cancel", owner.session))
    await shop.let_pass(8 * DAY)

    again = await shop.start(owner.session)
    assert "free" not in texts((await shop.payments.browser.get(again["url"])).text).partition("Card")[0]
    account = await shop.buy(owner.session)
    assert account["subscription"]["status"] == "active"
    assert (account["expired"], account["expires_at"]) == (False, iso_utc(shop.sold().period_end + RENEWAL_SECONDS))
    assert shop.sold().trial_end is None
    assert len({each.customer for each in shop.payments.ledger.subscriptions.values()}) == 1


async def test_a_refused_card_changes_nothing(shop: Shop) -> None:
    owner = await shop.harness.sign_up()
    started = await shop.start(owner.session)
    assert (await shop.payments.pay(started["url"], Card.REFUSED)).status_code == 402
    message = refused(
        await shop.harness.post("/v1/billing/confirm", owner.session, session_id=started["session_id"]), 400
    )
    assert "not finished" in message
    assert (await shop.me(owner.session))["subscription"] is None


async def test_a_card_that_fails_later_has_three_days_and_a_new_one_goes_on(shop: Shop) -> None:
    owner = await shop.harness.sign_up()
    await shop.buy(owner.session, Card.REFUSED_LATER)
    trial_end = shop.sold().period_end
    await shop.let_pass(7 * DAY + HOUR)
    late = await shop.me(owner.api_key)
    assert late["subscription"]["status"] == "past_due"
    assert (late["expired"], late["expires_at"]) == (False, iso_utc(trial_end + 3 * DAY))

    await shop.let_pass(3 * DAY)
    assert (await shop.me(owner.api_key))["expired"] is True
    assert (await shop.harness.post("/v1/sync", owner.api_key)).status_code == 402

    portal = await shop.portal(owner.session)
    assert (await shop.payments.wish(portal, "card", Card.GOOD)).status_code == 303
    assert (await shop.payments.wish(portal, "pay")).status_code == 303
    await shop.tell()
    saved = await shop.me(owner.api_key)
    assert (saved["subscription"]["status"], saved["expired"]) == ("active", False)
    assert saved["expires_at"] == iso_utc(shop.sold().period_end + RENEWAL_SECONDS)


async def test_a_card_that_keeps_failing_ends_the_account(shop: Shop) -> None:
    owner = await shop.harness.sign_up()
    await shop.buy(owner.session, Card.REFUSED_LATER)
    trial_end = shop.sold().period_end
    await shop.let_pass(30 * DAY)
    over = await shop.me(owner.api_key)
    assert over["subscription"]["status"] == "canceled"
    assert over["expired"] is True
    assert over["expires_at"] <= iso_utc(trial_end + 16 * DAY)
    assert (await shop.start(owner.api_key))["url"].startswith(PAYMENTS)


async def test_a_bigger_plan_allows_more_and_its_end_takes_no_watch_away(shop: Shop) -> None:
    owner = await shop.harness.sign_up()
    account = await shop.buy(owner.session, plan="operator")
    assert (account["plan"], account["watch_cap"]) == ("operator", 2_500)
    devices = shop.harness.unique_devices(30)
    for device in devices[:27]:
        granted(await shop.harness.post("/v1/watches", owner.session, subject=device.primary_di))
    await shop.harness.service.clock.sleep(DAY)
    shop.payments.sandbox.subscriptions.cancel(shop.sold())
    await shop.tell()
    trial = await shop.me(owner.session)
    assert (trial["plan"], trial["watch_cap"], trial["watch_count"], trial["expired"]) == ("trial", 25, 27, False)
    refused(await shop.harness.post("/v1/watches", owner.session, subject=devices[28].primary_di), 409)
    assert (await shop.me(owner.session))["watch_count"] == 27


async def test_deleting_a_paid_account_ends_its_subscription(shop: Shop) -> None:
    owner = await shop.harness.sign_up()
    await shop.buy(owner.session)
    granted(await shop.harness.post("/v1/account/delete", owner.session, password=PASSWORD))
    assert shop.sold().status == "canceled"
    await shop.tell()
    assert (await me(shop.harness, owner.session)).status_code == 401


async def test_deleting_goes_on_without_the_provider_and_the_subscription_is_ended_later(shop: Shop) -> None:
    owner = await shop.harness.sign_up()
    await shop.buy(owner.session)
    shop.payments.faults.fail("hang-up")
    granted(await shop.harness.post("/v1/account/delete", owner.session, password=PASSWORD))
    assert shop.sold().status == "trialing"
    await shop.tend()
    shop.payments.faults.clear()
    shop.harness.clock.move(HOUR)
    await shop.tend()
    assert shop.sold().status == "canceled"
    assert (shop.harness.all_rows())["cancellations"] == []


async def test_a_page_that_is_paid_after_its_account_is_gone_is_paid_for_nothing(shop: Shop) -> None:
    owner = await shop.harness.sign_up()
    started = await shop.start(owner.session)
    granted(await shop.harness.post("/v1/account/delete", owner.session, password=PASSWORD))
    assert (await shop.payments.pay(started["url"])).status_code == 303
    await shop.tell()
    await shop.tend()
    assert shop.sold().status == "canceled"


async def test_lost_events_are_made_up_for_in_any_order_and_by_nobody_twice(shop: Shop) -> None:
    """Everything happens while no event arrives; then all arrive, several times, in many orders."""
    owner = await shop.harness.sign_up()
    shop.payments.courier.holds = True
    started = await shop.start(owner.session)
    await shop.payments.pay(started["url"])
    await shop.payments.let_pass(7 * DAY + HOUR)
    await shop.payments.sdk.v1.subscriptions.update_async(shop.sold().id, {"cancel_at_period_end": True})
    before = await shop.me(owner.session)
    assert (before["expired"], before["subscription"]) == (True, None)

    events = shop.payments.ledger.log.events
    ends: list[Answer] = []
    for order in itertools.islice(itertools.permutations(events), 0, 5040, 420):
        attempts = await shop.payments.courier.send(order)
        assert {attempt.status for attempt in attempts} == {200}
        ends.append(await shop.me(owner.session))
    assert ends == [ends[0]] * len(ends)
    assert ends[0]["subscription"]["status"] == "active"
    assert ends[0]["subscription"]["cancel_at_period_end"] is True
    assert ends[0]["expires_at"] == iso_utc(shop.sold().period_end)


async def test_without_any_event_the_service_asks_at_the_end_of_a_period(shop: Shop) -> None:
    shop.payments.courier.holds = True
    owner = await shop.harness.sign_up()
    await shop.buy(owner.session)
    await shop.payments.let_pass(7 * DAY + RENEWAL_SECONDS + 1)
    assert (await shop.me(owner.session))["expired"] is True
    await shop.tend()
    account = await shop.me(owner.session)
    assert (account["expired"], account["expires_at"]) == (False, iso_utc(shop.sold().period_end + RENEWAL_SECONDS))


async def test_an_event_that_the_service_could_not_apply_is_refused_and_applied_when_it_comes_again(
    shop: Shop,
) -> None:
    owner = await shop.harness.sign_up()
    started = await shop.start(owner.session)
    await shop.payments.pay(started["url"])
    shop.payments.faults.fail("http-500")
    await shop.payments.courier.deliver()
    assert 503 in {event.attempts[-1].status for event in shop.payments.ledger.log.events}
    assert (await shop.me(owner.session))["subscription"] is None
    shop.payments.faults.clear()
    await shop.tell()
    assert (await shop.me(owner.session))["subscription"]["status"] == "trialing"


async def test_what_is_forged_old_cut_or_written_anew_changes_nothing(shop: Shop) -> None:
    owner = await shop.harness.sign_up()
    shop.payments.courier.holds = True
    started = await shop.start(owner.session)
    await shop.payments.pay(started["url"])
    event = next(each for each in shop.payments.ledger.log.events if each.type == "checkout.session.completed")
    held: list[httpx2.Request] = []

    def keep(request: httpx2.Request) -> httpx2.Response:
        held.append(request)
        return httpx2.Response(200)

    await shop.payments.lead_events_to(httpx2.MockTransport(keep))
    await shop.payments.courier.send([event])
    signature, body = held[0].headers["stripe-signature"], held[0].content
    before = shop.harness.all_rows()

    async def post(content: bytes, signed: str | None, status: int) -> None:
        headers = {"Stripe-Signature": signed} if signed is not None else {}
        answer = await shop.harness.client.post("/v1/billing/webhook", content=content, headers=headers)
        assert answer.status_code == status, answer.text

    await post(body, None, 400)
    await post(body, "t=1,v1=" + "0" * 64, 400)
    await post(body, signature[:-1] + ("0" if signature[-1] != "0" else "1"), 400)
    await post(body[:-2], signature, 400)
    await post(json.dumps(json.loads(body)).encode(), signature, 400)
    shop.harness.clock.move(301)
    await post(body, signature, 400)
    assert shop.harness.all_rows() == before
    shop.harness.clock.move(-301)
    await post(body, signature, 200)
    assert (await shop.me(owner.session))["subscription"]["status"] == "trialing"


async def test_a_double_click_makes_one_checkout_and_another_plan_another_one(shop: Shop) -> None:
    owner = await shop.harness.sign_up()
    first, second = await shop.start(owner.session), await shop.start(owner.api_key)
    assert first == second
    other = await shop.start(owner.session, plan="operator")
    assert other["session_id"] != first["session_id"]
    assert len(shop.payments.ledger.checkouts) == 2


async def test_two_pages_that_are_both_paid_are_both_seen_and_both_cancelled(shop: Shop) -> None:
    owner = await shop.harness.sign_up()
    pages = [await shop.start(owner.session), await shop.start(owner.session, plan="operator")]
    for page in pages:
        await shop.payments.pay(page["url"])
    await shop.tell()
    assert (await shop.me(owner.session))["plan"] == "operator"
    granted(await shop.harness.post("/v1/billing/cancel", owner.session))
    await shop.let_pass(8 * DAY)
    assert {each.status for each in shop.payments.ledger.subscriptions.values()} == {"canceled"}
    assert (await shop.me(owner.session))["expired"] is True


async def test_what_somebody_does_in_the_portal_shows_in_the_account(shop: Shop) -> None:
    owner = await shop.harness.sign_up()
    refused(await shop.harness.post("/v1/billing/portal", owner.session), 400)
    await shop.buy(owner.session)
    await shop.payments.wish(await shop.portal(owner.api_key), "end")
    await shop.tell()
    assert (await shop.me(owner.session))["subscription"]["cancel_at_period_end"] is True
    resumed = granted(await shop.harness.post("/v1/billing/resume", owner.session))
    assert resumed["subscription"]["cancel_at_period_end"] is False
    assert shop.sold().ends_at is None


async def test_a_checkout_is_its_accounts_alone(shop: Shop) -> None:
    owner, stranger = await shop.harness.sign_up(), await shop.harness.sign_up("stranger@other.example")
    started = await shop.start(owner.session)
    await shop.payments.pay(started["url"])
    for session_id in (started["session_id"], "cs_test_of_nobody"):
        refused(await shop.harness.post("/v1/billing/confirm", stranger.session, session_id=session_id), 400)
    await shop.tell()
    assert (await shop.me(stranger.session))["subscription"] is None
    assert (await shop.me(owner.session))["subscription"]["status"] == "trialing"
    for path in ("cancel", "resume", "portal"):
        refused(await shop.harness.post(f"/v1/billing/{path}", stranger.session), 400)
        refused(await shop.harness.post(f"/v1/billing/{path}"), 401)
    assert shop.sold().ends_at is None


async def test_a_member_may_do_what_a_session_may(shop: Shop) -> None:
    owner = await shop.harness.sign_up()
    granted(
        await shop.harness.post("/v1/users", owner.session, email="member@acme.example", password="correct horse"),
    )
    member = await shop.harness.sign_in("member@acme.example", "correct horse")
    assert (await shop.buy(member))["subscription"]["status"] == "trialing"


async def test_while_the_provider_is_out_of_reach_billing_alone_is_503(shop: Shop) -> None:
    owner = await shop.harness.sign_up()
    started = await shop.start(owner.session)
    await shop.payments.pay(started["url"])
    await shop.tell()
    before = await shop.me(owner.session)
    for mode in ("hang-up", "silence", "http-500"):
        shop.payments.faults.clear()
        shop.payments.faults.fail(mode)
        for path in ("cancel", "resume", "portal"):
            refused(await shop.harness.post(f"/v1/billing/{path}", owner.session), 503)
        session = {"session_id": started["session_id"]}
        refused(await shop.harness.post("/v1/billing/confirm", owner.session, **session), 503)
        assert await shop.me(owner.session) == before
        assert (await shop.harness.client.get("/v1/watches", headers=auth_headers(owner.session))).status_code == 200


async def test_a_lost_answer_is_asked_for_again_and_makes_no_second_checkout(shop: Shop) -> None:
    owner = await shop.harness.sign_up()
    shop.payments.faults.fail("lost-answer", times=1)
    started = await shop.start(owner.session)
    assert list(shop.payments.ledger.checkouts) == [started["session_id"]]
