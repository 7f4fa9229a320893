"""Records in the form of Stripe's API version 2026-10-28.endive."""

from collections.abc import Mapping, Sequence
from typing import Any

from registerwatch_standins.payment.records import Checkout, Customer, Invoice, Portal, Price, Subscription

API_VERSION = "2026-10-28.endive"
_NO_TAX = {"disabled_reason": None, "enabled": False, "liability": None, "provider": None, "status": None}
_ISSUER = {"type": "self"}


def price_object(price: Price) -> dict[str, Any]:
    """A price."""
    recurring = {
        "interval": price.interval,
        "interval_count": 1,
        "meter": None,
        "trial_period_days": None,
        "usage_type": "licensed",
    }
    return {
        "id": price.id,
        "object": "price",
        "active": True,
        "billing_scheme": "per_unit",
        "created": price.created,
        "currency": price.currency,
        "custom_unit_amount": None,
        "livemode": False,
        "lookup_key": None,
        "metadata": {},
        "nickname": price.name,
        "product": price.product,
        "recurring": recurring,
        "tax_behavior": "unspecified",
        "tiers_mode": None,
        "transform_quantity": None,
        "type": "recurring",
        "unit_amount": price.unit_amount,
        "unit_amount_decimal": str(price.unit_amount),
    }


def _plan_object(price: Price) -> dict[str, Any]:
    """The price in the older form that items still carry."""
    return {
        "id": price.id,
        "object": "plan",
        "active": True,
        "amount": price.unit_amount,
        "amount_decimal": str(price.unit_amount),
        "billing_scheme": "per_unit",
        "created": price.created,
        "currency": price.currency,
        "interval": price.interval,
        "interval_count": 1,
        "livemode": False,
        "metadata": {},
        "meter": None,
        "nickname": price.name,
        "product": price.product,
        "tiers_mode": None,
        "transform_usage": None,
        "trial_period_days": None,
        "usage_type": "licensed",
    }


def customer_object(customer: Customer) -> dict[str, Any]:
    """A customer; one that was deleted is hardly more than its id."""
    if customer.deleted:
        return {"id": customer.id, "object": "customer", "deleted": True}
    return {
        "id": customer.id,
        "object": "customer",
        "address": None,
        "balance": 0,
        "created": customer.created,
        "currency": None,
        "default_source": None,
        "delinquent": False,
        "description": None,
        "discount": None,
        "email": customer.email,
        "invoice_prefix": customer.id[-8:].upper(),
        "invoice_settings": {
            "custom_fields": None,
            "default_payment_method": customer.payment_method,
            "footer": None,
            "rendering_options": None,
        },
        "livemode": False,
        "metadata": dict(customer.metadata),
        "name": customer.name,
        "next_invoice_sequence": 1,
        "phone": None,
        "preferred_locales": [],
        "shipping": None,
        "tax_exempt": "none",
        "test_clock": None,
    }


def subscription_object(subscription: Subscription, price: Price, customer: Customer) -> dict[str, Any]:
    """A subscription. Its period is on its item."""
    item: dict[str, Any] = {
        "id": subscription.item,
        "object": "subscription_item",
        "billing_thresholds": None,
        "created": subscription.created,
        "current_period_end": subscription.period_end,
        "current_period_start": subscription.period_start,
        "discounts": [],
        "metadata": {},
        "plan": _plan_object(price),
        "price": price_object(price),
        "quantity": 1,
        "subscription": subscription.id,
        "tax_rates": [],
    }
    return {
        "id": subscription.id,
        "object": "subscription",
        "application": None,
        "application_fee_percent": None,
        "automatic_tax": {"disabled_reason": None, "enabled": False, "liability": None},
        "billing_cycle_anchor": subscription.anchor,
        "billing_cycle_anchor_config": None,
        "billing_mode": {"flexible": {"proration_discounts": "included"}, "type": "flexible", "updated_at": None},
        "billing_schedules": [],
        "billing_thresholds": None,
        "cancel_at": subscription.ends_at,
        "cancel_at_period_end": subscription.cancel_at_period_end,
        "canceled_at": subscription.canceled_at,
        "cancellation_details": {"comment": None, "feedback": None, "reason": subscription.cancel_reason},
        "collection_method": "charge_automatically",
        "created": subscription.created,
        "currency": price.currency,
        "customer": subscription.customer,
        "customer_account": None,
        "days_until_due": None,
        "default_payment_method": customer.payment_method,
        "default_source": None,
        "default_tax_rates": [],
        "description": None,
        "discounts": [],
        "ended_at": subscription.ended_at,
        "invoice_settings": {
            "account_tax_ids": None,
            "custom_fields": None,
            "description": None,
            "footer": None,
            "issuer": _ISSUER,
        },
        "items": list_object([item], f"/v1/subscription_items?subscription={subscription.id}"),
        "latest_invoice": subscription.latest_invoice,
        "livemode": False,
        "metadata": dict(subscription.metadata),
        "next_pending_invoice_item_invoice": None,
        "on_behalf_of": None,
        "pause_collection": None,
        "payment_settings": {
            "payment_method_options": None,
            "payment_method_types": None,
            "save_default_payment_method": "off",
        },
        "pending_invoice_item_interval": None,
        "pending_setup_intent": None,
        "pending_update": None,
        "schedule": None,
        "start_date": subscription.created,
        "status": subscription.status,
        "test_clock": None,
        "transfer_data": None,
        "trial_end": subscription.trial_end,
        "trial_settings": {"end_behavior": {"missing_payment_method": "create_invoice"}},
        "trial_start": subscription.trial_start,
    }


