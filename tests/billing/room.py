"""Accounts that pay a plain provider, over a database, with a clock that tests move."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from registerwatch.accounts.models import Account, Caller
from registerwatch.accounts.plans import PlanName
from registerwatch.accounts.wiring import Accounts, build_accounts
from registerwatch.billing import repository
from registerwatch.billing.models import PaidSubscription
from registerwatch.billing.provider import Subscription
from registerwatch.billing.wiring import Billing, build_billing
from registerwatch.db.engine import Database
from registerwatch.db.tables import cancellations, payment_events
from registerwatch.mail.memory_mailer import KeptMail
from registerwatch.settings import Settings
from tests.accounts.acting import PASSWORD, owner_of
from tests.billing.plain_provider import SETTINGS, PlainProvider, event, signed
from tests.support.clocks import SteppedClock
from tests.support.passwords import quick_passwords


@dataclass(frozen=True, slots=True)
class Room:
    """What a test of billing plays with."""

    database: Database
    clock: SteppedClock
    provider: PlainProvider
    accounts: Accounts
    billing: Billing

    @property
    def now(self) -> int:
        """What time it is, in whole seconds."""
        return int(self.clock.now())

    async def owner(self, email: str = "owner@acme.example") -> Caller:
        """The owner of a new account on trial."""
        return await owner_of(self.accounts, email)

    async def subscribe(self, caller: Caller, plan: PlanName = PlanName.STANDARD) -> Subscription:
        """Start a checkout, pay, confirm."""
        session_id = (await self.billing.checkouts.checkout(caller, plan)).id
        paid = self.provider.pay(session_id)
        await self.billing.checkouts.confirm(caller, session_id)
        return paid

    async def tell(self, event_type: str, subject_id: str, event_id: str) -> None:
        """An event of the provider's arrives."""
        body = event(event_type, {"id": subject_id}, event_id)
        await self.billing.event_receiver.receive(body, signed(body, self.clock.now()))

    async def account(self, caller: Caller) -> Account:
        """The account as it is now."""
        return (await self.accounts.members.renewed(caller)).account

    async def paid(self, caller: Caller) -> Sequence[PaidSubscription]:
        """What is stored of its subscriptions."""
        async with self.database.reading() as connection:
            return await repository.paid(connection, caller.account.id)

    async def delete(self, caller: Caller) -> None:
        """The account goes."""
        await self.accounts.members.delete(caller, PASSWORD)

    async def tend(self) -> None:
        """What the background does."""
        assert self.billing.payments is not None
        await self.billing.payments.upkeep.run()

    async def wishes(self) -> list[str]:
        """Subscriptions that are still to be ended."""
        async with self.database.reading() as connection:
            return list((await connection.execute(select(cancellations.c.subscription_id))).scalars())

    async def events(self) -> list[str]:
        """Events that were applied."""
        async with self.database.reading() as connection:
            return sorted((await connection.execute(select(payment_events.c.id))).scalars())


def open_room(database: Database, data_dir: Path, provider: PlainProvider | None = None) -> Room:
    """A room over a database; a test may bring a provider with manners of its own."""
    clock = SteppedClock(1_800_000_000)
    provider = provider or PlainProvider()
    provider.clock = clock
    settings = Settings(data_dir=data_dir, **SETTINGS)
    billing = build_billing(settings, database, clock, provider)
    accounts = build_accounts(settings, database, clock, KeptMail(), quick_passwords(), billing.cancellations)
    return Room(database, clock, provider, accounts, billing)
