"""Starts, confirms, cancels and resumes a subscription, and opens the customer portal."""

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import astuple
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository as account_rows
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.models import Caller
from registerwatch.accounts.plans import PlanName
from registerwatch.accounts.repository import StoredAccount, locked
from registerwatch.billing import repository
from registerwatch.billing.models import TRIAL_DAYS, PaidSubscription, shown
from registerwatch.billing.provider import Checkout, CheckoutOrder, PaymentProvider, Subscription
from registerwatch.billing.repository import StartedCheckout
from registerwatch.billing.subscription_sync import SubscriptionSync
from registerwatch.errors import InvalidInput, PaymentRefused, PaymentsUnavailable
from registerwatch.platform.clock import Clock, iso_utc
from registerwatch.platform.db.engine import Database
from registerwatch.platform.structs import replace

ATTEMPT_SECONDS = 12 * 3600
"""The same checkout started again within this time has the same page. A page expires after 24 hours."""
UNANSWERED_SECONDS = 60
"""Seconds for a checkout that the provider has not answered: it repeats an answer to an attempt, failures too."""
SESSION_ID = re.compile(r"[\w-]{1,255}", re.ASCII)
DONE, BACK = "/billing/done", "/billing/back"
"""Pages to which the provider sends people."""

HAS_ONE = (
    "The account has a subscription already. Its card and invoices are in the payment provider's customer portal;"
    " a cancellation can be undone by resuming it."
)
UNKNOWN_CHECKOUT = "The account has started no checkout with this session_id."
NOT_FINISHED = "This checkout is not finished; the payment has to be completed at its address first."
NOTHING_TO_CANCEL = "The account has no subscription that could be cancelled."
NOTHING_TO_RESUME = "The account has no subscription; a checkout starts one."
PERIOD_OVER = "The period of this subscription has ended; a checkout starts a new one."
NEVER_PAID = "The account has paid nothing yet; a checkout starts a subscription."
WRONG_SETTINGS = "The payment provider refused this; the operator of this service has to check its settings."


class Offer(msgspec.Struct, frozen=True):
    """Plans open to an account."""

    plans: Sequence[PlanName]
    trial_days: int
    """Days without a charge at the beginning; 0 after an earlier trial."""


