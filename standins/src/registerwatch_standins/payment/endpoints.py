"""What each address under `/v1` does, in Stripe's own terms."""

from collections.abc import Sequence
from typing import Any

from registerwatch_standins.payment.checkouts import OPEN_SECONDS, Checkouts, make_customer, open_portal
from registerwatch_standins.payment.ledger import Ledger
from registerwatch_standins.payment.parameters import (
    AnyList,
    Asked,
    CheckoutCreate,
    CustomerFields,
    CustomerList,
    EventList,
    PortalCreate,
    SubscriptionCancel,
    SubscriptionList,
    SubscriptionUpdate,
    taken,
)
from registerwatch_standins.payment.periods import HOUR
from registerwatch_standins.payment.records import Checkout, Customer, Subscription
from registerwatch_standins.payment.refusals import Refusal
from registerwatch_standins.payment.subscriptions import Subscriptions
from registerwatch_standins.payment.wire import list_object, portal_object

Tree = dict[str, Any]


class Endpoints:
    """Each takes the parameters and the id in the path, and gives the answer, or raises `Refusal`."""

    def __init__(self, ledger: Ledger, subscriptions: Subscriptions, checkouts: Checkouts) -> None:
        self._ledger = ledger
        self._subscriptions = subscriptions
        self._checkouts = checkouts

    def by_id(self, id_: str) -> Tree | None:
        """The object with an id, for answers in which it is expanded."""
        ledger = self._ledger
        for records in (ledger.customers, ledger.subscriptions, ledger.invoices, ledger.checkouts, ledger.prices):
            found = records.get(id_)
            if found is not None:
                return ledger.shown(found)
        return None

    def create_checkout(self, tree: Tree, _id: str) -> Tree:
        """A session at whose address people pay."""
        asked, ledger = taken(tree, CheckoutCreate), self._ledger
        (line,) = asked.line_items
        ledger.price(line.price, "line_items[0][price]", status=400)
        if asked.customer is not None:
            if asked.customer_email is not None:
                raise Refusal(400, "You may only specify one of these parameters: customer, customer_email.")
            self._living(asked.customer, status=400)
        for name in ("success_url", "cancel_url"):
            _check_address(name, getattr(asked, name))
        now = ledger.now()
        checkout = Checkout(
            id=ledger.new_id("cs_test_"),
            created=now,
            expires_at=_expiry(asked.expires_at, now),
            price=line.price,
            quantity=line.quantity,
            success_url=asked.success_url,
            cancel_url=asked.cancel_url,
            client_reference_id=asked.client_reference_id,
            customer=asked.customer,
            customer_email=asked.customer_email,
            trial_days=asked.subscription_data.trial_period_days,
            needs_card=asked.payment_method_collection == "always",
            metadata=asked.metadata,
            subscription_metadata=asked.subscription_data.metadata,
        )
        self._checkouts.open(checkout)
        return ledger.shown(checkout)

    def checkout(self, tree: Tree, id_: str) -> Tree:
        """A session as it is now."""
        taken(tree, Asked)
        return self._ledger.shown(self._ledger.checkout(id_))

    def expire_checkout(self, tree: Tree, id_: str) -> Tree:
        """Close a session that nobody has finished."""
        taken(tree, Asked)
        checkout = self._ledger.checkout(id_)
        self._checkouts.expire(checkout)
        return self._ledger.shown(checkout)

    def create_customer(self, tree: Tree, _id: str) -> Tree:
        """A new customer."""
        asked = taken(tree, CustomerFields)
        return self._ledger.shown(
            make_customer(self._ledger, email=asked.email, name=asked.name, metadata=asked.metadata)
        )

    def customers(self, tree: Tree, _id: str) -> Tree:
        """Customers, newest first."""
        asked = taken(tree, CustomerList)
        rows = [
            self._ledger.shown(each)
            for each in reversed(self._ledger.customers.values())
            if not each.deleted and asked.email in (None, each.email)
        ]
        return _page(rows, asked, "/v1/customers")

    def customer(self, tree: Tree, id_: str) -> Tree:
        """A customer, one that was deleted too."""
        taken(tree, Asked)
        return self._ledger.shown(self._ledger.customer(id_, "id"))

    def update_customer(self, tree: Tree, id_: str) -> Tree:
        """Change what is given."""
        asked, customer = taken(tree, CustomerFields), self._living(id_)
        customer.email = customer.email if asked.email is None else asked.email or None
        customer.name = customer.name if asked.name is None else asked.name or None
        merged = {**customer.metadata, **asked.metadata}
        customer.metadata = {key: value for key, value in merged.items() if value}
        return self._ledger.shown(customer)

    def delete_customer(self, tree: Tree, id_: str) -> Tree:
        """Delete for good; the subscriptions end at once."""
        taken(tree, Asked)
        customer = self._living(id_)
        for subscription in self._ledger.subscriptions_of(id_):
            if not subscription.has_ended:
                self._subscriptions.cancel(subscription)
        customer.deleted = True
        return self._ledger.shown(customer)

    def subscriptions(self, tree: Tree, _id: str) -> Tree:
        """Subscriptions, newest first."""
        asked = taken(tree, SubscriptionList)
        rows = [
            self._ledger.shown(each)
            for each in reversed(self._ledger.subscriptions.values())
            if asked.customer in (None, each.customer)
            and asked.price in (None, each.price)
            and _has_status(each, asked.status)
        ]
        return _page(rows, asked, "/v1/subscriptions")

    def subscription(self, tree: Tree, id_: str) -> Tree:
        """A subscription, one that has ended too."""
        taken(tree, Asked)
        return self._ledger.shown(self._ledger.subscription(id_))

    def update_subscription(self, tree: Tree, id_: str) -> Tree:
        """Change what is given."""
        asked, subscription = taken(tree, SubscriptionUpdate), self._ledger.subscription(id_)
        if asked.metadata is not None:
            self._subscriptions.set_metadata(subscription, asked.metadata)
        if asked.items is not None:
            (item,) = asked.items
            if item.id != subscription.item:
                raise Refusal.missing("subscription_item", item.id, "items[0][id]", status=400)
            self._ledger.price(item.price, "items[0][price]", status=400)
            self._subscriptions.set_price(subscription, item.price)
        if asked.cancel_at is not None:
            self._subscriptions.set_cancel_at(subscription, asked.cancel_at or None)
        if asked.cancel_at_period_end is not None:
            self._subscriptions.set_cancel_at_period_end(subscription, asked.cancel_at_period_end)
        return self._ledger.shown(subscription)

    def cancel_subscription(self, tree: Tree, id_: str) -> Tree:
        """End it now."""
        taken(tree, SubscriptionCancel)
        subscription = self._ledger.subscription(id_)
        self._subscriptions.cancel(subscription)
        return self._ledger.shown(subscription)

    def create_portal(self, tree: Tree, _id: str) -> Tree:
        """A session of the customer portal."""
        asked = taken(tree, PortalCreate)
        _check_address("return_url", asked.return_url)
        customer = self._living(asked.customer, status=400)
        return portal_object(open_portal(self._ledger, customer, asked.return_url), self._ledger.base_url)

    def prices(self, tree: Tree, _id: str) -> Tree:
        """What can be bought."""
        rows = [self._ledger.shown(price) for price in self._ledger.prices.values()]
        return _page(rows, taken(tree, AnyList), "/v1/prices")

    def price(self, tree: Tree, id_: str) -> Tree:
        """One price."""
        taken(tree, Asked)
        return self._ledger.shown(self._ledger.price(id_))

    def invoice(self, tree: Tree, id_: str) -> Tree:
        """One invoice."""
        taken(tree, Asked)
        return self._ledger.shown(self._ledger.invoice(id_))

    def events(self, tree: Tree, _id: str) -> Tree:
        """Events, newest first."""
        asked = taken(tree, EventList)
        rows = [event.json for event in reversed(self._ledger.log.events) if asked.type in (None, event.type)]
        return _page(rows, asked, "/v1/events")

    def event(self, tree: Tree, id_: str) -> Tree:
        """One event."""
        taken(tree, Asked)
        found = self._ledger.log.of(id_)
        if found is None:
            raise Refusal.missing("event", id_)
        return found.json

    def _living(self, id_: str, status: int = 404) -> Customer:
        """A customer who was not deleted."""
        customer = self._ledger.customer(id_, "customer", status)
        if customer.deleted:
            raise Refusal.missing("customer", id_, "customer", status)
        return customer


