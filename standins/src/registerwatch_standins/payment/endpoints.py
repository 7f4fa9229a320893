"""What each address under `/v1` does, in Stripe's own terms."""

from collections.abc import Sequence
from typing import Any

from registerwatch_standins.payment.checkouts import OPEN_SECONDS, Checkouts, make_customer, open_portal
from registerwatch_standins.payment.errors import ApiError
from registerwatch_standins.payment.parameters import (
    AnyList,
    CheckoutCreate,
    CustomerFields,
    CustomerList,
    EventList,
    Parameters,
    PortalCreate,
    SubscriptionCancel,
    SubscriptionList,
    SubscriptionUpdate,
    parsed,
)
from registerwatch_standins.payment.periods import HOUR
from registerwatch_standins.payment.records import Checkout, Customer, Subscription
from registerwatch_standins.payment.store import Store
from registerwatch_standins.payment.stripe_objects import list_object, portal_object
from registerwatch_standins.payment.subscriptions import Subscriptions

Tree = dict[str, Any]


class Endpoints:
    """Each takes the parameters and the id in the path, and gives the answer, or raises `ApiError`."""

    def __init__(self, store: Store, subscriptions: Subscriptions, checkouts: Checkouts) -> None:
        self._store = store
        self._subscriptions = subscriptions
        self._checkouts = checkouts

    def by_id(self, id_: str) -> Tree | None:
        """The object with an id, for answers in which it is expand."""
        store = self._store
        for records in (store.customers, store.subscriptions, store.invoices, store.checkouts, store.prices):
            found = records.get(id_)
            if found is not None:
                return store.stripe_object(found)
        return None

    def create_checkout(self, tree: Tree, _id: str) -> Tree:
        """A session at whose address people pay."""
        params, store = parsed(tree, CheckoutCreate), self._store
        (line,) = params.line_items
        store.price(line.price, "line_items[0][price]", status=400)
        if params.customer is not None:
            if params.customer_email is not None:
                raise ApiError(400, "You may only specify one of these parameters: customer, customer_email.")
            self._active_customer(params.customer, status=400)
        for name in ("success_url", "cancel_url"):
            _check_address(name, getattr(params, name))
        now = store.now()
        checkout = Checkout(
            id=store.new_id("cs_test_"),
            created=now,
            expires_at=_expiry(params.expires_at, now),
            price=line.price,
            quantity=line.quantity,
            success_url=params.success_url,
            cancel_url=params.cancel_url,
            client_reference_id=params.client_reference_id,
            customer=params.customer,
            customer_email=params.customer_email,
            trial_days=params.subscription_data.trial_period_days,
            needs_card=params.payment_method_collection == "always",
            metadata=params.metadata,
            subscription_metadata=params.subscription_data.metadata,
        )
        self._checkouts.open(checkout)
        return store.stripe_object(checkout)

    def checkout(self, tree: Tree, id_: str) -> Tree:
        """A session as it is now."""
        parsed(tree, Parameters)
        return self._store.stripe_object(self._store.checkout(id_))

    def expire_checkout(self, tree: Tree, id_: str) -> Tree:
        """Close a session that nobody has finished."""
        parsed(tree, Parameters)
        checkout = self._store.checkout(id_)
        self._checkouts.expire(checkout)
        return self._store.stripe_object(checkout)

    def create_customer(self, tree: Tree, _id: str) -> Tree:
        """A new customer."""
        params = parsed(tree, CustomerFields)
        return self._store.stripe_object(
            make_customer(self._store, email=params.email, name=params.name, metadata=params.metadata)
        )

    def customers(self, tree: Tree, _id: str) -> Tree:
        """Customers, newest first."""
        params = parsed(tree, CustomerList)
        rows = [
            self._store.stripe_object(each)
            for each in reversed(self._store.customers.values())
            if not each.deleted and params.email in (None, each.email)
        ]
        return _page(rows, params, "/v1/customers")

    def customer(self, tree: Tree, id_: str) -> Tree:
        """A customer, one that was deleted too."""
        parsed(tree, Parameters)
        return self._store.stripe_object(self._store.customer(id_, "id"))

    def update_customer(self, tree: Tree, id_: str) -> Tree:
        """Change what is given."""
        params, customer = parsed(tree, CustomerFields), self._active_customer(id_)
        customer.email = customer.email if params.email is None else params.email or None
        customer.name = customer.name if params.name is None else params.name or None
        merged = {**customer.metadata, **params.metadata}
        customer.metadata = {key: value for key, value in merged.items() if value}
        return self._store.stripe_object(customer)

    def delete_customer(self, tree: Tree, id_: str) -> Tree:
        """Delete for good; the subscriptions end at once."""
        parsed(tree, Parameters)
        customer = self._active_customer(id_)
        for subscription in self._store.subscriptions_of(id_):
            if not subscription.has_ended:
                self._subscriptions.cancel(subscription)
        customer.deleted = True
        return self._store.stripe_object(customer)

    def subscriptions(self, tree: Tree, _id: str) -> Tree:
        """Subscriptions, newest first."""
        params = parsed(tree, SubscriptionList)
        rows = [
            self._store.stripe_object(each)
            for each in reversed(self._store.subscriptions.values())
            if params.customer in (None, each.customer)
            and params.price in (None, each.price)
            and _has_status(each, params.status)
        ]
        return _page(rows, params, "/v1/subscriptions")

    def subscription(self, tree: Tree, id_: str) -> Tree:
        """A subscription, one that has ended too."""
        parsed(tree, Parameters)
        return self._store.stripe_object(self._store.subscription(id_))

    def update_subscription(self, tree: Tree, id_: str) -> Tree:
        """Change what is given."""
        params, subscription = parsed(tree, SubscriptionUpdate), self._store.subscription(id_)
        if params.metadata is not None:
            self._subscriptions.set_metadata(subscription, params.metadata)
        if params.items is not None:
            (item,) = params.items
            if item.id != subscription.item:
                raise ApiError.missing("subscription_item", item.id, "items[0][id]", status=400)
            self._store.price(item.price, "items[0][price]", status=400)
            self._subscriptions.set_price(subscription, item.price)
        if params.cancel_at is not None:
            self._subscriptions.set_cancel_at(subscription, params.cancel_at or None)
        if params.cancel_at_period_end is not None:
            self._subscriptions.set_cancel_at_period_end(subscription, params.cancel_at_period_end)
        return self._store.stripe_object(subscription)

    def cancel_subscription(self, tree: Tree, id_: str) -> Tree:
        """End it now."""
        parsed(tree, SubscriptionCancel)
        subscription = self._store.subscription(id_)
        self._subscriptions.cancel(subscription)
        return self._store.stripe_object(subscription)

    def create_portal(self, tree: Tree, _id: str) -> Tree:
        """A session of the customer portal."""
        params = parsed(tree, PortalCreate)
        _check_address("return_url", params.return_url)
        customer = self._active_customer(params.customer, status=400)
        return portal_object(open_portal(self._store, customer, params.return_url), self._store.base_url)

    def prices(self, tree: Tree, _id: str) -> Tree:
        """What can be bought."""
        rows = [self._store.stripe_object(price) for price in self._store.prices.values()]
        return _page(rows, parsed(tree, AnyList), "/v1/prices")

    def price(self, tree: Tree, id_: str) -> Tree:
        """One price."""
        parsed(tree, Parameters)
        return self._store.stripe_object(self._store.price(id_))

    def invoice(self, tree: Tree, id_: str) -> Tree:
        """One invoice."""
        parsed(tree, Parameters)
        return self._store.stripe_object(self._store.invoice(id_))

    def events(self, tree: Tree, _id: str) -> Tree:
        """Events, newest first."""
        params = parsed(tree, EventList)
        rows = [event.json for event in reversed(self._store.log.events) if params.type in (None, event.type)]
        return _page(rows, params, "/v1/events")

    def event(self, tree: Tree, id_: str) -> Tree:
        """One event."""
        parsed(tree, Parameters)
        found = self._store.log.of(id_)
        if found is None:
            raise ApiError.missing("event", id_)
        return found.json

    def _active_customer(self, id_: str, status: int = 404) -> Customer:
        """A customer who was not deleted."""
        customer = self._store.customer(id_, "customer", status)
        if customer.deleted:
            raise ApiError.missing("customer", id_, "customer", status)
        return customer


