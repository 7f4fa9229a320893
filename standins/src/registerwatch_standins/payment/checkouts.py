"""Checkout sessions: opened by the service, finished by a person, over after a day."""

from registerwatch_standins.payment.errors import ApiError
from registerwatch_standins.payment.records import Card, Checkout, Customer
from registerwatch_standins.payment.store import Store
from registerwatch_standins.payment.subscriptions import Subscriptions

_ID_PLACE = "{CHECKOUT_SESSION_ID}"


class CardRefused(Exception):
    """The bank says no; the person may try again."""


class Checkouts:
    """What can be done with a checkout session."""

    def __init__(self, store: Store, subscriptions: Subscriptions) -> None:
        self._store = store
        self._subscriptions = subscriptions

    def pay(self, checkout: Checkout, card: Card | None, email: str) -> str:
        """Finish it; the address to which the person goes on. A second time changes nothing.

        Raises `CardRefused` for a card that is refused, `ApiError` for a session that is over.
        """
        if checkout.status == "expired":
            raise ApiError(400, "This checkout session has expired.")
        if checkout.status == "open":
            if card is Card.REFUSED or card is None:
                raise CardRefused
            self._finish(checkout, card, email)
        return checkout.success_url.replace(_ID_PLACE, checkout.id)

    def expire(self, checkout: Checkout, at: int) -> None:
        """Close it unfinished."""
        checkout.status = "expired"
        self._store.record_event("checkout.session.expired", checkout, at)

    def _finish(self, checkout: Checkout, card: Card, email: str) -> None:
        customer = self._customer_of(checkout, email)
        customer.card = card
        subscription = self._subscriptions.start(checkout, customer)
        checkout.status, checkout.customer, checkout.subscription = "complete", customer.id, subscription.id
        self._store.record_event("checkout.session.completed", checkout)

    def _customer_of(self, checkout: Checkout, email: str) -> Customer:
        store = self._store
        if checkout.customer is not None:
            return store.customer(checkout.customer)
        customer = Customer(store.new_id("cus_"), store.now(), checkout.customer_email or email)
        store.customers[customer.id] = customer
        store.record_event("customer.created", customer)
        return customer
