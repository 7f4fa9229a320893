"""What the stand-in knows: its records, looked up by their ids, and the log of what happened to them."""

from collections.abc import Callable
from random import Random, SystemRandom
from typing import Any, TypeVar

from registerwatch_standins.payment.errors import ApiError
from registerwatch_standins.payment.events import EventLog
from registerwatch_standins.payment.records import Checkout, Customer, Invoice, Portal, Price, Subscription
from registerwatch_standins.payment.stripe_objects import (
    checkout_object,
    customer_object,
    invoice_object,
    subscription_object,
)

PRICES = (
    Price("price_standard", "prod_standard", "Standard", 4_900),
    Price("price_operator", "prod_operator", "Operator", 19_900),
)
_Record = TypeVar("_Record")
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789"


class Store:
    """Records and events, in memory. `base_url` is where browsers reach the stand-in's pages."""

    def __init__(self, clock: Callable[[], float], base_url: str, seed: int | None = None) -> None:
        self._clock = clock
        self.base_url = base_url.rstrip("/")
        self._rng = SystemRandom() if seed is None else Random(seed)
        self.prices = {price.id: price for price in PRICES}
        self.customers: dict[str, Customer] = {}
        self.subscriptions: dict[str, Subscription] = {}
        self.invoices: dict[str, Invoice] = {}
        self.checkouts: dict[str, Checkout] = {}
        self.portals: dict[str, Portal] = {}
        self.log = EventLog()

    def now(self) -> int:
        """Unix seconds."""
        return int(self._clock())

    def new_id(self, prefix: str) -> str:
        """An id that nothing has. Without a seed none is ever given twice, in any other run either."""
        return prefix + "".join(self._rng.choices(_LETTERS, k=24))

    def price(self, id_: str, status: int = 404) -> Price:
        """The price. This and the next four raise `ApiError` where there is none with the id."""
        return _found(self.prices, "price", id_, status)

    def customer(self, id_: str, status: int = 404) -> Customer:
        return _found(self.customers, "customer", id_, status)

    def subscription(self, id_: str) -> Subscription:
        return _found(self.subscriptions, "subscription", id_)

    def checkout(self, id_: str) -> Checkout:
        return _found(self.checkouts, "checkout.session", id_)

    def portal(self, id_: str) -> Portal:
        return _found(self.portals, "billing_portal.session", id_)

    def newest_subscription(self, customer: str) -> Subscription | None:
        """A customer's newest subscription."""
        return next((each for each in reversed(self.subscriptions.values()) if each.customer == customer), None)

    def open_invoice(self, subscription: Subscription) -> Invoice | None:
        """The latest invoice, where it is still to be paid."""
        latest = self.invoices.get(subscription.latest_invoice or "")
        return latest if latest is not None and latest.status in ("draft", "open") else None

    def stripe_object(self, record: Customer | Subscription | Invoice | Checkout) -> dict[str, Any]:
        """A record in Stripe's form."""
        match record:
            case Customer():
                return customer_object(record)
            case Subscription():
                return subscription_object(record, self.price(record.price))
            case Invoice():
                return invoice_object(record, self.price(record.price))
            case Checkout():
                return checkout_object(record, self.price(record.price), self.base_url)

    def record_event(
        self,
        type_: str,
        record: Customer | Subscription | Invoice | Checkout,
        at: int | None = None,
    ) -> None:
        """Write an event about a record as it is now, by default at the present time."""
        created = self.now() if at is None else at
        self.log.write(self.new_id("evt_"), type_, created, self.stripe_object(record))


def _found(records: dict[str, _Record], noun: str, id_: str, status: int = 404) -> _Record:
    if id_ not in records:
        raise ApiError.missing(noun, id_, status)
    return records[id_]
