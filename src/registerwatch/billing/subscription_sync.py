"""Synchronizes subscriptions: reads one from the provider, stores it, and gives the account the plan it paid for.

The provider is read outside of any transaction. Its answer is stored only if nothing else was stored for the
account meanwhile, else it is read again: an older answer never overwrites a newer one.
"""

from collections.abc import Mapping

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository as account_rows
from registerwatch.accounts.audit.audit import PAYMENT_PROVIDER, Action
from registerwatch.accounts.plans import PlanName
from registerwatch.accounts.repository import StoredAccount
from registerwatch.billing import repository
from registerwatch.billing.models import DAY, PaidSubscription, Period, ProviderEvent, account_period
from registerwatch.billing.provider import CANCELED, PaymentProvider, Subscription
from registerwatch.billing.repository import Payer
from registerwatch.errors import PaymentsUnavailable
from registerwatch.platform.clock import Clock, iso_utc
from registerwatch.platform.db.engine import Database
from registerwatch.platform.structs import replace

MAX_READS = 5
MISSING_SECONDS = 7 * DAY
CONFLICT = "The subscription is being changed by several requests at once; try again shortly."

log = structlog.get_logger(__name__)


class SubscriptionSync:
    """Makes stored subscriptions equal to the provider's, whatever the order and number of calls."""

    def __init__(
        self, database: Database, clock: Clock, provider: PaymentProvider, prices: Mapping[PlanName, str]
    ) -> None:
        self._database = database
        self._clock = clock
        self._provider = provider
        self._plans = {price: plan for plan, price in prices.items()}

    async def checkout(self, session_id: str, event: ProviderEvent | None = None) -> bool:
        """Apply a checkout that was started here; returns whether it is complete.

        A subscription that was paid for after its account was deleted is ended.
        """
        async with self._database.reading() as connection:
            started = await repository.checkout_by_session(connection, session_id)
        if started is None:
            return False
        checkout = await self._provider.checkout(session_id)
        if checkout is None or not checkout.is_complete or checkout.subscription_id is None:
            return False
        await self._synchronize(checkout.subscription_id, started.account_id, event)
        async with self._database.transaction() as connection:
            await repository.note_read(connection, session_id, int(self._clock.now()), is_settled=True)
        return True

    async def subscription(self, subscription_id: str, event: ProviderEvent | None = None) -> None:
        """Apply a subscription that is known here; others are ignored."""
        async with self._database.reading() as connection:
            account_id = await repository.owner_of(connection, subscription_id)
        if account_id is not None:
            await self._synchronize(subscription_id, account_id, event)

    async def _synchronize(self, subscription_id: str, account_id: int | None, event: ProviderEvent | None) -> None:
        for _ in range(MAX_READS):
            version = await self._version(account_id)
            subscription = await self._provider.subscription(subscription_id)
            subscription = subscription or await self._missing(account_id, subscription_id)
            if subscription is None:
                log.error("the payment provider has no such subscription", subscription=subscription_id)
                return
            if await self._stored(account_id, version, subscription, event):
                return
        raise PaymentsUnavailable(CONFLICT)

    async def _missing(self, account_id: int | None, subscription_id: str) -> Subscription | None:
        """A subscription that the provider does not know: ended, where it was paid until a week ago, else None.

        The week is for settings that name another of the operator's accounts at the provider by mistake.
        """
        now = int(self._clock.now())
        async with self._database.reading() as connection:
            known = await repository.paid(connection, account_id) if account_id is not None else ()
        of_it = (each.subscription for each in known if each.subscription.id == subscription_id)
        stored = next(of_it, None)
        if stored is None or stored.ended_at is not None or stored.period_end > now - MISSING_SECONDS:
            return None
        return replace(stored, status=CANCELED, ended_at=stored.period_end)

    async def _version(self, account_id: int | None) -> int:
        if account_id is None:
            return 0
        async with self._database.reading() as connection:
            payer = await repository.payer(connection, account_id)
        return payer.version if payer is not None else 0

    async def _stored(
        self, account_id: int | None, version: int, subscription: Subscription, event: ProviderEvent | None
    ) -> bool:
        """Store a subscription; False when something else was stored since `version`."""
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            account = None if account_id is None else await account_rows.lock_account(connection, account_id)
            if account is None:
                if subscription.ended_at is None:
                    await repository.add_cancellation(connection, subscription.id, now)
            else:
                payer = _current_payer(account, await repository.payer(connection, account.id))
                if payer.version != version:
                    return False
                await repository.store(
                    connection, account.id, PaidSubscription(subscription, self._plan_of(subscription)), now
                )
                await self._give(connection, account, payer, now)
            if event is not None:
                await repository.add_event(connection, event.id, event.type, now)
        return True

    async def _give(self, connection: AsyncConnection, account: StoredAccount, payer: Payer, now: int) -> None:
        """Set the plan and the period that the account's subscriptions pay for."""
        paid = await repository.paid(connection, account.id)
        if sum(each.holds for each in paid) > 1:
            log.warning("an account has several subscriptions", account=account.id)
        period = account_period(payer.granted, paid, now)
        if period != payer.written:
            await account_rows.set_period(connection, account.id, plan=period.plan, expires_at=period.until)
            await account_rows.note(
                connection,
                account.id,
                now,
                PAYMENT_PROVIDER,
                Action.PLAN_CHANGED,
                f"{period.plan} until {iso_utc(period.until)}",
            )
        await repository.store_payer(connection, account.id, Payer(payer.version + 1, payer.granted, period))

    def _plan_of(self, subscription: Subscription) -> PlanName:
        """The plan of a price; the standard one for a paid price that no setting names."""
        plan = self._plans.get(subscription.price_id)
        if plan is None:
            log.warning(
                "a subscription has a price that no setting names",
                subscription=subscription.id,
                price=subscription.price_id,
            )
        return plan or PlanName.STANDARD


def _current_payer(account: StoredAccount, payer: Payer | None) -> Payer:
    """The payer with the account's present period. A period that billing did not write was granted by the operator."""
    present = Period(PlanName(account.plan), account.expires_at)
    if payer is None:
        return Payer(0, granted=present, written=present)
    return payer if payer.written == present else Payer(payer.version, granted=present, written=present)
