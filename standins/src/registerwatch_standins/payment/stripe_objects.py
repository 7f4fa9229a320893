"""Records in the form of Stripe's API version 2026-10-28.endive.

`stripe_constants.json` has, for each kind of object, the fields whose value is always the same here, since nobody reads
them; the functions add those that depend on the record.
"""

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from registerwatch_standins.payment.records import Checkout, Customer, Invoice, Portal, Price, Subscription

API_VERSION = "2026-10-28.endive"


@cache
def _constants() -> dict[str, dict[str, Any]]:
    """Constant fields by kind of object (the value of `object`)."""
    content = files("registerwatch_standins.payment").joinpath("stripe_constants.json").read_bytes()
    return msgspec.json.decode(content, type=dict[str, dict[str, Any]])


def _stripe_object(kind: str, **fields: Any) -> dict[str, Any]:
    return {**_constants()[kind], **fields}


def price_object(price: Price) -> dict[str, Any]:
    """A price."""
    return _stripe_object(
        "price",
        **_price_names(price),
        unit_amount=price.unit_amount,
        unit_amount_decimal=str(price.unit_amount),
    )


def _price_names(price: Price) -> dict[str, Any]:
    return {
        "id": price.id,
        "created": price.created,
        "currency": price.currency,
        "nickname": price.name,
        "product": price.product,
    }


def customer_object(customer: Customer) -> dict[str, Any]:
    """A customer."""
    return _stripe_object("customer", id=customer.id, created=customer.created, email=customer.email)


def subscription_object(subscription: Subscription, price: Price) -> dict[str, Any]:
    """A subscription. Its period is on its item."""
    item = _stripe_object(
        "subscription_item",
        id=subscription.item,
        created=subscription.created,
        current_period_start=subscription.period_start,
        current_period_end=subscription.period_end,
        plan=_plan_object(price),
        price=price_object(price),
        subscription=subscription.id,
    )
    url = f"/v1/subscription_items?subscription={subscription.id}"
    return _stripe_object(
        "subscription",
        id=subscription.id,
        billing_cycle_anchor=subscription.anchor,
        cancel_at=subscription.ends_at,
        cancel_at_period_end=subscription.cancel_at_period_end,
        created=subscription.created,
        currency=price.currency,
        customer=subscription.customer,
        ended_at=subscription.ended_at,
        items={"object": "list", "data": [item], "has_more": False, "url": url},
        latest_invoice=subscription.latest_invoice,
        start_date=subscription.created,
        status=subscription.status,
        trial_start=subscription.created if subscription.trial_end else None,
        trial_end=subscription.trial_end,
    )


def _plan_object(price: Price) -> dict[str, Any]:
    """The price in the older form that items still carry."""
    return _stripe_object(
        "plan", **_price_names(price), amount=price.unit_amount, amount_decimal=str(price.unit_amount)
    )


def invoice_object(invoice: Invoice, price: Price) -> dict[str, Any]:
    """An invoice. Its `parent` names the subscription."""
    paid = invoice.amount if invoice.status == "paid" else 0
    totals = ("amount_due", "subtotal", "subtotal_excluding_tax", "total", "total_excluding_tax")
    details = {"metadata": {}, "subscription": invoice.subscription}
    return _stripe_object(
        "invoice",
        **dict.fromkeys(totals, invoice.amount),
        id=invoice.id,
        amount_paid=paid,
        amount_remaining=invoice.amount - paid,
        attempt_count=invoice.attempts,
        attempted=invoice.attempts > 0,
        auto_advance=invoice.status in ("draft", "open"),
        created=invoice.created,
        currency=price.currency,
        customer=invoice.customer,
        next_payment_attempt=invoice.next_attempt,
        parent={"type": "subscription_details", "quote_details": None, "subscription_details": details},
        period_start=invoice.period_start,
        period_end=invoice.period_start,
        status=invoice.status,
    )


def checkout_object(checkout: Checkout, price: Price, base_url: str) -> dict[str, Any]:
    """A checkout session. It has a `url` as long as somebody can pay there."""
    total = 0 if checkout.trial_days else price.unit_amount
    paid = "no_payment_required" if checkout.trial_days else "paid"
    return _stripe_object(
        "checkout.session",
        id=checkout.id,
        amount_subtotal=total,
        amount_total=total,
        cancel_url=checkout.cancel_url,
        client_reference_id=checkout.client_reference_id,
        created=checkout.created,
        currency=price.currency,
        customer=checkout.customer,
        customer_email=checkout.customer_email,
        expires_at=checkout.expires_at,
        payment_status=paid if checkout.status == "complete" else "unpaid",
        status=checkout.status,
        subscription=checkout.subscription,
        success_url=checkout.success_url,
        url=f"{base_url}/c/pay/{checkout.id}" if checkout.status == "open" else None,
    )


def portal_object(portal: Portal, base_url: str) -> dict[str, Any]:
    """A session of the customer portal."""
    return _stripe_object(
        "billing_portal.session",
        id=portal.id,
        created=portal.created,
        customer=portal.customer,
        return_url=portal.return_url,
        url=f"{base_url}/p/session/{portal.id}",
    )
