"""Ends subscriptions of deleted accounts, and runs the background work of billing."""

import asyncio
from collections.abc import Sequence

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.billing import repository
from registerwatch.billing.models import DAY
from registerwatch.billing.provider import PaymentProvider
from registerwatch.billing.subscription_sync import SubscriptionSync
from registerwatch.errors import PaymentRefused, PaymentsUnavailable, RegisterwatchError
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database

RETRY_SECONDS = 300
READ_AGAIN_SECONDS = 600
OVERDUE_SECONDS = 60
"""How long after the end of a period the provider may take to send the event of the next one."""
FIRST_READ_SECONDS = 900
CHECKOUT_READ_AGAIN_SECONDS = 3600
PAGE_SECONDS = 25 * 3600
"""After this time a checkout's page has expired."""
MAX_CONCURRENT = 20
KEPT_SECONDS = 60 * DAY
"""The provider repeats an event for days, and its users can repeat one for a month."""

log = structlog.get_logger(__name__)


class CancellationQueue:
    """Subscriptions to end: stored in the transaction that deletes their account, ended as soon as that works."""

    def __init__(self, database: Database, clock: Clock, provider: PaymentProvider | None) -> None:
        self._database = database
        self._clock = clock
        self._provider = provider

    async def note(self, connection: AsyncConnection, account_id: int) -> Sequence[str]:
        """Store the subscriptions of an account to end, in the transaction that deletes it; their ids."""
        now = int(self._clock.now())
        running = [
            each.subscription.id
            for each in await repository.paid(connection, account_id)
            if each.subscription.ended_at is None
        ]
        for subscription_id in running:
            await repository.add_cancellation(connection, subscription_id, now)
        return running

    async def end(self, subscription_ids: Sequence[str]) -> None:
        """Try to end them now; what cannot be ended now is tried again by `end_due`."""
        if self._provider is not None:
            await asyncio.gather(*(self._end(self._provider, each) for each in subscription_ids))

    async def end_due(self) -> None:
        """Try what was not tried in the last 5 minutes."""
        now = int(self._clock.now())
        async with self._database.reading() as connection:
            due = await repository.due_cancellations(
                connection, tried_before=now - RETRY_SECONDS, now=now, most=MAX_CONCURRENT
            )
        await self.end(due)

    async def _end(self, provider: PaymentProvider, subscription_id: str) -> None:
        try:
            await provider.end_now(subscription_id)
        except (PaymentsUnavailable, PaymentRefused) as error:
            log.warning("a subscription could not be ended yet", subscription=subscription_id, error=str(error))
            async with self._database.transaction() as connection:
                await repository.note_cancellation_tried(connection, subscription_id, int(self._clock.now()))
            return
        async with self._database.transaction() as connection:
            await repository.remove_cancellation(connection, subscription_id)


class SubscriptionUpkeep:
    """The background work of billing."""

    def __init__(
        self, database: Database, clock: Clock, cancellations: CancellationQueue, subscription_sync: SubscriptionSync
    ) -> None:
        self._database = database
        self._clock = clock
        self._cancellations = cancellations
        self._subscription_sync = subscription_sync

    async def run(self) -> None:
        """Delete old events and checkouts, end what is due, and read those without an event."""
        async with self._database.transaction() as connection:
            await repository.forget(connection, int(self._clock.now()) - KEPT_SECONDS)
        for work in (self._cancellations.end_due, self._read_overdue, self._read_open_checkouts):
            try:
                await work()
            except RegisterwatchError as error:
                log.warning("background work of billing failed", error=str(error))

    async def _read_overdue(self) -> None:
        """Read subscriptions whose period has ended, every 10 minutes: the event of the next period can be lost."""
        now = int(self._clock.now())
        async with self._database.reading() as connection:
            overdue = await repository.overdue(
                connection,
                ended_before=now - OVERDUE_SECONDS,
                read_before=now - READ_AGAIN_SECONDS,
                now=now,
                most=MAX_CONCURRENT,
            )
        for subscription_id in overdue:
            try:
                await self._subscription_sync.subscription(subscription_id)
            finally:
                async with self._database.transaction() as connection:
                    await repository.unread(connection, subscription_id, now)

    async def _read_open_checkouts(self) -> None:
        """Read checkouts that may have been paid without an event: first after a quarter of an hour, then hourly, and
        a last time when their page has expired.
        """
        now = int(self._clock.now())
        async with self._database.reading() as connection:
            open_ones = await repository.open_checkouts(
                connection,
                started_before=now - FIRST_READ_SECONDS,
                asked_before=now - CHECKOUT_READ_AGAIN_SECONDS,
                now=now,
                most=MAX_CONCURRENT,
            )
        for session_id, started_at in open_ones:
            is_settled = False
            try:
                is_settled = await self._subscription_sync.checkout(session_id) or started_at < now - PAGE_SECONDS
            finally:
                async with self._database.transaction() as connection:
                    await repository.note_read(connection, session_id, now, is_settled=is_settled)
