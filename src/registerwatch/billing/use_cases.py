"""Builds the use cases of billing."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
from pydantic import SecretStr

from registerwatch.accounts.models import Account
from registerwatch.accounts.plans import PlanName
from registerwatch.billing import repository
from registerwatch.billing.cancellation import CancellationQueue, SubscriptionUpkeep
from registerwatch.billing.checkout import CheckoutService
from registerwatch.billing.models import PaidSubscription, PlanEnd, shown
from registerwatch.billing.period_notices import PeriodNotices
from registerwatch.billing.provider import PaymentProvider
from registerwatch.billing.subscription_sync import SubscriptionSync
from registerwatch.errors import PaymentsUnavailable
from registerwatch.mail.mailer import Mailer
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.statements import PreparedSelect
from registerwatch.settings import Settings, variable_name

if TYPE_CHECKING:
    from registerwatch.billing.provider_events import ProviderEventReceiver

NOT_SET_UP = (
    f"This service takes no payments: {variable_name('payment_api_key')} and {variable_name('payment_prices')}"
    " are not set."
)
NO_SECRET = f"This service takes no payment events: {variable_name('payment_webhook_secret')} is not set."

_PAID = PreparedSelect(repository.PAID)


class Payments(msgspec.Struct, frozen=True):
    """The parts that need a provider."""

    provider: PaymentProvider
    checkouts: CheckoutService
    upkeep: SubscriptionUpkeep
    event_receiver: "ProviderEventReceiver | None"
    """None where no secret was given to verify events by."""


class Billing:
    """The use cases of billing. Without payment settings accounts go on as they are."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        cancellations: CancellationQueue,
        period_notices: PeriodNotices,
        payments: Payments | None,
    ) -> None:
        self._database = database
        self._clock = clock
        self.cancellations = cancellations
        self.period_notices = period_notices
        self.payments = payments

    @property
    def checkouts(self) -> CheckoutService:
        """Raises `PaymentsUnavailable` where payments are not set up."""
        if self.payments is None:
            raise PaymentsUnavailable(NOT_SET_UP)
        return self.payments.checkouts

    @property
    def event_receiver(self) -> "ProviderEventReceiver":
        """Raises `PaymentsUnavailable` where payments or events are not set up."""
        if self.payments is None:
            raise PaymentsUnavailable(NOT_SET_UP)
        if self.payments.event_receiver is None:
            raise PaymentsUnavailable(NO_SECRET)
        return self.payments.event_receiver

    async def shown(self, account_id: int) -> PaidSubscription | None:
        """The subscription that the account shows."""
        rows = await self._database.rows(_PAID, account_id=account_id)
        return shown([repository.paid_of(row) for row in rows])

    async def plan_end(self, account: Account) -> PlanEnd:
        """When the account's plan ends or its period is renewed, which a trial never is."""
        paid = None if account.plan.name is PlanName.TRIAL else await self.shown(account.id)
        return PlanEnd.of(account.expires_at, paid, self._clock.now())

    async def close(self) -> None:
        """Close the connections."""
        if self.payments is not None:
            await self.payments.provider.close()


def build_billing(
    settings: Settings, database: Database, clock: Clock, mailer: Mailer, provider: PaymentProvider | None = None
) -> Billing:
    """The use cases over one database. Tests bring a provider of their own."""
    takes_payments = settings.payment_api_key is not None
    notices = PeriodNotices(database, clock, mailer, public_url=settings.public_url, takes_payments=takes_payments)
    if settings.payment_api_key is None:
        return Billing(database, clock, CancellationQueue(database, clock, None), notices, None)
    provider = provider or _stripe(settings.payment_api_key.get_secret_value(), settings.payment_api_url, clock)
    prices: Mapping[PlanName, str] = {PlanName(name): price for name, price in settings.payment_prices.items()}
    subscription_sync = SubscriptionSync(database, clock, provider, prices)
    cancellations = CancellationQueue(database, clock, provider)
    payments = Payments(
        provider=provider,
        checkouts=CheckoutService(database, clock, provider, subscription_sync, prices, public_url=settings.public_url),
        upkeep=SubscriptionUpkeep(database, clock, cancellations, subscription_sync),
        event_receiver=_event_receiver(settings.payment_webhook_secret, database, clock, subscription_sync),
    )
    return Billing(database, clock, cancellations, notices, payments)


def _event_receiver(
    secret: SecretStr | None, database: Database, clock: Clock, subscription_sync: SubscriptionSync
) -> "ProviderEventReceiver | None":
    if secret is None:
        return None
    from registerwatch.billing.provider_events import ProviderEventReceiver  # takes time to load, as below

    return ProviderEventReceiver(database, clock, subscription_sync, secret.get_secret_value())


def _stripe(api_key: str, api_url: str, clock: Clock) -> PaymentProvider:
    from registerwatch.billing.stripe_provider import StripeProvider  # takes time to load, and most run without

    return StripeProvider(api_key, api_url, clock)
