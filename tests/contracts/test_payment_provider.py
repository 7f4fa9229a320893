"""What every payment provider does: ours, and `localstripe`, which others have written, as far as that goes."""

import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field

import httpx2
import pytest

from registerwatch.billing.provider import ACTIVE, CANCELED, PAST_DUE, TRIALING, CheckoutOrder, PaymentProvider
from registerwatch.billing.stripe_provider import StripeProvider
from registerwatch.errors import PaymentRefused, PaymentsUnavailable
from registerwatch.platform.structs import replace
from registerwatch_standins.payment.records import Card
from tests.support.fakes import SteppedClock
from tests.support.payments import API_KEY, DAY, PAYMENTS, Payments
from tests.support.processes import answers, free_port, until

ORDER = CheckoutOrder(
    account_id=7,
    email="a@acme.example",
    customer_id=None,
    price_id="price_standard",
    trial_days=0,
    success_url="http://service.test/thanks?session={CHECKOUT_SESSION_ID}",
    cancel_url="http://service.test/back",
)


@dataclass(frozen=True, slots=True)
class Counter:
    """Where subscriptions can be bought: the adapter, and somebody who buys one and says its id and its price's."""

    provider: PaymentProvider
    buy: Callable[[], Awaitable[tuple[str, str]]]


@dataclass(slots=True)
class LocalStripe:
    """A running `localstripe`."""

    url: str
    bought: list[str] = field(default_factory=list)

    async def buy(self) -> tuple[str, str]:
        """A subscription, made without a checkout, as localstripe has none."""
        auth = {"Authorization": f"Bearer {API_KEY}"}
        async with httpx2.AsyncClient(base_url=f"{self.url}/v1", headers=auth) as client:

            async def made(path: str, **fields: str) -> str:
                answer = await client.post(path, data=fields)
                assert answer.status_code == 200, answer.text
                return str(answer.json()["id"])

            terms = {"amount": "0", "currency": "eur", "interval": "month", "product[name]": "Standard"}
            plan = await made("/plans", id=f"plan_{len(self.bought)}", **terms)
            customer = await made("/customers", email="a@acme.example")
            subscription = await made("/subscriptions", **{"customer": customer, "items[0][plan]": plan})
        self.bought.append(subscription)
        return subscription, plan