def _has_status(subscription: Subscription, wanted: str | None) -> bool:
    if wanted is None or wanted == "ended":
        return subscription.has_ended is (wanted == "ended")
    return wanted in ("all", subscription.status)


def _check_address(name: str, value: str | None) -> None:
    if value is not None and not value.startswith(("http://", "https://")):
        raise ApiError.of_parameter(name, "Not a valid URL", "url_invalid")


def _expiry(wanted: int | None, now: int) -> int:
    if wanted is None:
        return now + OPEN_SECONDS
    if not now + HOUR // 2 <= wanted <= now + OPEN_SECONDS:
        raise ApiError.of_parameter("expires_at", "The `expires_at` timestamp must be 30 minutes to 24 hours from now.")
    return wanted


def _page(rows: Sequence[Tree], params: AnyList | CustomerList | SubscriptionList, url: str) -> Tree:
    """A page of the rows, after the one with the id that was named."""
    ids = [row["id"] for row in rows]
    if params.starting_after is not None and params.starting_after not in ids:
        raise ApiError.missing("object", params.starting_after, "starting_after", status=400)
    first = ids.index(params.starting_after) + 1 if params.starting_after else 0
    page = rows[first : first + params.limit]
    return list_object(page, url, has_more=first + params.limit < len(rows))
