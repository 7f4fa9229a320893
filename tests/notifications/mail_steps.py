"""Steps of tests about mails: users who get them, events that are told, workers that send."""

import asyncio
from collections.abc import Mapping

from sqlalchemy import update

from registerwatch.accounts import repository as account_repository
from registerwatch.accounts.models import Caller, Role
from registerwatch.accounts.tables import users
from registerwatch.mail.mailer import Mailer
from registerwatch.notifications.channels import Channel
from registerwatch.notifications.channels.email import EmailChannel
from registerwatch.notifications.choices import EVERYTHING, Choice
from registerwatch.notifications.delivery.delivery import DeliveryService
from registerwatch.notifications.delivery.mail_pace import MailPace
from registerwatch.notifications.models import EMAIL
from registerwatch.notifications.outbox import DeliveryOutbox
from registerwatch.notifications.targets import target_repository
from registerwatch.notifications.targets.target_changes import columns_of
from registerwatch.platform.clock import day_of
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events import event_repository
from registerwatch.watches.events.event_repository import NewEvent
from registerwatch.watches.events.event_rules import classified
from registerwatch.watches.models import Event
from tests.support.harness import ServiceHarness

SECRET = "a secret of a target"


async def mail_user(
    harness: ServiceHarness, caller: Caller, email: str, choice: Choice = EVERYTHING, zone: str = "UTC"
) -> int:
    """Add a user with a proven address to an account, who gets mails; the target."""
    account_id = caller.account.id
    async with harness.database.transaction() as connection:
        user_id = await account_repository.add_user(
            connection, account_id, email=email, role=Role.MEMBER, password_hash=None, now=harness.now
        )
        proven = {"confirmed_at": harness.now, "time_zone": zone}
        await connection.execute(update(users).where(users.c.id == user_id).values(proven))
        columns = {"channel": EMAIL, "url": email, "secret": SECRET, "user_id": user_id}
        columns |= columns_of(choice=choice, repeats=True)
        return await target_repository.add(connection, account_id, columns, harness.now)


def email_channel(harness: ServiceHarness, mailer: Mailer) -> Mapping[str, Channel]:
    """The channel over a mailer."""
    return {EMAIL: EmailChannel(mailer, harness.clock, public_url="https://watch.example.org")}


def mail_worker(harness: ServiceHarness, mailer: Mailer, per_minute: int = 1_000_000) -> DeliveryService:
    """What sends the mails of one node."""
    return DeliveryService(harness.database, harness.clock, email_channel(harness, mailer), pace=MailPace(per_minute))


async def tell(
    harness: ServiceHarness,
    caller: Caller,
    *changes: FieldChange,
    watch: int = 1,
    batch: str = "batch",
    due_in: int = 0,
) -> Event:
    """Store an event of a watch, and its deliveries."""
    kind, severity = classified(changes, day_of(harness.now))
    new = NewEvent(caller.account.id, watch, f"0401234567{watch:04}", f"Device {watch}", "summary", changes, True)
    outbox = DeliveryOutbox(harness.database, harness.clock, email_channel(harness, harness.mail))
    async with harness.database.transaction() as connection:
        stored = await event_repository.add_events(connection, [new], harness.now)
        await outbox.put(connection, batch, stored, due_at=harness.now + due_in, now=harness.now)
    (event,) = stored[caller.account.id]
    assert (event.kind, event.severity) == (kind, severity)
    return event


async def send_due(worker: DeliveryService, *, stores: bool = True) -> int:
    """Send all mails that are due, side by side; how many."""
    number = 0
    while claimed := await worker.claim():
        ended = await asyncio.gather(*(worker.deliver(each) for each in claimed))
        if stores:
            await worker.store(ended)
        number += len(claimed)
    return number
