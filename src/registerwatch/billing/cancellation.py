"""Ending the subscriptions of accounts that are gone, and whatever else has to be looked after."""

import asyncio
from collections.abc import Sequence

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.billing import repository
from registerwatch.billing.models import DAY
from registerwatch.billing.provider import PaymentProvider
from registerwatch.billing.subscription_sync import SubscriptionSync
from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.errors import PaymentRefused, PaymentsUnavailable, RegisterwatchError

TRIED_AGAIN_SECONDS = 300
READ_AGAIN_SECONDS = 600
OVERDUE_SECONDS = 60
"""How long after the end of a period the provider may take to say what comes next."""
FIRST_ASKED_SECONDS = 900
ASKED_AGAIN_SECONDS = 3600
PAGE_SECONDS = 25 * 3600
"""After which nobody can pay at a checkout's page any more."""
MAX_CONCURRENT = 20
KEPT_SECONDS = 60 * DAY
"""The provider repeats an event for days, and its operator can for a month."""

log = structlog.get_logger(__name__)


class CancellationQueue:
    """Ends what nobody owns any more. The wish is stored with the account's deletion, and done when it can be."""

    def __init__(self, database: Database, clock: Clock, provider: PaymentProvider | None) -> None:
        self._database = database
        self._clock = clock
        self._provider = provider

    async def note(self, connection: AsyncConnection, account_id: int) -> Sequence[str]:
        """Note in the transaction that deletes an account, which is locked, what of it must be ended."""
        now = int(self._clock.now())
        running = [
            each.subscription.id
            for each in await repository.paid(connection, account_id)
            if each.subscription.ended_at is None
        ]
        for subscription_id in running:
            await repository.wish_end(connection, subscription_id, now)
        return running

    async def end(self, subscription_ids: Sequence[str]) -> None:
        """Try to end them now; what cannot be ended is tried again later."""
        if self._provider is not None:
            await asyncio.gather(*(self._end(self._provider, each) for each in subscription_ids))

    async def end_due(self) -> None:
        """Try what was not tried in the last 5 minutes."""
        before = int(self._clock.now()) - TRIED_AGAIN_SECONDS
        async with self._database.reading() as connection:
            due = await repository.due_ends(connection, tried_before=before, most=MAX_CONCURRENT)
        await self.end(due)

    async def _end(self, provider: PaymentProvider, subscription_id: str) -> None:
        try:
            await provider.end_now(subscription_id)
        except (PaymentsUnavailable, PaymentRefused) as error:
            log.warning("a subscription could not be ended yet", subscription=subscription_id, error=str(error))
            async with self._database.transaction() as connection:
                await repository.tried_end(connection, subscription_id, int(self._clock.now()))
            return
        async with self._database.transaction() as connection:
            await repository.ended(connection, subscription_id)


class SubscriptionUpkeep:
    """What the background does for billing."""

    def __init__(
        self, database: Database, clock: Clock, cancellations: CancellationQueue, subscription_sync: SubscriptionSync
    ) -> None:
        self._database = database
        self._clock = clock
        self._cancellations = cancellations
        self._subscription_sync = subscription_sync

    async def run(self) -> None:
        """Forget what is old, end what is to be ended, ask about what the provider said nothing of."""
        async with self._database.transaction() as connection:
            await repository.forget(connection, int(self._clock.now()) - KEPT_SECONDS)
        for work in (self._cancellations.end_due, self._ask_about_overdue, self._ask_about_open):
            try:
                await work()
            except RegisterwatchError as error:
                log.warning("payments were not looked after to the end", error=str(error))

    async def _ask_about_overdue(self) -> None:
        """An event can be lost: at the end of a period the provider is asked what came next, every 10 minutes."""
        now = int(self._clock.now())
        async with self._database.reading() as connection:
            overdue = await repository.overdue(
                connection,
                ended_before=now - OVERDUE_SECONDS,
                read_before=now - READ_AGAIN_SECONDS,
                most=MAX_CONCURRENT,
            )
        for subscription_id in overdue:
            try:
                await self._subscription_sync.subscription(subscription_id)
            finally:
                async with self._database.transaction() as connection:
                    await repository.unread(connection, subscription_id, now)

    async def _ask_about_open(self) -> None:
        """Somebody can have paid without anybody telling: the provider is asked about each checkout while its page is
        good, first after a quarter of an hour, and once more when it is not.
        """
        now = int(self._clock.now())
        async with self._database.reading() as connection:
            open_ones = await repository.open_checkouts(
                connection,
                started_before=now - FIRST_ASKED_SECONDS,
                asked_before=now - ASKED_AGAIN_SECONDS,
                most=MAX_CONCURRENT,
            )
        for session_id, started_at in open_ones:
            is_settled = False
            try:
                is_settled = await self._subscription_sync.checkout(session_id) or started_at < now - PAGE_SECONDS
            finally:
                async with self._database.transaction() as connection:
                    await repository.asked_about(connection, session_id, now, is_settled=is_settled)