def invoice_object(invoice: Invoice, subscription: Subscription, customer: Customer) -> dict[str, Any]:
    """An invoice. The subscription is named by its `parent`."""
    paid = invoice.amount if invoice.status == "paid" else 0
    return {
        "id": invoice.id,
        "object": "invoice",
        "account_country": "BE",
        "account_name": "Stand-in",
        "account_tax_ids": None,
        "amount_due": invoice.amount,
        "amount_overpaid": 0,
        "amount_paid": paid,
        "amount_remaining": invoice.amount - paid,
        "amount_shipping": 0,
        "application": None,
        "attempt_count": invoice.attempts,
        "attempted": invoice.attempts > 0,
        "auto_advance": invoice.status in ("draft", "open"),
        "automatic_tax": _NO_TAX,
        "automatically_finalizes_at": invoice.next_attempt if invoice.status == "draft" else None,
        "billing_reason": invoice.reason,
        "collection_method": "charge_automatically",
        "created": invoice.created,
        "currency": invoice.currency,
        "custom_fields": None,
        "customer": invoice.customer,
        "customer_account": None,
        "customer_address": None,
        "customer_email": customer.email,
        "customer_name": customer.name,
        "customer_phone": None,
        "customer_shipping": None,
        "customer_tax_exempt": "none",
        "customer_tax_ids": [],
        "default_payment_method": None,
        "default_source": None,
        "default_tax_rates": [],
        "description": None,
        "discounts": [],
        "due_date": None,
        "effective_at": invoice.finalized_at,
        "ending_balance": 0 if invoice.finalized_at else None,
        "footer": None,
        "from_invoice": None,
        "hosted_invoice_url": None,
        "invoice_pdf": None,
        "issuer": _ISSUER,
        "last_finalization_error": None,
        "latest_revision": None,
        "lines": list_object([_line(invoice, subscription)], f"/v1/invoices/{invoice.id}/lines"),
        "livemode": False,
        "metadata": {},
        "next_payment_attempt": invoice.next_attempt,
        "number": invoice.number if invoice.finalized_at else None,
        "on_behalf_of": None,
        "parent": {
            "quote_details": None,
            "subscription_details": {"metadata": dict(subscription.metadata), "subscription": subscription.id},
            "type": "subscription_details",
        },
        "payment_settings": {"default_mandate": None, "payment_method_options": None, "payment_method_types": None},
        "period_end": invoice.period_start,
        "period_start": invoice.period_start,
        "post_payment_credit_notes_amount": 0,
        "pre_payment_credit_notes_amount": 0,
        "receipt_number": None,
        "rendering": None,
        "shipping_cost": None,
        "shipping_details": None,
        "starting_balance": 0,
        "statement_descriptor": None,
        "status": invoice.status,
        "status_transitions": {
            "finalized_at": invoice.finalized_at,
            "marked_uncollectible_at": None,
            "paid_at": invoice.paid_at,
            "voided_at": None,
        },
        "subtotal": invoice.amount,
        "subtotal_excluding_tax": invoice.amount,
        "test_clock": None,
        "total": invoice.amount,
        "total_discount_amounts": [],
        "total_excluding_tax": invoice.amount,
        "total_pretax_credit_amounts": [],
        "total_taxes": [],
        "webhooks_delivered_at": None,
    }


