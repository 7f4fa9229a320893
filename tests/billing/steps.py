"""Steps of tests about payments: somebody subscribes, an event arrives, the background runs."""

from collections.abc import Sequence

from sqlalchemy import select

from registerwatch.accounts.models import Account, Caller
from registerwatch.accounts.plans import PlanName
from registerwatch.billing import repository
from registerwatch.billing.models import PaidSubscription
from registerwatch.billing.provider import Subscription
from registerwatch.billing.tables import cancellations, payment_events
from tests.billing.plain_provider import event, signed
from tests.support.harness import PASSWORD, ServiceHarness


async def subscribe(harness: ServiceHarness, caller: Caller, plan: PlanName = PlanName.STANDARD) -> Subscription:
    """Start a checkout, pay, confirm."""
    checkouts = harness.service.billing.checkouts
    session_id = (await checkouts.checkout(caller, plan)).id
    paid = harness.provider.pay(session_id)
    await checkouts.confirm(caller, session_id)
    return paid


async def receive_event(harness: ServiceHarness, event_type: str, subject_id: str, event_id: str) -> None:
    """An event of the provider arrives."""
    body = event(event_type, {"id": subject_id}, event_id)
    await harness.service.billing.event_receiver.receive(body, signed(body, harness.clock.now()))


async def account_of(harness: ServiceHarness, caller: Caller) -> Account:
    """The account as it is now."""
    return (await harness.service.accounts.members.renewed(caller)).account


async def paid_subscriptions(harness: ServiceHarness, caller: Caller) -> Sequence[PaidSubscription]:
    """What is stored of the account's subscriptions."""
    async with harness.database.reading() as connection:
        return await repository.paid(connection, caller.account.id)


async def delete_account(harness: ServiceHarness, caller: Caller) -> None:
    """Delete the account."""
    await harness.service.accounts.deletion.delete(caller, PASSWORD)


async def run_upkeep(harness: ServiceHarness) -> None:
    """Run once what the background runs."""
    payments = harness.service.billing.payments
    assert payments is not None
    await payments.upkeep.run()


async def queued_cancellations(harness: ServiceHarness) -> list[str]:
    """The subscriptions that are still to be cancelled at the provider."""
    async with harness.database.reading() as connection:
        return list((await connection.execute(select(cancellations.c.subscription_id))).scalars())


async def applied_events(harness: ServiceHarness) -> list[str]:
    """The events that were applied."""
    async with harness.database.reading() as connection:
        return sorted((await connection.execute(select(payment_events.c.id))).scalars())
