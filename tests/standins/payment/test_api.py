"""The interface answers the real SDK in Stripe's forms, its refusals too."""

from typing import Any, get_args

import httpx2
import pytest
import stripe

from registerwatch_standins.payment.parameters import form_tree
from registerwatch_standins.payment.stripe_objects import API_VERSION
from tests.support.payments import API_KEY, Payments

from .conftest import order, subscribed

CHECKOUTS = "/v1/checkout/sessions"
FORM = "mode=subscription&line_items[0][price]=price_standard&success_url=http://service.test/"


async def ask(payments: Payments, method: str, path: str, body: str = "", **headers: str) -> httpx2.Response:
    """An answer to a request as it is."""
    sent = {"Authorization": f"Bearer {API_KEY}", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return await payments.browser.request(method, path, content=body or None, headers=sent)


async def test_the_version_is_the_one_that_the_sdk_asks_for(payments: Payments) -> None:
    assert stripe.api_version == API_VERSION
    assert (await ask(payments, "GET", "/v1/subscriptions/sub_none")).headers["stripe-version"] == API_VERSION


def unlike(shown: dict[str, Any], kind: type[stripe.StripeObject]) -> tuple[set[str], set[str]]:
    """Fields that Stripe does not have, and such that it always has and the stand-in has not."""
    names = {name for name in kind.__annotations__ if not name.startswith("_")}
    always = {name for name in names if type(None) not in get_args(kind.__annotations__[name])}
    always -= {"OBJECT_NAME"}
    return shown.keys() - names - {"object"}, always - shown.keys()


async def test_what_is_shown_has_stripes_fields_and_no_others(payments: Payments) -> None:
    bought = await subscribed(payments, trial_days=7)
    ledger = payments.ledger
    (customer,), (invoice,), (checkout,) = (
        list(ledger.customers.values()),
        list(ledger.invoices.values()),
        list(ledger.checkouts.values()),
    )
    subscription = ledger.stripe_object(ledger.subscriptions[bought.id])
    (item,) = subscription["items"]["data"]
    portal = await payments.sdk.v1.billing_portal.sessions.create_async({"customer": customer.id})
    shapes: list[tuple[dict[str, Any], type[stripe.StripeObject]]] = [
        (subscription, stripe.Subscription),
        (item, stripe.SubscriptionItem),
        (item["price"], stripe.Price),
        (item["plan"], stripe.Plan),
        (ledger.stripe_object(customer), stripe.Customer),
        (ledger.stripe_object(invoice), stripe.Invoice),
        (ledger.stripe_object(checkout), stripe.checkout.Session),
        (portal.to_dict(), stripe.billing_portal.Session),
        (ledger.log.events[0].json, stripe.Event),
    ]
    assert [(kind.__name__, unlike(shown, kind)) for shown, kind in shapes] == [
        (kind.__name__, (set(), set())) for _, kind in shapes
    ]


async def test_without_a_key_nothing_is_told(payments: Payments) -> None:
    answer = await payments.browser.get("/v1/subscriptions/sub_none")
    message = "You did not provide an API key."
    assert answer.status_code == 401
    assert answer.json() == {"error": {"message": message, "type": "invalid_request_error"}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"line_items": [{"price": "price_none"}]}, "No such price: 'price_none'"),
        ({"line_items": [{"prize": "price_standard"}]}, "unknown field `prize` - at `$.line_items[0]`"),
        ({"mode": "payment"}, r"Invalid enum value 'payment' - at `$.mode`"),
        ({"customer": "cus_none"}, "No such customer: 'cus_none'"),
        ({"customer": "cus_none", "customer_email": "a@acme.example"}, "only specify one of these"),
        ({"subscription_data": {"trial_period_days": "soon"}}, "at `$.subscription_data.trial_period_days`"),
        ({"colour": "blue"}, "unknown field `colour`"),
    ],
)
async def test_a_parameter_that_cannot_be_is_named(payments: Payments, change: dict[str, Any], message: str) -> None:
    with pytest.raises(stripe.InvalidRequestError) as caught:
        await payments.sdk.v1.checkout.sessions.create_async(order(**change))
    assert caught.value.http_status == 400
    assert message in str(caught.value)


def test_lists_and_maps_come_in_brackets() -> None:
    body = b"email=a%2Bb%40acme.example&items[0][price]=p&items[1][price]=q"
    assert form_tree(body) == {
        "email": "a+b@acme.example",
        "items": [{"price": "p"}, {"price": "q"}],
    }


async def test_an_address_that_is_not_there_is_404(payments: Payments) -> None:
    unknown = await ask(payments, "GET", "/v1/charges")
    assert unknown.status_code == 404
    assert unknown.json()["error"]["message"] == "Unrecognized request URL (GET: /v1/charges)."


async def test_a_key_gives_the_first_answer_to_one_question_and_is_not_used_up_by_an_error(payments: Payments) -> None:
    assert (await ask(payments, "POST", CHECKOUTS, "colour=blue", Idempotency_Key="one")).status_code == 400
    first, again = [await ask(payments, "POST", CHECKOUTS, FORM, Idempotency_Key="one") for _ in range(2)]
    assert first.status_code == 200
    assert first.content == again.content
    assert len(payments.ledger.checkouts) == 1
    other = await ask(payments, "POST", CHECKOUTS, f"{FORM}&customer_email=b@acme.example", Idempotency_Key="one")
    assert (other.status_code, other.json()["error"]["type"]) == (400, "idempotency_error")
