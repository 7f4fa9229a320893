"""The payment provider Stripe: its SDK over httpx2.

A request takes 20 seconds at most, its retries included. The log gets only the kind of a failure: the provider's
message could repeat what a user sent.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2
import stripe
import structlog

from registerwatch.billing.provider import Checkout, CheckoutOrder, Subscription
from registerwatch.errors import PaymentRefused, PaymentsUnavailable
from registerwatch.platform.clock import Clock

if TYPE_CHECKING:
    from stripe.params import SubscriptionUpdateParams
    from stripe.params.checkout import SessionCreateParams

REQUEST_SECONDS = 20.0
TRY_SECONDS = 8.0
MAX_RETRIES = 2
MAX_CONNECTIONS = 10
UNREACHABLE = "The payment provider does not answer; try again shortly."
UNUSABLE_ANSWER = "The payment provider gave an answer that could not be used; try again shortly."
REFUSED = "The payment provider refused this; the subscription may have ended."

Found = TypeVar("Found")

log = structlog.get_logger(__name__)


class StripeProvider:
    """Calls Stripe, or another service with its interface at `api_url`. Tests bring a transport."""

    def __init__(
        self, api_key: str, api_url: str, clock: Clock, *, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        stripe.enable_telemetry = False  # else the SDK sends timings and writes a file to the home directory
        self._http = _Connections(clock, transport)
        client = stripe.StripeClient(
            api_key, base_addresses={"api": api_url}, http_client=self._http, max_network_retries=MAX_RETRIES
        )
        self._subscriptions = client.v1.subscriptions
        self._checkouts = client.v1.checkout.sessions
        self._portals = client.v1.billing_portal.sessions

    async def start_checkout(self, order: CheckoutOrder, attempt: str) -> Checkout:
        """Start a checkout; the same order and attempt give the same checkout."""
        request = self._checkouts.create_async(_checkout_params(order), {"idempotency_key": f"checkout-{attempt}"})
        return await _answer("start a checkout", request, _checkout_of)

    async def checkout(self, checkout_id: str) -> Checkout | None:
        """A checkout as it is now; None when the provider has none with this id."""
        try:
            return await _answer("read a checkout", self._checkouts.retrieve_async(checkout_id), _checkout_of)
        except _Missing:
            return None

    async def subscription(self, subscription_id: str) -> Subscription | None:
        """A subscription as it is now; None when the provider has none with this id."""
        request = self._subscriptions.retrieve_async(subscription_id)
        try:
            return await _answer("read a subscription", request, subscription_of)
        except _Missing:
            return None

    async def end_with_period(self, subscription_id: str) -> Subscription:
        """Let it end with its period. Raises `PaymentRefused`, as when it has ended."""
        return await self._changed(
            "end a subscription with its period", subscription_id, {"cancel_at_period_end": True}
        )

    async def renew(self, subscription_id: str) -> Subscription:
        """Undo `end_with_period`. Raises `PaymentRefused`, as when it has ended.

        A cancellation on Stripe's pages can have a date (`cancel_at`) instead of the period's end.
        """
        request = self._subscriptions.retrieve_async(subscription_id)
        by_date = await _answer("read a subscription", request, _ends_by_date)
        undone: SubscriptionUpdateParams = {"cancel_at": ""} if by_date else {"cancel_at_period_end": False}
        return await self._changed("renew a subscription", subscription_id, undone)

    async def end_now(self, subscription_id: str) -> None:
        """End it at once. No error when it has ended before or does not exist."""
        try:
            await _answer("end a subscription", self._subscriptions.cancel_async(subscription_id), subscription_of)
        except PaymentRefused:
            if (left := await self.subscription(subscription_id)) is not None and left.ended_at is None:
                raise PaymentsUnavailable(UNUSABLE_ANSWER) from None

    async def portal(self, customer_id: str, return_url: str) -> str:
        """The address of a page on which a customer sees their card and their invoices, once."""
        request = self._portals.create_async({"customer": customer_id, "return_url": return_url})
        return await _answer("open the customer portal", request, _address)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close_async()

    async def _changed(self, what: str, subscription_id: str, params: "SubscriptionUpdateParams") -> Subscription:
        return await _answer(what, self._subscriptions.update_async(subscription_id, params), subscription_of)


class _Missing(PaymentRefused):
    """The provider has nothing with this id."""


class _Connections(stripe.HTTPClient):
    """The SDK's transport: over httpx2, without threads and without following redirects."""

    name = "httpx2"

    def __init__(self, clock: Clock, transport: httpx2.AsyncBaseTransport | None) -> None:
        super().__init__()
        self._clock = clock
        self._client = httpx2.AsyncClient(
            transport=transport,
            timeout=httpx2.Timeout(TRY_SECONDS),
            limits=httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=2),
        )

    async def request_async(
        self, method: str, url: str, headers: Mapping[str, str], post_data: str | None = None
    ) -> tuple[bytes, int, Mapping[str, str]]:
        try:
            answer = await self._client.request(method, url, headers=dict(headers), content=post_data)
        except httpx2.HTTPError as error:
            raise stripe.APIConnectionError(type(error).__name__, should_retry=True) from error  # type: ignore[no-untyped-call]  # as the SDK has it
        return answer.content, answer.status_code, answer.headers

    async def sleep_async(self, secs: float) -> None:
        await self._clock.sleep(secs)

    async def close_async(self) -> None:
        await self._client.aclose()


