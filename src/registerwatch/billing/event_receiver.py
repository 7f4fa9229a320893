"""Receiving events of the payment provider: each is applied once, and none is believed further than its subject."""

from registerwatch.billing import repository
from registerwatch.billing.provider_events import About, genuine_event
from registerwatch.billing.subscription_sync import SubscriptionSync
from registerwatch.clock import Clock
from registerwatch.db.engine import Database


class ProviderEventReceiver:
    """Takes what is posted to the service."""

    def __init__(self, database: Database, clock: Clock, subscription_sync: SubscriptionSync, secret: str) -> None:
        self._database = database
        self._clock = clock
        self._subscription_sync = subscription_sync
        self._secret = secret

    async def receive(self, body: bytes, signature: str | None) -> None:
        """Apply an event. Raises `InvalidInput` for what is not genuine; after any other error it is sent again.

        What is of no interest here is acknowledged all the same.
        """
        event = genuine_event(body, signature, self._secret, self._clock.now())
        if event.about is None or event.subject_id is None:
            return
        async with self._database.reading() as connection:
            if await repository.has_event(connection, event.id):
                return
        if event.about is About.CHECKOUT:
            await self._subscription_sync.checkout(event.subject_id, event)
        else:
            await self._subscription_sync.subscription(event.subject_id, event)
