"""What happens to a subscription: it starts, is changed, is charged, ends."""

from calendar import monthrange
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

from registerwatch_standins.payment.errors import ApiError
from registerwatch_standins.payment.records import Card, Checkout, Customer, Invoice, Subscription
from registerwatch_standins.payment.store import Store

HOUR, DAY = 3600, 86_400
_DRAFT_SECONDS = HOUR
"""A period's invoice stands as a draft for so long before the card is charged: until then the new period counts."""
_RETRY_DAYS = (3, 5, 7)
"""A refused card is charged again after so many days each; then the subscription ends."""


class Subscriptions:
    """The rules. What the time brings is done by `next_due` and `fall_due`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def start(self, checkout: Checkout, customer: Customer) -> Subscription:
        """A subscription that a checkout has brought, with its first invoice, paid."""
        store, now = self._store, self._store.now()
        price = store.price(checkout.price)
        trial_end = now + checkout.trial_days * DAY if checkout.trial_days else None
        anchor = trial_end or now
        subscription = Subscription(
            id=store.new_id("sub_"),
            item=store.new_id("si_"),
            created=now,
            customer=customer.id,
            price=price.id,
            status="trialing" if trial_end else "active",
            period_start=now,
            period_end=trial_end or end_of_period(anchor, now),
            anchor=anchor,
            trial_end=trial_end,
        )
        store.subscriptions[subscription.id] = subscription
        invoice = self._ask_for(subscription, 0 if trial_end else price.unit_amount, now)
        store.record_event("customer.subscription.created", subscription)
        self._settle(invoice, now)
        return subscription

    def set_cancel_at_period_end(self, subscription: Subscription, wanted: bool) -> None:
        """End with the period, or go on after all."""
        self._refuse_if_ended(subscription)
        with self._changing(subscription, self._store.now()):
            subscription.cancel_at_period_end = wanted

    def set_cancel_at(self, subscription: Subscription, at: int | None) -> None:
        """End at a date, or, for None, take such a date back."""
        self._refuse_if_ended(subscription)
        if at is not None and at <= self._store.now():
            raise ApiError(400, "The cancellation date must be in the future.")
        with self._changing(subscription, self._store.now()):
            subscription.cancel_at, subscription.cancel_at_period_end = at, False

    def cancel(self, subscription: Subscription) -> None:
        """End it now. One that has ended is as though it were not there."""
        if subscription.has_ended:
            raise ApiError.missing("subscription", subscription.id)
        self._end(subscription, self._store.now())

    def pay_open_invoice(self, subscription: Subscription) -> bool:
        """Charge the card now for what is open; whether that worked. True where nothing is."""
        invoice = self._store.open_invoice(subscription)
        if invoice is None or subscription.has_ended:
            return True
        self._attempt(subscription, invoice, self._store.now())
        return invoice.paid_at is not None

    def next_due(self, subscription: Subscription) -> int | None:
        """When something happens to it by itself, None for never."""
        if subscription.has_ended:
            return None
        moments = [subscription.period_end]
        if subscription.ends_at is not None:
            moments.append(subscription.ends_at)
        invoice = self._store.open_invoice(subscription)
        if invoice is not None and invoice.next_attempt is not None:
            moments.append(invoice.next_attempt)
        return min(moments)

    def fall_due(self, subscription: Subscription, at: int) -> None:
        """Do what is due at this moment, one thing."""
        invoice = self._store.open_invoice(subscription)
        if invoice is not None and invoice.next_attempt is not None and invoice.next_attempt <= at:
            self._attempt(subscription, invoice, at)
        elif subscription.ends_at is not None and subscription.ends_at <= at:
            self._end(subscription, at)
        else:
            self._end_period(subscription, at)

    def _end_period(self, subscription: Subscription, at: int) -> None:
        price = self._store.price(subscription.price)
        with self._changing(subscription, at):
            subscription.period_start = subscription.period_end
            subscription.period_end = end_of_period(subscription.anchor, subscription.period_start)
            if subscription.status == "trialing":
                subscription.status = "active"
            if self._store.open_invoice(subscription) is None:
                invoice = self._ask_for(subscription, price.unit_amount, at)
                invoice.next_attempt = at + _DRAFT_SECONDS

    def _ask_for(self, subscription: Subscription, amount: int, at: int) -> Invoice:
        """The draft of an invoice for the present period."""
        invoice = Invoice(
            id=self._store.new_id("in_"),
            created=at,
            customer=subscription.customer,
            subscription=subscription.id,
            price=subscription.price,
            amount=amount,
            period_start=subscription.period_start,
            period_end=subscription.period_end,
        )
        self._store.invoices[invoice.id] = invoice
        subscription.latest_invoice = invoice.id
        return invoice

    def _attempt(self, subscription: Subscription, invoice: Invoice, at: int) -> None:
        """Charge the card on file."""
        if self._store.customer(subscription.customer).card is Card.GOOD:
            self._settle(invoice, at)
            if subscription.status == "past_due":
                with self._changing(subscription, at):
                    subscription.status = "active"
            return
        self._fail(invoice, at)
        if invoice.next_attempt is not None:
            with self._changing(subscription, at):
                subscription.status = "past_due"
        else:
            self._end(subscription, at)

    def _settle(self, invoice: Invoice, at: int) -> None:
        invoice.status = "paid"
        invoice.attempts += invoice.amount > 0
        invoice.paid_at, invoice.next_attempt = at, None
        self._store.record_event("invoice.paid", invoice, at)

    def _fail(self, invoice: Invoice, at: int) -> None:
        invoice.status = "open"
        invoice.next_attempt = at + _RETRY_DAYS[invoice.attempts] * DAY if invoice.attempts < len(_RETRY_DAYS) else None
        invoice.attempts += 1
        self._store.record_event("invoice.payment_failed", invoice, at)

    def _end(self, subscription: Subscription, at: int) -> None:
        invoice = self._store.open_invoice(subscription)
        if invoice is not None:
            invoice.status = "void" if invoice.status == "draft" else invoice.status
            invoice.next_attempt = None
        subscription.status, subscription.ended_at = "canceled", at
        self._store.record_event("customer.subscription.deleted", subscription, at)

    @contextmanager
    def _changing(self, subscription: Subscription, at: int) -> Iterator[None]:
        """Tell of a change once it is made; not where nothing is different."""
        before = replace(subscription)
        yield
        if subscription != before:
            self._store.record_event("customer.subscription.updated", subscription, at)

    def _refuse_if_ended(self, subscription: Subscription) -> None:
        if subscription.has_ended:
            raise ApiError(400, "A canceled subscription can only update its cancellation_details and metadata.")


def end_of_period(anchor: int, start: int) -> int:
    """The first moment after `start` that lies a whole number of months after the anchor.

    A cycle anchored on the 31st ends on the last day of a shorter month, and on the 31st again after that.
    """
    months = 1
    while (end := _months_after(anchor, months)) <= start:
        months += 1
    return end


def _months_after(instant: int, months: int) -> int:
    moment = datetime.fromtimestamp(instant, UTC)
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    day = min(moment.day, monthrange(year, month + 1)[1])
    return int(moment.replace(year=year, month=month + 1, day=day).timestamp())