async def _answer(
    what: str, request: Coroutine[Any, Any, stripe.StripeObject], read: Callable[[Mapping[str, Any]], Found]
) -> Found:
    """The provider's answer, read by `read`."""
    async with _translated_errors(what):
        return read((await request).to_dict())


@asynccontextmanager
async def _translated_errors(what: str) -> AsyncIterator[None]:
    """Bounds the time of a request and translates its errors into those of this service."""
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            yield
    except stripe.InvalidRequestError as error:
        _note(what, error)
        if error.http_status == 404 or error.code == "resource_missing":
            raise _Missing(REFUSED) from None
        raise PaymentRefused(REFUSED) from None
    except stripe.StripeError as error:
        _note(what, error)
        raise PaymentsUnavailable(UNREACHABLE) from None
    except TimeoutError:
        log.warning("the payment provider took too long", what=what)
        raise PaymentsUnavailable(UNREACHABLE) from None
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        log.error("the payment provider gave an answer that could not be read", what=what, error=type(error).__name__)
        raise PaymentsUnavailable(UNUSABLE_ANSWER) from None


def _note(what: str, error: stripe.StripeError) -> None:
    """Log what an operator needs to find the request in the provider's logs."""
    log.warning(
        "the payment provider refused or failed",
        what=what,
        error=type(error).__name__,
        status=error.http_status,
        code=error.code,
        request=error.request_id,
    )


def _checkout_params(order: CheckoutOrder) -> "SessionCreateParams":
    params: SessionCreateParams = {
        "mode": "subscription",
        "client_reference_id": str(order.account_id),
        "line_items": [{"price": order.price_id, "quantity": 1}],
        "success_url": order.success_url,
        "cancel_url": order.cancel_url,
        "payment_method_collection": "always",
    }
    if order.customer_id is not None:
        params["customer"] = order.customer_id
    else:
        params["customer_email"] = order.email
    if order.trial_days:
        params["subscription_data"] = {"trial_period_days": order.trial_days}
    return params


def _checkout_of(answer: Mapping[str, Any]) -> Checkout:
    return Checkout(
        id=_text(answer["id"]),
        url=answer.get("url") or "",
        is_complete=answer.get("status") == "complete",
        reference=answer.get("client_reference_id") or "",
        subscription_id=_id_of(answer.get("subscription")),
    )


def subscription_of(answer: Mapping[str, Any]) -> Subscription:
    """A subscription in an answer. Since March 2025 its items have the period; older forms are read too."""
    items: Sequence[Mapping[str, Any]] = answer["items"]["data"]
    ends = [item["current_period_end"] for item in items if "current_period_end" in item]
    starts = [item["current_period_start"] for item in items if "current_period_start" in item]
    period_end = int(max(ends) if ends else answer["current_period_end"])
    ends_on = answer.get("cancel_at")
    return Subscription(
        id=_text(answer["id"]),
        customer_id=_id_of(answer["customer"]) or "",
        status=_text(answer["status"]),
        price_id=_price_of(items[0]),
        cancel_at_period_end=bool(answer.get("cancel_at_period_end")) or ends_on is not None,
        period_start=int(max(starts) if starts else answer["current_period_start"]),
        period_end=period_end if ends_on is None else min(period_end, int(ends_on)),
        ended_at=None if answer.get("ended_at") is None else int(answer["ended_at"]),
        had_trial=answer.get("trial_end") is not None,
    )


def _price_of(item: Mapping[str, Any]) -> str:
    """The price's id; older forms say plan."""
    return _id_of(item.get("price")) or _id_of(item.get("plan")) or ""


def _ends_by_date(answer: Mapping[str, Any]) -> bool:
    return answer.get("cancel_at") is not None and not answer.get("cancel_at_period_end")


def _address(answer: Mapping[str, Any]) -> str:
    return _text(answer["url"])


def _id_of(value: object) -> str | None:
    """The id of an object that is given by its id or in full."""
    found = value.get("id") if isinstance(value, Mapping) else value
    return found if isinstance(found, str) and found else None


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a text is missing")
    return value
