"""What the stand-in keeps. Instants are unix seconds, amounts are in the currency's smallest unit."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

Status = Literal["trialing", "active", "past_due", "canceled"]
InvoiceStatus = Literal["draft", "open", "paid", "void"]


class Card(StrEnum):
    """Cards that people can pay with, by Stripe's own numbers for tests."""

    GOOD = "4242424242424242"
    REFUSED = "4000000000000002"
    REFUSED_LATER = "4000000000000341"
    """Is taken at the checkout, and refused whenever it is charged after that."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a month costs."""

    id: str
    product: str
    name: str
    unit_amount: int
    currency: str = "eur"
    created: int = 1_700_000_000

    @property
    def label(self) -> str:
        """`49.00 EUR a month`."""
        return f"{self.unit_amount / 100:,.2f} {self.currency.upper()} a month"


@dataclass(slots=True)
class Customer:
    """Somebody who pays, or once did."""

    id: str
    created: int
    email: str | None = None
    card: Card | None = None


@dataclass(slots=True)
class Invoice:
    """What is asked for one period. `next_attempt` is when it is charged next, None for never."""

    id: str
    created: int
    customer: str
    subscription: str
    price: str
    amount: int
    period_start: int
    period_end: int
    status: InvoiceStatus = "draft"
    attempts: int = 0
    next_attempt: int | None = None
    paid_at: int | None = None


@dataclass(slots=True)
class Subscription:
    """A customer's subscription to one price."""

    id: str
    item: str
    created: int
    customer: str
    price: str
    status: Status
    period_start: int
    period_end: int
    anchor: int
    """Where the billing cycle is fixed: periods end so many intervals after it."""
    trial_end: int | None = None
    cancel_at_period_end: bool = False
    cancel_at: int | None = None
    """A date that was set instead, as the portal does."""
    ended_at: int | None = None
    latest_invoice: str | None = None

    @property
    def has_ended(self) -> bool:
        """Whether nothing happens to it any more."""
        return self.status == "canceled"

    @property
    def ends_at(self) -> int | None:
        """When it ends, where somebody wants that."""
        return self.period_end if self.cancel_at_period_end else self.cancel_at


@dataclass(slots=True)
class Checkout:
    """A checkout session."""

    id: str
    created: int
    expires_at: int
    price: str
    success_url: str
    cancel_url: str | None
    client_reference_id: str | None
    customer: str | None
    customer_email: str | None
    trial_days: int | None
    status: Literal["open", "complete", "expired"] = "open"
    subscription: str | None = None


@dataclass(frozen=True, slots=True)
class Portal:
    """A session of the customer portal."""

    id: str
    created: int
    customer: str
    return_url: str | None
