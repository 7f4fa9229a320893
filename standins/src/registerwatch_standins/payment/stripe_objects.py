"""Records in the form of Stripe's API version 2026-10-28.endive.

`stripe_constants.json` has, for each kind of object, the fields whose value is always the same here; the functions add
those that depend on the record.
"""

from collections.abc import Mapping
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
    settings = {"custom_fields": None, "footer": None, "rendering_options": None}
    return _stripe_object(
        "customer",
        id=customer.id,
        created=customer.created,
        email=customer.email,
        invoice_prefix=customer.id[-8:].upper(),
        invoice_settings={**settings, "default_payment_method": customer.payment_method},
    )


def subscription_object(subscription: Subscription, price: Price, customer: Customer) -> dict[str, Any]:
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
    return _stripe_object(
        "subscription",
        id=subscription.id,
        billing_cycle_anchor=subscription.anchor,
        cancel_at=subscription.ends_at,
        cancel_at_period_end=subscription.cancel_at_period_end,
        canceled_at=subscription.canceled_at,
        cancellation_details={"comment": None, "feedback": None, "reason": subscription.cancel_reason},
        created=subscription.created,
        currency=price.currency,
        customer=subscription.customer,
        default_payment_method=customer.payment_method,
        ended_at=subscription.ended_at,
        items=_list_object(item, f"/v1/subscription_items?subscription={subscription.id}"),
        latest_invoice=subscription.latest_invoice,
        start_date=subscription.created,
        status=subscription.status,
        trial_start=subscription.trial_start,
        trial_end=subscription.trial_end,
    )


def _plan_object(price: Price) -> dict[str, Any]:
    """The price in the older form that items still carry."""
    return _stripe_object(
        "plan", **_price_names(price), amount=price.unit_amount, amount_decimal=str(price.unit_amount)
    )


def invoice_object(invoice: Invoice, subscription: Subscription, customer: Customer) -> dict[str, Any]:
    """An invoice. Its `parent` names the subscription."""
    paid = invoice.amount if invoice.status == "paid" else 0
    totals = ("amount_due", "subtotal", "subtotal_excluding_tax", "total", "total_excluding_tax")
    dates = {"finalized_at": invoice.finalized_at, "paid_at": invoice.paid_at}
    details = {"metadata": {}, "subscription": subscription.id}
    return _stripe_object(
        "invoice",
        **dict.fromkeys(totals, invoice.amount),
        id=invoice.id,
        amount_paid=paid,
        amount_remaining=invoice.amount - paid,
        attempt_count=invoice.attempts,
        attempted=invoice.attempts > 0,
        auto_advance=invoice.status in ("draft", "open"),
        automatically_finalizes_at=invoice.next_attempt if invoice.status == "draft" else None,
        billing_reason=invoice.reason,
        created=invoice.created,
        currency=invoice.currency,
        customer=invoice.customer,
        customer_email=customer.email,
        effective_at=invoice.finalized_at,
        ending_balance=0 if invoice.finalized_at else None,
        lines=_list_object(_line(invoice, subscription), f"/v1/invoices/{invoice.id}/lines"),
        next_payment_attempt=invoice.next_attempt,
        number=invoice.number if invoice.finalized_at else None,
        parent={"type": "subscription_details", "quote_details": None, "subscription_details": details},
        period_start=invoice.period_start,
        period_end=invoice.period_start,
        status=invoice.status,
        status_transitions={"marked_uncollectible_at": None, "voided_at": None, **dates},
    )


def _line(invoice: Invoice, subscription: Subscription) -> dict[str, Any]:
    item = {"subscription": subscription.id, "subscription_item": subscription.item}
    details = {"invoice_item": None, "proration": False, **item}
    kind = "subscription_item_details"
    return _stripe_object(
        "line_item",
        id=f"il_{invoice.id.removeprefix('in_')}",
        amount=invoice.amount,
        subtotal=invoice.amount,
        currency=invoice.currency,
        invoice=invoice.id,
        parent={"type": kind, "invoice_item_details": None, kind: details},
        period={"start": invoice.period_start, "end": invoice.period_end},
        pricing={"price_details": {"price": invoice.price}, "type": "price_details"},
        subscription=invoice.subscription,
    )


def checkout_object(checkout: Checkout, price: Price, customer: Customer | None, base_url: str) -> dict[str, Any]:
    """A checkout session. It has a `url` as long as somebody can pay there."""
    total = 0 if checkout.trial_days else price.unit_amount
    email = customer.email if customer else checkout.customer_email
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
        customer_creation=None if checkout.customer else "always",
        customer_details=_customer_details(email) if email else None,
        customer_email=checkout.customer_email,
        expires_at=checkout.expires_at,
        invoice=checkout.invoice,
        payment_status=_payment_status(checkout),
        status=checkout.status,
        subscription=checkout.subscription,
        success_url=checkout.success_url,
        url=f"{base_url}/c/pay/{checkout.id}" if checkout.status == "open" else None,
    )


def _payment_status(checkout: Checkout) -> str:
    if checkout.status != "complete":
        return "unpaid"
    return "no_payment_required" if checkout.trial_days else "paid"


def _customer_details(email: str) -> dict[str, Any]:
    unknown = dict.fromkeys(("address", "business_name", "individual_name", "name", "phone"))
    return {**unknown, "email": email, "tax_exempt": "none", "tax_ids": []}


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


def _list_object(row: Mapping[str, Any], url: str) -> dict[str, Any]:
    """A list of one object."""
    return {"object": "list", "data": [row], "has_more": False, "url": url}