def _line(invoice: Invoice, subscription: Subscription) -> dict[str, Any]:
    return {
        "id": f"il_{invoice.id.removeprefix('in_')}",
        "object": "line_item",
        "amount": invoice.amount,
        "currency": invoice.currency,
        "description": None,
        "discount_amounts": [],
        "discountable": True,
        "discounts": [],
        "invoice": invoice.id,
        "livemode": False,
        "metadata": dict(subscription.metadata),
        "parent": {
            "invoice_item_details": None,
            "subscription_item_details": {
                "invoice_item": None,
                "proration": False,
                "subscription": subscription.id,
                "subscription_item": subscription.item,
            },
            "type": "subscription_item_details",
        },
        "period": {"end": invoice.period_end, "start": invoice.period_start},
        "pretax_credit_amounts": [],
        "pricing": {"price_details": {"price": invoice.price}, "type": "price_details"},
        "quantity": 1,
        "subscription": invoice.subscription,
        "subtotal": invoice.amount,
        "taxes": [],
    }


def checkout_object(checkout: Checkout, price: Price, customer: Customer | None, base_url: str) -> dict[str, Any]:
    """A checkout session. Its address is there as long as somebody can pay at it."""
    total = 0 if checkout.trial_days else price.unit_amount * checkout.quantity
    email = customer.email if customer else checkout.customer_email
    return {
        "id": checkout.id,
        "object": "checkout.session",
        "adaptive_pricing": None,
        "after_expiration": None,
        "allow_promotion_codes": None,
        "amount_subtotal": total,
        "amount_total": total,
        "automatic_tax": {"enabled": False, "liability": None, "provider": None, "status": None},
        "billing_address_collection": None,
        "cancel_url": checkout.cancel_url,
        "client_reference_id": checkout.client_reference_id,
        "client_secret": None,
        "collected_information": None,
        "consent": None,
        "consent_collection": None,
        "created": checkout.created,
        "currency": price.currency,
        "currency_conversion": None,
        "custom_fields": [],
        "custom_text": {
            "after_submit": None,
            "shipping_address": None,
            "submit": None,
            "terms_of_service_acceptance": None,
        },
        "customer": checkout.customer,
        "customer_account": None,
        "customer_creation": None if checkout.customer else "always",
        "customer_details": _customer_details(email, customer) if email else None,
        "customer_email": checkout.customer_email,
        "discounts": [],
        "expires_at": checkout.expires_at,
        "invoice": checkout.invoice,
        "invoice_creation": None,
        "livemode": False,
        "locale": None,
        "metadata": dict(checkout.metadata),
        "mode": "subscription",
        "origin_context": None,
        "payment_intent": None,
        "payment_link": None,
        "payment_method_collection": "always" if checkout.needs_card else "if_required",
        "payment_method_configuration_details": None,
        "payment_method_options": {},
        "payment_method_types": ["card"],
        "payment_status": _payment_status(checkout),
        "permissions": None,
        "phone_number_collection": {"enabled": False},
        "recovered_from": None,
        "saved_payment_method_options": None,
        "setup_intent": None,
        "shipping_address_collection": None,
        "shipping_cost": None,
        "shipping_options": [],
        "status": checkout.status,
        "submit_type": None,
        "subscription": checkout.subscription,
        "success_url": checkout.success_url,
        "total_details": {"amount_discount": 0, "amount_shipping": 0, "amount_tax": 0},
        "ui_mode": "hosted_page",
        "url": f"{base_url}/c/pay/{checkout.id}" if checkout.status == "open" else None,
        "wallet_options": None,
    }


def _payment_status(checkout: Checkout) -> str:
    if checkout.status != "complete":
        return "unpaid"
    return "no_payment_required" if checkout.trial_days else "paid"


def _customer_details(email: str, customer: Customer | None) -> dict[str, Any]:
    return {
        "address": None,
        "business_name": None,
        "email": email,
        "individual_name": None,
        "name": customer.name if customer else None,
        "phone": None,
        "tax_exempt": "none",
        "tax_ids": [],
    }


def portal_object(portal: Portal, base_url: str) -> dict[str, Any]:
    """A session of the customer portal."""
    return {
        "id": portal.id,
        "object": "billing_portal.session",
        "configuration": "bpc_standin",
        "created": portal.created,
        "customer": portal.customer,
        "customer_account": None,
        "flow": None,
        "livemode": False,
        "locale": None,
        "on_behalf_of": None,
        "return_url": portal.return_url,
        "url": f"{base_url}/p/session/{portal.id}",
    }


def list_object(rows: Sequence[Mapping[str, Any]], url: str, *, has_more: bool = False) -> dict[str, Any]:
    """A page of a list."""
    return {"object": "list", "data": list(rows), "has_more": has_more, "url": url}
