"""What each address under `/v1` does, in Stripe's own terms."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from registerwatch_standins.payment.errors import ApiError
from registerwatch_standins.payment.parameters import CheckoutCreate, NoParameters, PortalCreate, SubscriptionUpdate
from registerwatch_standins.payment.records import Checkout, Portal
from registerwatch_standins.payment.store import Store
from registerwatch_standins.payment.stripe_objects import portal_object
from registerwatch_standins.payment.subscriptions import DAY, Subscriptions

Object = dict[str, Any]
Endpoint = Callable[[Any, str], Object]
"""From the parameters and the id in the path (empty where there is none) to the answer. Raises `ApiError`."""


class Endpoints:
    """The endpoints, and the table of their paths and parameters."""

    def __init__(self, store: Store, subscriptions: Subscriptions) -> None:
        self._store = store
        self._subscriptions = subscriptions

    def table(self) -> list[tuple[str, str, type[Struct], Endpoint]]:
        """Method, path, parameters, endpoint."""
        return [
            ("POST", "/v1/checkout/sessions", CheckoutCreate, self.create_checkout),
            ("GET", "/v1/checkout/sessions/{id}", NoParameters, self.checkout),
            ("GET", "/v1/subscriptions/{id}", NoParameters, self.subscription),
            ("POST", "/v1/subscriptions/{id}", SubscriptionUpdate, self.update_subscription),
            ("DELETE", "/v1/subscriptions/{id}", NoParameters, self.cancel_subscription),
            ("POST", "/v1/billing_portal/sessions", PortalCreate, self.create_portal),
        ]

    def create_checkout(self, params: CheckoutCreate, _id: str) -> Object:
        """A session at whose address people pay."""
        (line,) = params.line_items
        self._store.price(line.price, status=400)
        if params.customer is not None:
            if params.customer_email is not None:
                raise ApiError(400, "You may only specify one of these parameters: customer, customer_email.")
            self._store.customer(params.customer, status=400)
        now = self._store.now()
        checkout = Checkout(
            id=self._store.new_id("cs_test_"),
            created=now,
            expires_at=now + DAY,
            price=line.price,
            success_url=params.success_url,
            cancel_url=params.cancel_url,
            client_reference_id=params.client_reference_id,
            customer=params.customer,
            customer_email=params.customer_email,
            trial_days=params.subscription_data.trial_period_days,
        )
        self._store.checkouts[checkout.id] = checkout
        return self._store.stripe_object(checkout)

    def checkout(self, _params: NoParameters, id_: str) -> Object:
        """A session as it is now."""
        return self._store.stripe_object(self._store.checkout(id_))

    def subscription(self, _params: NoParameters, id_: str) -> Object:
        """A subscription as it is now; one that has ended too."""
        return self._store.stripe_object(self._store.subscription(id_))

    def update_subscription(self, params: SubscriptionUpdate, id_: str) -> Object:
        """Change what is given."""
        subscription = self._store.subscription(id_)
        if params.cancel_at is not None:
            self._subscriptions.set_cancel_at(subscription, params.cancel_at or None)
        if params.cancel_at_period_end is not None:
            self._subscriptions.set_cancel_at_period_end(subscription, params.cancel_at_period_end)
        return self._store.stripe_object(subscription)

    def cancel_subscription(self, _params: NoParameters, id_: str) -> Object:
        """End it now."""
        subscription = self._store.subscription(id_)
        self._subscriptions.cancel(subscription)
        return self._store.stripe_object(subscription)

    def create_portal(self, params: PortalCreate, _id: str) -> Object:
        """A session of the customer portal."""
        store = self._store
        customer = store.customer(params.customer, status=400)
        portal = Portal(store.new_id("bps_"), store.now(), customer.id, params.return_url)
        store.portals[portal.id] = portal
        return portal_object(portal, store.base_url)