@pytest.fixture(scope="module")
def local_stripe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStripe]:
    port, folder = free_port(), tmp_path_factory.mktemp("localstripe")
    process = subprocess.Popen(
        [sys.executable, "-c", _LOCAL_STRIPE, str(port)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: answers(f"http://127.0.0.1:{port}/js.stripe.com/v3/"), "localstripe")
        yield LocalStripe(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(20)


_LOCAL_STRIPE = """
import sys
from aiohttp import web
from localstripe import server
from localstripe.resources import store
store.dump_to_disk = lambda: None  # it would keep what tests make in a file of the whole machine's
web.run_app(server.app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
"""


@pytest.fixture
async def payments() -> AsyncIterator[Payments]:
    opened = Payments(SteppedClock())
    yield opened
    await opened.close()


@pytest.fixture
async def provider(payments: Payments) -> AsyncIterator[PaymentProvider]:
    """The real adapter, led to the stand-in."""
    adapter = StripeProvider(API_KEY, PAYMENTS, payments.clock, transport=payments.transport)
    yield adapter
    await adapter.close()


@pytest.fixture(params=["stand-in", "localstripe"])
async def counter(
    request: pytest.FixtureRequest, payments: Payments, provider: PaymentProvider
) -> AsyncIterator[Counter]:
    async def buy() -> tuple[str, str]:
        return await bought(payments, provider), ORDER.price_id

    if request.param == "stand-in":
        yield Counter(provider, buy)
        return
    local: LocalStripe = request.getfixturevalue("local_stripe")
    real = StripeProvider(API_KEY, local.url, SteppedClock())
    yield Counter(real, local.buy)
    await real.close()


async def bought(
    payments: Payments, provider: PaymentProvider, order: CheckoutOrder = ORDER, card: Card = Card.GOOD
) -> str:
    """The id of a subscription that somebody buys."""
    started = await provider.start_checkout(order, f"attempt {len(payments.ledger.checkouts)}")
    assert (await payments.pay(started.url, card)).status_code == 303
    done = await provider.checkout(started.id)
    assert done is not None
    assert done.subscription_id is not None
    return done.subscription_id


async def test_a_bought_subscription_is_active_for_a_month(counter: Counter) -> None:
    id_, price = await counter.buy()
    subscription = await counter.provider.subscription(id_)
    assert subscription is not None
    assert (subscription.id, subscription.price_id, subscription.status) == (id_, price, ACTIVE)
    assert 28 * DAY <= subscription.period_end - subscription.period_start <= 31 * DAY
    assert subscription.customer_id.startswith("cus_")
    assert (subscription.cancel_at_period_end, subscription.ended_at, subscription.had_trial) == (False, None, False)


async def test_it_can_be_ended_with_its_period_and_renewed_as_often_as_one_likes(counter: Counter) -> None:
    id_, _ = await counter.buy()
    for _ in range(2):
        ending = await counter.provider.end_with_period(id_)
        assert (ending.cancel_at_period_end, ending.status) == (True, ACTIVE)
        assert await counter.provider.subscription(id_) == ending
        again = await counter.provider.renew(id_)
        assert (again.cancel_at_period_end, again.status) == (False, ACTIVE)
        assert await counter.provider.subscription(id_) == again


async def test_ending_it_now_ends_it_once(counter: Counter) -> None:
    id_, _ = await counter.buy()
    for _ in range(2):
        await counter.provider.end_now(id_)
        ended = await counter.provider.subscription(id_)
        assert ended is not None
        assert ended.status == CANCELED
        assert ended.ended_at is not None


async def test_a_subscription_that_is_not_there_is_none_and_cannot_be_changed(counter: Counter) -> None:
    assert await counter.provider.subscription("sub_of_nobody") is None
    await counter.provider.end_now("sub_of_nobody")
    for change in (counter.provider.end_with_period, counter.provider.renew):
        with pytest.raises(PaymentRefused):
            await change("sub_of_nobody")


async def test_a_checkout_is_paid_once_and_names_the_account(payments: Payments, provider: PaymentProvider) -> None:
    started = await provider.start_checkout(ORDER, "1")
    assert (started.is_complete, started.reference, started.subscription_id) == (False, "7", None)
    assert started.url.startswith(PAYMENTS)
    assert await provider.checkout(started.id) == started
    paid = await payments.pay(started.url)
    assert paid.headers["location"] == f"http://service.test/thanks?session={started.id}"
    done = await provider.checkout(started.id)
    assert done is not None
    assert (done.is_complete, done.url, done.reference) == (True, "", "7")
    assert done.subscription_id in payments.ledger.subscriptions
    assert await provider.checkout("cs_of_nobody") is None


async def test_the_same_attempt_is_the_same_checkout(payments: Payments, provider: PaymentProvider) -> None:
    first, again = [await provider.start_checkout(ORDER, "1") for _ in range(2)]
    other = await provider.start_checkout(ORDER, "2")
    assert first == again
    assert other.id != first.id
    assert len(payments.ledger.checkouts) == 2


async def test_a_trial_needs_a_card_and_its_period_is_the_trial(payments: Payments, provider: PaymentProvider) -> None:
    order = replace(ORDER, trial_days=7)
    started = await provider.start_checkout(order, "1")
    assert (await payments.browser.post(started.url, data={"email": "a@acme.example"})).status_code == 402
    subscription = await provider.subscription(await bought(payments, provider, order))
    assert subscription is not None
    assert (subscription.status, subscription.had_trial) == (TRIALING, True)
    assert subscription.period_end - subscription.period_start == 7 * DAY


async def test_who_has_paid_before_pays_under_the_same_id(payments: Payments, provider: PaymentProvider) -> None:
    first = await provider.subscription(await bought(payments, provider))
    assert first is not None
    again = replace(ORDER, customer_id=first.customer_id)
    second = await provider.subscription(await bought(payments, provider, again))
    assert second is not None
    assert second.customer_id == first.customer_id


async def test_what_has_ended_is_neither_ended_with_its_period_nor_renewed(
    payments: Payments, provider: PaymentProvider
) -> None:
    id_ = await bought(payments, provider)
    await provider.end_with_period(id_)
    await payments.let_pass(31 * DAY)
    ended = await provider.subscription(id_)
    assert ended is not None
    assert (ended.status, ended.ended_at) == (CANCELED, ended.period_end)
    for change in (provider.end_with_period, provider.renew):
        with pytest.raises(PaymentRefused):
            await change(id_)


async def test_a_card_that_is_refused_later_makes_it_past_due_for_the_period_that_began(
    payments: Payments, provider: PaymentProvider
) -> None:
    id_ = await bought(payments, provider, card=Card.REFUSED_LATER)
    before = await provider.subscription(id_)
    await payments.let_pass(31 * DAY + 3600)
    after = await provider.subscription(id_)
    assert before is not None
    assert after is not None
    assert (after.status, after.period_start) == (PAST_DUE, before.period_end)


async def test_the_portal_leads_back_and_its_cancellation_is_seen_and_undone(
    payments: Payments, provider: PaymentProvider
) -> None:
    id_ = await bought(payments, provider)
    subscription = await provider.subscription(id_)
    assert subscription is not None
    portal = await provider.portal(subscription.customer_id, "http://service.test/account")
    assert "http://service.test/account" in (await payments.browser.get(portal)).text
    await payments.wish(portal, "end")
    ending = await provider.subscription(id_)
    assert ending is not None
    assert (ending.cancel_at_period_end, ending.period_end) == (True, subscription.period_end)
    assert (await provider.renew(id_)).cancel_at_period_end is False


@pytest.mark.parametrize("mode", ["http-429", "http-500", "http-503", "silence", "hang-up"])
async def test_a_provider_that_does_not_answer_is_said_to_be_out_of_reach(
    payments: Payments, provider: PaymentProvider, mode: str
) -> None:
    payments.faults.fail(mode)  # type: ignore[arg-type]  # one of them
    with pytest.raises(PaymentsUnavailable):
        await provider.start_checkout(ORDER, "1")
    with pytest.raises(PaymentsUnavailable):
        await provider.end_now("sub_of_nobody")
    assert payments.ledger.checkouts == {}


@pytest.mark.parametrize("mode", ["http-500", "silence", "hang-up", "lost-answer"])
async def test_a_passing_trouble_is_outlived_and_nothing_is_made_twice(
    payments: Payments, provider: PaymentProvider, mode: str
) -> None:
    payments.faults.fail(mode, times=2)  # type: ignore[arg-type]  # one of them
    started = await provider.start_checkout(ORDER, "1")
    assert list(payments.ledger.checkouts) == [started.id]


async def test_a_wrong_key_is_no_answer_that_can_be_used(payments: Payments) -> None:
    adapter = StripeProvider("sk_test_of_somebody_else", PAYMENTS, payments.clock, transport=payments.transport)
    with pytest.raises(PaymentsUnavailable):
        await adapter.subscription("sub_1")
    await adapter.close()
