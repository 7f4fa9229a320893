"""The stand-in's clock, and what falls due by it."""

from collections.abc import Callable

from registerwatch_standins.payment.checkouts import Checkouts
from registerwatch_standins.payment.records import Checkout, Subscription
from registerwatch_standins.payment.store import Store
from registerwatch_standins.payment.subscriptions import Subscriptions

Clock = Callable[[], float]
"""Unix seconds."""


class AdjustableClock:
    """Another clock, and by how many seconds the stand-in is ahead of it."""

    def __init__(self, base: Clock) -> None:
        self.base = base
        self.ahead = 0.0

    def __call__(self) -> float:
        return self.base() + self.ahead


class Scheduler:
    """Brings the store up to the present, each thing at its moment and in the order of moments."""

    def __init__(self, store: Store, subscriptions: Subscriptions, checkouts: Checkouts) -> None:
        self._store = store
        self._subscriptions = subscriptions
        self._checkouts = checkouts

    def catch_up(self) -> None:
        """Do all that has fallen due."""
        now = self._store.now()
        while (due := self._earliest()) is not None and due[0] <= now:
            at, subject = due
            if isinstance(subject, Checkout):
                self._checkouts.expire(subject, at)
            else:
                self._subscriptions.fall_due(subject, at)

    def _earliest(self) -> tuple[int, Checkout | Subscription] | None:
        moments: list[tuple[int, Checkout | Subscription]] = [
            (checkout.expires_at, checkout) for checkout in self._store.checkouts.values() if checkout.status == "open"
        ]
        for subscription in self._store.subscriptions.values():
            due = self._subscriptions.next_due(subscription)
            if due is not None:
                moments.append((due, subscription))
        return min(moments, key=lambda moment: moment[0], default=None)