class CheckoutService:
    """Operations of an account's users and API keys on its subscription."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        provider: PaymentProvider,
        subscription_sync: SubscriptionSync,
        prices: Mapping[PlanName, str],
        *,
        public_url: str,
    ) -> None:
        self._database = database
        self._clock = clock
        self._provider = provider
        self._subscription_sync = subscription_sync
        self._prices = prices
        self._public_url = public_url

    async def offer(self, caller: Caller) -> Offer:
        """The subscription on offer to an account that has none."""
        return Offer(list(self._prices), _trial_days(await self._paid(caller.account.id)))

    async def checkout(self, caller: Caller, plan: PlanName) -> Checkout:
        """A page to pay at. Raises `InvalidInput` for a plan that is not sold, and when there is a subscription."""
        price_id = self._prices.get(plan)
        if price_id is None:
            raise InvalidInput(f"There is no such plan to subscribe to here, only: {', '.join(self._prices)}.")
        async with self._database.transaction() as connection:
            account = await locked(connection, caller)
            paid = await repository.paid(connection, account.id)
            if any(each.holds for each in paid):
                raise InvalidInput(HAS_ONE)
            order = self._order(account, paid, price_id)
            terms = _digest(order, [each.subscription.id for each in paid])
            attempt = await self._attempt(connection, caller, terms, plan)
        checkout = await self._started(order, attempt)
        async with self._database.transaction() as connection:
            await repository.set_session_id(connection, attempt, checkout.id)
        return checkout

    async def confirm(self, caller: Caller, session_id: str) -> None:
        """Apply a finished checkout. Raises `InvalidInput` for one that is not this account's or not finished."""
        if not SESSION_ID.fullmatch(session_id):
            raise InvalidInput(UNKNOWN_CHECKOUT)
        async with self._database.reading() as connection:
            started = await repository.checkout_by_session(connection, session_id)
        if started is None or started.account_id != caller.account.id:
            raise InvalidInput(UNKNOWN_CHECKOUT)
        if not await self._subscription_sync.checkout(session_id):
            raise InvalidInput(NOT_FINISHED)

    async def cancel(self, caller: Caller) -> None:
        """Let every subscription of the account end with its period. Raises `InvalidInput` when there is none."""
        running = [each.subscription.id for each in await self._paid(caller.account.id) if each.holds]
        cancelled = [
            subscription for each in running if (subscription := await self._ends_with_period(each)) is not None
        ]
        if not cancelled:
            raise InvalidInput(NOTHING_TO_CANCEL)
        ends = max(subscription.period_end for subscription in cancelled)
        await self._note(caller, Action.SUBSCRIPTION_CANCELLED, f"ends at {iso_utc(ends)}")

    async def resume(self, caller: Caller) -> None:
        """Undo a cancellation before the period has ended. Raises `InvalidInput` afterwards and without one."""
        latest = shown(await self._paid(caller.account.id))
        if latest is None:
            raise InvalidInput(NOTHING_TO_RESUME)
        subscription = latest.subscription
        if not latest.holds or self._clock.now() >= subscription.period_end:
            raise InvalidInput(PERIOD_OVER)
        try:
            await self._provider.renew(subscription.id)
        except PaymentRefused:
            await self._subscription_sync.subscription(subscription.id)
            raise InvalidInput(PERIOD_OVER) from None
        await self._subscription_sync.subscription(subscription.id)
        if subscription.cancel_at_period_end:
            await self._note(caller, Action.SUBSCRIPTION_RESUMED, "")

    async def portal(self, caller: Caller) -> str:
        """The address of the provider's page with the card on file. Raises `InvalidInput` before anything was paid."""
        latest = shown(await self._paid(caller.account.id))
        if latest is None:
            raise InvalidInput(NEVER_PAID)
        try:
            return await self._provider.portal(latest.subscription.customer_id, f"{self._public_url}{BACK}")
        except PaymentRefused:
            raise PaymentsUnavailable(WRONG_SETTINGS) from None

    def _order(self, account: StoredAccount, paid: Sequence[PaidSubscription], price_id: str) -> CheckoutOrder:
        """The order of an account; a customer who has paid before keeps their id and gets no second trial."""
        latest = shown(paid)
        return CheckoutOrder(
            account_id=account.id,
            email=account.email,
            customer_id=latest.subscription.customer_id if latest is not None else None,
            price_id=price_id,
            trial_days=_trial_days(paid),
            success_url=f"{self._public_url}{DONE}?session_id={{CHECKOUT_SESSION_ID}}",
            cancel_url=f"{self._public_url}{BACK}",
        )

    async def _attempt(self, connection: AsyncConnection, caller: Caller, terms: str, plan: PlanName) -> str:
        """The recent attempt with the same terms, else a new one."""
        now = int(self._clock.now())
        latest = await repository.latest_checkout(connection, caller.account.id)
        if latest is not None and latest.terms == terms:
            lasts = UNANSWERED_SECONDS if latest.session_id is None else ATTEMPT_SECONDS
            if now - latest.started_at < lasts:
                return latest.attempt
        started = StartedCheckout(secrets.token_urlsafe(24), caller.account.id, terms, None, now)
        await repository.add_checkout(connection, started)
        await account_rows.note_by(connection, caller, now, Action.CHECKOUT_STARTED, plan)
        return started.attempt

    async def _started(self, order: CheckoutOrder, attempt: str) -> Checkout:
        try:
            try:
                return await self._provider.start_checkout(order, attempt)
            except PaymentRefused:
                if order.customer_id is None:
                    raise
                # the provider may have deleted the customer, or know them in its sandbox only
                return await self._provider.start_checkout(replace(order, customer_id=None), f"{attempt}-new")
        except PaymentRefused:
            raise PaymentsUnavailable(WRONG_SETTINGS) from None

    async def _ends_with_period(self, subscription_id: str) -> Subscription | None:
        """Let one subscription end with its period; None when it has ended before."""
        try:
            subscription = await self._provider.end_with_period(subscription_id)
        except PaymentRefused:
            subscription = None
        await self._subscription_sync.subscription(subscription_id)
        return subscription

    async def _paid(self, account_id: int) -> list[PaidSubscription]:
        async with self._database.reading() as connection:
            return list(await repository.paid(connection, account_id))

    async def _note(self, caller: Caller, action: Action, subject: str) -> None:
        async with self._database.transaction() as connection:
            if await account_rows.lock_account(connection, caller.account.id) is not None:
                await account_rows.note_by(connection, caller, int(self._clock.now()), action, subject)


def _trial_days(paid: Sequence[PaidSubscription]) -> int:
    """An account gets one trial, whatever it subscribes to."""
    return 0 if any(each.subscription.had_trial for each in paid) else TRIAL_DAYS


def _digest(order: CheckoutOrder, before: list[str]) -> str:
    """Equal for equal orders: a digest of all that is sent, and of the earlier subscriptions."""
    return hashlib.sha256(repr((astuple(order), before)).encode()).hexdigest()
