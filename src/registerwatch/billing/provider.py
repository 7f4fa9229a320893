"""The interface of a payment provider. Instants are unix seconds (UTC).

Cards are entered on the provider's own pages; this service never sees them.
"""

from typing import Protocol

import msgspec

TRIALING, ACTIVE, PAST_DUE = "trialing", "active", "past_due"
INCOMPLETE, INCOMPLETE_EXPIRED = "incomplete", "incomplete_expired"
CANCELED, UNPAID, PAUSED = "canceled", "unpaid", "paused"


class Subscription(msgspec.Struct, frozen=True):
    """A subscription as the provider has it."""

    id: str
    customer_id: str
    status: str
    """One of those above; the provider may invent others."""
    price_id: str
    cancel_at_period_end: bool
    """Whether it ends instead of being renewed."""
    period_start: int
    period_end: int
    ended_at: int | None
    """None while it has not ended."""
    had_trial: bool


class CheckoutOrder(msgspec.Struct, frozen=True):
    """A price to pay, and its payer."""

    account_id: int
    email: str
    customer_id: str | None
    """The provider's id of a customer who has paid before."""
    price_id: str
    trial_days: int
    """Days without a charge at the beginning, which need a card all the same; 0 for none."""
    success_url: str
    cancel_url: str


class Checkout(msgspec.Struct, frozen=True):
    """A page of the provider for one payment."""

    id: str
    url: str
    """Empty when it has expired."""
    is_complete: bool
    reference: str
    """The account's id, as it was given when the checkout was started."""
    subscription_id: str | None
    """None before it is complete."""


class PaymentProvider(Protocol):
    """Every method raises `PaymentsUnavailable` when the provider gives no usable answer."""

    async def start_checkout(self, order: CheckoutOrder, attempt: str) -> Checkout:
        """Start a checkout; the same order and attempt give the same checkout."""

    async def checkout(self, checkout_id: str) -> Checkout | None:
        """A checkout as it is now; None when the provider has none with this id."""

    async def subscription(self, subscription_id: str) -> Subscription | None:
        """A subscription as it is now; None when the provider has none with this id."""

    async def end_with_period(self, subscription_id: str) -> Subscription:
        """Let it end with its period. Raises `PaymentRefused`, as when it has ended."""

    async def renew(self, subscription_id: str) -> Subscription:
        """Undo `end_with_period`. Raises `PaymentRefused`, as when it has ended."""

    async def end_now(self, subscription_id: str) -> None:
        """End it at once. No error when it has ended before or does not exist."""

    async def portal(self, customer_id: str, return_url: str) -> str:
        """The address of a page on which a customer sees their card and their invoices, once."""

    async def close(self) -> None:
        """Close the connections."""
