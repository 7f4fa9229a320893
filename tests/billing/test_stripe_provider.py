"""The adapter on Stripe's SDK: what it sends, what it makes of answers, and how it fails."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import httpx2
import pytest
from structlog.testing import capture_logs

from registerwatch.billing.provider import Checkout, CheckoutOrder, Subscription
from registerwatch.billing.stripe_provider import MAX_RETRIES, StripeProvider, subscription_of
from registerwatch.errors import PaymentRefused, PaymentsUnavailable
from registerwatch.platform.structs import replace
from tests.support.fakes import SteppedClock

KEY = "sk_live_a_key_that_nobody_may_see"
ORDER = CheckoutOrder(
    account_id=7,
    email="owner@acme.example",
    customer_id=None,
    price_id="price_s",
    trial_days=7,
    success_url="https://watch.example/billing/done?session_id={CHECKOUT_SESSION_ID}",
    cancel_url="https://watch.example/billing/back",
)
SUBSCRIPTION: dict[str, Any] = {
    "id": "sub_1",
    "object": "subscription",
    "customer": "cus_1",
    "status": "active",
    "cancel_at_period_end": False,
    "cancel_at": None,
    "ended_at": None,
    "trial_end": 1_700_000_000,
    "items": {
        "object": "list",
        "data": [
            {
                "id": "si_1",
                "object": "subscription_item",
                "current_period_start": 1_800_000_000,
                "current_period_end": 1_802_592_000,
                "price": {"id": "price_s", "object": "price"},
            }
        ],
    },
}
READ = Subscription("sub_1", "cus_1", "active", "price_s", False, 1_800_000_000, 1_802_592_000, None, True)
SESSION = {
    "id": "cs_1",
    "object": "checkout.session",
    "url": "https://pay.example/cs_1",
    "status": "open",
    "client_reference_id": "7",
    "subscription": None,
}
MISSING = {"error": {"type": "invalid_request_error", "code": "resource_missing", "message": "No such thing"}}


Failure = tuple[int, object] | Exception


class Desk:
    """Answers requests as a test says, the last answer for ever, and keeps what was asked."""

    def __init__(self, *answers: Failure) -> None:
        self.answers = list(answers)
        self.asked: list[httpx2.Request] = []
        self.clock = SteppedClock(1_800_000_000)
        self.provider = StripeProvider(
            KEY, "http://payments.test", self.clock, transport=httpx2.MockTransport(self._answer)
        )

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        status, body = answer
        text = body if isinstance(body, str) else json.dumps(body)
        return httpx2.Response(status, text=text, headers={"request-id": "req_1"})

    @property
    def lines(self) -> list[str]:
        """Methods and paths that were asked for."""
        return [f"{request.method} {request.url.path}" for request in self.asked]

    def form(self, number: int = -1) -> dict[str, str]:
        """The fields of a request."""
        return dict(parse_qsl(self.asked[number].content.decode(), keep_blank_values=True))


async def test_a_checkout_is_asked_for_in_subscription_mode_with_a_trial_that_needs_a_card() -> None:
    desk = Desk((200, SESSION))

    checkout = await desk.provider.start_checkout(ORDER, "an-attempt")

    assert checkout == Checkout("cs_1", "https://pay.example/cs_1", False, "7", None)
    assert desk.lines == ["POST /v1/checkout/sessions"]
    assert desk.form() == {
        "mode": "subscription",
        "client_reference_id": "7",
        "line_items[0][price]": "price_s",
        "line_items[0][quantity]": "1",
        "success_url": ORDER.success_url,
        "cancel_url": ORDER.cancel_url,
        "payment_method_collection": "always",
        "customer_email": "owner@acme.example",
        "subscription_data[trial_period_days]": "7",
    }
    assert desk.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert desk.asked[0].headers["idempotency-key"] == "checkout-an-attempt"


async def test_who_paid_before_is_the_same_customer_and_has_no_trial() -> None:
    desk = Desk((200, SESSION))

    await desk.provider.start_checkout(replace(ORDER, customer_id="cus_1", trial_days=0), "a")

    form = desk.form()
    assert form["customer"] == "cus_1"
    assert not {"customer_email", "subscription_data[trial_period_days]"} & set(form)


async def test_a_finished_checkout_names_its_subscription() -> None:
    finished = {**SESSION, "status": "complete", "url": None, "subscription": "sub_1"}
    expanded = {**finished, "subscription": SUBSCRIPTION}
    desk = Desk((200, finished), (200, expanded), (404, MISSING))

    assert await desk.provider.checkout("cs_1") == Checkout("cs_1", "", True, "7", "sub_1")
    assert await desk.provider.checkout("cs_1") == Checkout("cs_1", "", True, "7", "sub_1")
    assert await desk.provider.checkout("cs_2") is None


async def test_a_subscription_is_read_in_the_present_form_and_in_older_ones() -> None:
    item = {"id": "si_1", "plan": {"id": "price_s"}}
    older = {
        **SUBSCRIPTION,
        "current_period_start": 1_800_000_000,
        "current_period_end": 1_802_592_000,
        "items": {"data": [item]},
    }
    desk = Desk((200, SUBSCRIPTION), (200, older), (404, MISSING))

    assert await desk.provider.subscription("sub_1") == READ
    assert await desk.provider.subscription("sub_1") == READ
    assert await desk.provider.subscription("sub_2") is None


def test_a_date_on_which_it_ends_is_a_cancellation_too() -> None:
    by_date = subscription_of({**SUBSCRIPTION, "cancel_at": 1_801_000_000})

    assert (by_date.cancel_at_period_end, by_date.period_end) == (True, 1_801_000_000)


async def test_cancelling_resuming_and_ending_are_one_field_each() -> None:
    ended = {**SUBSCRIPTION, "status": "canceled", "ended_at": 1_800_000_009}
    by_date = {**SUBSCRIPTION, "cancel_at": 1_801_000_000}
    desk = Desk((200, SUBSCRIPTION), (200, SUBSCRIPTION), (200, SUBSCRIPTION), (200, by_date), (200, ended))

    await desk.provider.end_with_period("sub_1")
    assert desk.form() == {"cancel_at_period_end": "true"}
    await desk.provider.renew("sub_1")
    assert desk.form() == {"cancel_at_period_end": "false"}
    await desk.provider.renew("sub_1")
    assert desk.form() == {"cancel_at": ""}
    await desk.provider.end_now("sub_1")

    changing = ["GET /v1/subscriptions/sub_1", "POST /v1/subscriptions/sub_1"]
    assert desk.lines == [changing[1], *changing, *changing, "DELETE /v1/subscriptions/sub_1"]


async def test_what_has_ended_cannot_be_changed_and_need_not_be_ended() -> None:
    desk = Desk((404, MISSING))
    with pytest.raises(PaymentRefused):
        await desk.provider.end_with_period("sub_1")
    await desk.provider.end_now("sub_1")

    desk = Desk((400, {"error": {"type": "invalid_request_error", "message": "canceled"}}))
    with pytest.raises(PaymentRefused):
        await desk.provider.end_with_period("sub_1")


async def test_what_could_not_be_ended_and_goes_on_is_no_success() -> None:
    desk = Desk((400, {"error": {"type": "invalid_request_error", "message": "no"}}), (200, SUBSCRIPTION))

    with pytest.raises(PaymentsUnavailable):
        await desk.provider.end_now("sub_1")


async def test_the_portal_is_a_page_of_one_customer() -> None:
    desk = Desk((200, {"id": "bps_1", "object": "billing_portal.session", "url": "https://pay.example/p/1"}))

    assert await desk.provider.portal("cus_1", "https://watch.example/") == "https://pay.example/p/1"
    assert desk.lines == ["POST /v1/billing_portal/sessions"]
    assert desk.form() == {"customer": "cus_1", "return_url": "https://watch.example/"}


@pytest.mark.parametrize(
    "failure",
    [
        httpx2.ConnectError("refused"),
        httpx2.ReadTimeout("slow"),
        httpx2.RemoteProtocolError("gone"),
        (500, {"error": {"type": "api_error", "message": "broken"}}),
        (503, "<html>maintenance</html>"),
        (409, {"error": {"type": "idempotency_error", "message": "in use"}}),
    ],
)
async def test_a_failure_that_may_pass_is_tried_three_times_under_one_key(failure: Failure) -> None:
    desk = Desk(failure)

    with pytest.raises(PaymentsUnavailable, match="does not answer"):
        await desk.provider.start_checkout(ORDER, "an-attempt")

    assert len(desk.asked) == 1 + MAX_RETRIES
    assert {request.headers["idempotency-key"] for request in desk.asked} == {"checkout-an-attempt"}
    assert len(desk.clock.slept) == MAX_RETRIES, "it waits by the service's clock"
    assert sum(desk.clock.slept) <= 5


async def test_a_failure_that_passes_is_not_noticed() -> None:
    desk = Desk(httpx2.ConnectError("refused"), (500, "?"), (200, SUBSCRIPTION))

    assert await desk.provider.subscription("sub_1") == READ


@pytest.mark.parametrize(
    "answer",
    [
        (401, {"error": {"type": "invalid_request_error", "message": f"Invalid API Key provided: {KEY}"}}),
        (403, {"error": {"type": "invalid_request_error", "message": "not allowed"}}),
        (402, {"error": {"type": "card_error", "code": "card_declined", "message": "4242424242424242 was declined"}}),
        (429, {"error": {"type": "invalid_request_error", "message": "too many"}}),
        (301, ""),
        (200, "no json"),
        (200, "[]"),
        (200, {"id": "sub_1", "object": "subscription"}),
        (200, {**SUBSCRIPTION, "status": None}),
        (200, {**SUBSCRIPTION, "items": {"object": "list", "data": []}}),
        (200, {**SUBSCRIPTION, "customer": 5, "id": ""}),
    ],
)
async def test_an_answer_that_cannot_be_used_is_told_as_such_once(answer: tuple[int, object]) -> None:
    desk = Desk(answer)

    with capture_logs() as logged, pytest.raises(PaymentsUnavailable) as told:
        await desk.provider.subscription("sub_1")

    assert len(desk.asked) == 1
    assert logged, "an operator sees why"
    for secret in (KEY, "4242"):
        assert secret not in f"{logged}{told.value}{told.value.__cause__}"


async def test_nothing_of_a_key_is_printed_by_the_library(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    desk = Desk((200, SUBSCRIPTION))

    await desk.provider.subscription("sub_1")

    printed = capfd.readouterr()
    assert KEY not in caplog.text + printed.out + printed.err


async def test_an_id_cannot_lead_to_another_path() -> None:
    desk = Desk((404, MISSING))
    asked: list[Callable[[str], Any]] = [desk.provider.subscription, desk.provider.checkout]

    for ask in asked:
        await ask("../customers")

    assert all("/customers" not in request.url.raw_path.decode() for request in desk.asked)
