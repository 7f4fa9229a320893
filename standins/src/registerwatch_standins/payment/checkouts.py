"""Checkout sessions: opened by the service, finished by a person, over after a day."""

from registerwatch_standins.payment.ledger import Ledger
from registerwatch_standins.payment.periods import DAY
from registerwatch_standins.payment.records import Card, Checkout, Customer, Portal
from registerwatch_standins.payment.refusals import Refusal
from registerwatch_standins.payment.subscriptions import Subscriptions

OPEN_SECONDS = DAY
_ID_PLACE = "{CHECKOUT_SESSION_ID}"


class CardRefused(Exception):
    """The bank says no; the person may try again."""


class Checkouts:
    """What can be done with a checkout session."""

    def __init__(self, ledger: Ledger, subscriptions: Subscriptions) -> None:
        self._ledger = ledger
        self._subscriptions = subscriptions

    def open(self, checkout: Checkout) -> None:
        """Let people pay at it."""
        self._ledger.checkouts[checkout.id] = checkout

    def pay(self, checkout: Checkout, card: Card | None, email: str) -> str:
        """Finish it; the address to which the person goes on. A second time changes nothing.

        Raises `CardRefused` for a card that is refused, `Refusal` for a session that is over.
        """
        if checkout.status == "expired":
            raise Refusal(400, "This checkout session has expired.")
        if checkout.status == "open":
            if card is Card.REFUSED or (card is None and self.needs_card(checkout)):
                raise CardRefused
            self._finish(checkout, card, email)
        return checkout.success_url.replace(_ID_PLACE, checkout.id)

    def needs_card(self, checkout: Checkout) -> bool:
        """Whether nobody gets through without one."""
        return checkout.needs_card or not checkout.trial_days

    def expire(self, checkout: Checkout, at: int | None = None) -> None:
        """Close it unfinished."""
        if checkout.status != "open":
            raise Refusal(400, f"Only open checkout sessions can be expired; this one is {checkout.status}.")
        checkout.status = "expired"
        self._ledger.tell("checkout.session.expired", checkout, at)

    def _finish(self, checkout: Checkout, card: Card | None, email: str) -> None:
        customer = self._customer_of(checkout, email)
        if card is not None:
            put_card_on_file(self._ledger, customer, card)
        subscription = self._subscriptions.start(checkout, customer)
        checkout.status, checkout.customer = "complete", customer.id
        checkout.subscription, checkout.invoice = subscription.id, subscription.latest_invoice
        self._ledger.tell("checkout.session.completed", checkout)

    def _customer_of(self, checkout: Checkout, email: str) -> Customer:
        if checkout.customer is not None:
            return self._ledger.customer(checkout.customer)
        return make_customer(self._ledger, email=checkout.customer_email or email)


def make_customer(
    ledger: Ledger, *, email: str | None = None, name: str | None = None, metadata: dict[str, str] | None = None
) -> Customer:
    """A new customer."""
    customer = Customer(ledger.new_id("cus_"), ledger.now(), email, name, dict(metadata or {}))
    ledger.customers[customer.id] = customer
    ledger.tell("customer.created", customer)
    return customer


def put_card_on_file(ledger: Ledger, customer: Customer, card: Card) -> None:
    """Charge this card from now on."""
    customer.card, customer.payment_method = card, ledger.new_id("pm_")


def open_portal(ledger: Ledger, customer: Customer, return_url: str | None) -> Portal:
    """A session of the customer portal."""
    portal = Portal(ledger.new_id("bps_"), ledger.now(), customer.id, return_url)
    ledger.portals[portal.id] = portal
    return portal