def _has_status(subscription: Subscription, wanted: str | None) -> bool:
    if wanted is None or wanted == "ended":
        return subscription.has_ended is (wanted == "ended")
    return wanted in ("all", subscription.status)


def _check_address(name: str, value: str | None) -> None:
    if value is not None and not value.startswith(("http://", "https://")):
        raise Refusal.of_parameter(name, "Not a valid URL", "url_invalid")


def _expiry(wanted: int | None, now: int) -> int:
    if wanted is None:
        return now + OPEN_SECONDS
    if not now + HOUR // 2 <= wanted <= now + OPEN_SECONDS:
        raise Refusal.of_parameter("expires_at", "The `expires_at` timestamp must be 30 minutes to 24 hours from now.")
    return wanted


def _page(rows: Sequence[Tree], asked: AnyList | CustomerList | SubscriptionList, url: str) -> Tree:
    """A page of the rows, after the one with the id that was named."""
    ids = [row["id"] for row in rows]
    if asked.starting_after is not None and asked.starting_after not in ids:
        raise Refusal.missing("object", asked.starting_after, "starting_after", status=400)
    first = ids.index(asked.starting_after) + 1 if asked.starting_after else 0
    page = rows[first : first + asked.limit]
    return list_object(page, url, has_more=first + asked.limit < len(rows))
