"""A payment provider that is a few dictionaries: what it says is what a test wrote into it."""

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import Any

from registerwatch.billing import provider
from registerwatch.billing.provider import Checkout, CheckoutOrder, Subscription
from registerwatch.errors import PaymentRefused, PaymentsUnavailable
from registerwatch.platform.clock import Clock, SystemClock
from registerwatch.platform.structs import replace

DAY = 24 * 3600
MONTH = 30 * DAY
SECRET = "whsec_of_the_plain_provider"
SETTINGS: dict[str, Any] = {
    "payment_api_key": "sk_plain",
    "payment_webhook_secret": SECRET,
    "payment_prices": "standard=price_s,operator=price_o",
}


@dataclass
class PlainProvider:
    """Tests move its clock. `is_away` has it answer nothing; `asked` is what it was asked for, in order."""

    clock: Clock = field(default_factory=SystemClock)
    is_away: bool = False
    asked: list[str] = field(default_factory=list)
    orders: dict[str, CheckoutOrder] = field(default_factory=dict)
    checkouts: dict[str, Checkout] = field(default_factory=dict)
    subscriptions: dict[str, Subscription] = field(default_factory=dict)
    attempts: dict[str, str] = field(default_factory=dict)

    # What the service asks

    async def start_checkout(self, order: CheckoutOrder, attempt: str) -> Checkout:
        self._ask("start checkout")
        if attempt not in self.attempts:
            session_id = f"cs_{len(self.checkouts) + 1}_{order.account_id}"
            self.attempts[attempt] = session_id
            self.orders[session_id] = order
            url = f"https://pay.example/{session_id}"
            self.checkouts[session_id] = Checkout(session_id, url, False, str(order.account_id), None)
        return self.checkouts[self.attempts[attempt]]

    async def checkout(self, checkout_id: str) -> Checkout | None:
        self._ask("checkout")
        return self.checkouts.get(checkout_id)

    async def subscription(self, subscription_id: str) -> Subscription | None:
        self._ask("subscription")
        return self.subscriptions.get(subscription_id)

    async def end_with_period(self, subscription_id: str) -> Subscription:
        self._ask("end with period")
        return self.change(self._running(subscription_id).id, cancel_at_period_end=True)

    async def renew(self, subscription_id: str) -> Subscription:
        self._ask("renew")
        return self.change(self._running(subscription_id).id, cancel_at_period_end=False)

    async def end_now(self, subscription_id: str) -> None:
        self._ask("end now")
        if (found := self.subscriptions.get(subscription_id)) is not None and found.ended_at is None:
            self.end(subscription_id)

    async def portal(self, customer_id: str, return_url: str) -> str:
        self._ask("portal")
        return f"https://pay.example/portal/{customer_id}"

    async def close(self) -> None:
        pass

    # What happens at the provider's

    def pay(self, session_id: str) -> Subscription:
        """Somebody types a card into the page."""
        order, now = self.orders[session_id], int(self.clock.now())
        number = len(self.subscriptions) + 1
        paid = Subscription(
            id=f"sub_{number}_{order.account_id}",
            customer_id=order.customer_id or f"cus_{number}",
            status=provider.TRIALING if order.trial_days else provider.ACTIVE,
            price_id=order.price_id,
            cancel_at_period_end=False,
            period_start=now,
            period_end=now + (order.trial_days * DAY or MONTH),
            ended_at=None,
            had_trial=order.trial_days > 0,
        )
        self.subscriptions[paid.id] = paid
        over = replace(self.checkouts[session_id], url="", is_complete=True, subscription_id=paid.id)
        self.checkouts[session_id] = over
        return paid

    def next_period(self, subscription_id: str, status: str = provider.ACTIVE) -> Subscription:
        """The period is over and the next one begins, paid or not."""
        start = self.subscriptions[subscription_id].period_end
        return self.change(subscription_id, status=status, period_start=start, period_end=start + MONTH)

    def end(self, subscription_id: str, at: int | None = None) -> Subscription:
        """It ends, now or at the end of its period."""
        ended_at = int(self.clock.now()) if at is None else at
        return self.change(subscription_id, status=provider.CANCELED, ended_at=ended_at)

    def change(self, subscription_id: str, **fields: Any) -> Subscription:
        """Anything else."""
        changed = replace(self.subscriptions[subscription_id], **fields)
        self.subscriptions[subscription_id] = changed
        return changed

    def _running(self, subscription_id: str) -> Subscription:
        found = self.subscriptions.get(subscription_id)
        if found is None or found.ended_at is not None:
            raise PaymentRefused("It has ended.")
        return found

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if self.is_away:
            raise PaymentsUnavailable("The provider is away.")


def event(event_type: str, subject: dict[str, Any], event_id: str = "evt_1") -> bytes:
    """The body of an event."""
    return json.dumps({"id": event_id, "object": "event", "type": event_type, "data": {"object": subject}}).encode()


def signed(body: bytes, at: float, secret: str = SECRET) -> str:
    """The header of a body that was signed then."""
    return f"t={int(at)},v1={signature(body, secret, int(at))}"


def signature(body: bytes, secret: str, timestamp: int) -> str:
    """What the provider writes behind `v1=`."""
    return hmac.new(secret.encode(), b"%d." % timestamp + body, hashlib.sha256).hexdigest()
