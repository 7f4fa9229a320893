"""Configuring webhooks: addresses, secrets, tests, the log of deliveries."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository as account_repository
from registerwatch.accounts.audit import Action
from registerwatch.accounts.models import Caller
from registerwatch.accounts.repository import locked
from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.db.statements import PreparedSelect
from registerwatch.errors import CapReached, InvalidInput
from registerwatch.net.addresses import target
from registerwatch.notifications import repository
from registerwatch.notifications.channels.webhook import body_of
from registerwatch.notifications.channels.webhook_signature import new_delivery_id, new_secret
from registerwatch.notifications.delivery import DeliveryService
from registerwatch.notifications.models import (
    LOG_LENGTH,
    MAX_WEBHOOKS,
    OVERLAP_SECONDS,
    Delivery,
    EventType,
    Notification,
    Webhook,
)
from registerwatch.notifications.repository import FinishedDelivery

_WEBHOOKS = PreparedSelect(repository.WEBHOOKS)

UNKNOWN = "The account has no webhook with this id; GET /v1/webhooks lists them."
NO_ADDRESS = "No webhook address is saved. Save one with POST /v1/webhook."
NOT_ENDED = "This webhook has no delivery with this id that has ended."


@dataclass(frozen=True, slots=True)
class TestResult:
    """How a test was received."""

    is_accepted: bool
    status: int | None
    error: str
    delivery_id: str


class WebhookService:
    """What owners and API keys do with their account's webhooks."""

    def __init__(self, database: Database, clock: Clock, deliveries: DeliveryService, *, allow_private: bool) -> None:
        self._database = database
        self._clock = clock
        self._deliverer = deliveries
        self._allow_private = allow_private

    async def all(self, account_id: int) -> Sequence[Webhook]:
        """The account's webhooks, the first one first."""
        rows = await self._database.rows(_WEBHOOKS, account_id=account_id)
        return [repository.webhook_of(row) for row in rows]

    async def set_first(self, caller: Caller, url: str) -> None:
        """Set the address of the first webhook, which keeps its secret; an empty one removes both.

        Raises `InvalidInput` for what is no public https address, `CapReached`.
        """
        wanted = target(url, allow_private=self._allow_private).url if url.strip() else ""
        async with self._database.transaction() as connection:
            present = await self._locked(connection, caller)
            first = next((each for each in present if each.is_first), None)
            if first is not None and wanted:
                await repository.set_url(connection, caller.account.id, first.id, wanted)
            elif first is not None:
                await repository.remove(connection, caller.account.id, first.id)
            elif wanted:
                await self._add(connection, caller, present, wanted, is_first=True)
            if first is not None or wanted:
                await self._note(connection, caller, wanted or "removed")

    async def add(self, caller: Caller, url: str) -> Webhook:
        """Add an address with a secret of its own. Raises `InvalidInput`, `CapReached`."""
        wanted = target(url, allow_private=self._allow_private).url
        async with self._database.transaction() as connection:
            present = await self._locked(connection, caller)
            webhook_id = await self._add(connection, caller, present, wanted, is_first=False)
            await self._note(connection, caller, wanted)
            return await _webhook(connection, caller, webhook_id)

    async def remove(self, caller: Caller, webhook_id: int) -> None:
        """Remove an address of the account, if it is one, with its deliveries."""
        async with self._database.transaction() as connection:
            await self._locked(connection, caller)
            webhook = await repository.by_id(connection, caller.account.id, webhook_id)
            if webhook is not None:
                await repository.remove(connection, caller.account.id, webhook_id)
                await self._note(connection, caller, f"{webhook.url} removed")

    async def rotate(self, caller: Caller, webhook_id: int) -> Webhook:
        """A new secret; the old one signs beside it for 24 hours. Raises `InvalidInput` for an unknown id."""
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            await self._locked(connection, caller)
            webhook = await _webhook(connection, caller, webhook_id)
            await repository.set_secret(
                connection,
                caller.account.id,
                webhook.id,
                secret=new_secret(),
                old_secret=webhook.secret,
                until=now + OVERLAP_SECONDS,
            )
            await self._note(connection, caller, f"{webhook.url}: new secret")
            return await _webhook(connection, caller, webhook_id)

    async def test(self, caller: Caller, webhook_id: int | None) -> TestResult:
        """Send a signed test to one webhook, or to the first one. Raises `InvalidInput` when there is none."""
        now, delivery_id = int(self._clock.now()), new_delivery_id()
        body = body_of(Notification(delivery_id, EventType.TEST, now, caller.account.email), [])
        async with self._database.transaction() as connection:
            await locked(connection, caller.account.id)
            if webhook_id is not None:
                webhook = await _webhook(connection, caller, webhook_id)
            else:
                webhook = await _first(connection, caller)
            await repository.add_test(connection, webhook, body=body, delivery_id=delivery_id, now=now)
        answer, attempts = await self._deliverer.send(webhook, delivery_id, EventType.TEST, body.encode())
        await self._deliverer.store([FinishedDelivery(delivery_id, webhook.id, 0, answer, attempts)])
        return TestResult(answer.is_accepted, answer.status, answer.error, delivery_id)

    async def log(self, caller: Caller, webhook_id: int) -> Sequence[Delivery]:
        """The newest 50 deliveries to a webhook. Raises `InvalidInput` for an unknown id."""
        async with self._database.reading() as connection:
            await _webhook(connection, caller, webhook_id)
            return await repository.log_of(connection, caller.account.id, webhook_id, LOG_LENGTH)

    async def send_again(self, caller: Caller, webhook_id: int, delivery_id: str) -> None:
        """Let a delivery that has ended go out once more as it was. Raises `InvalidInput` for an unknown one."""
        if not (delivery_id.isascii() and delivery_id.isprintable()):  # what no id is, and no database looks up
            raise InvalidInput(NOT_ENDED)
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            if not await repository.send_again(connection, caller.account.id, webhook_id, delivery_id, now):
                raise InvalidInput(NOT_ENDED)

    async def _locked(self, connection: AsyncConnection, caller: Caller) -> Sequence[Webhook]:
        """The account's webhooks, which nobody else changes until the end of the transaction."""
        await locked(connection, caller.account.id)
        return await repository.of_account(connection, caller.account.id)

    async def _add(
        self, connection: AsyncConnection, caller: Caller, present: Sequence[Webhook], url: str, *, is_first: bool
    ) -> int:
        if len(present) >= MAX_WEBHOOKS:
            raise CapReached(f"An account has at most {MAX_WEBHOOKS} webhook addresses.")
        return await repository.add(
            connection,
            caller.account.id,
            url=url,
            secret=new_secret(),
            is_first=is_first,
            now=int(self._clock.now()),
        )

    async def _note(self, connection: AsyncConnection, caller: Caller, subject: str) -> None:
        await account_repository.note(
            connection,
            caller.account.id,
            now=int(self._clock.now()),
            actor=caller.name,
            action=Action.WEBHOOK_CHANGED,
            subject=subject,
        )


async def _webhook(connection: AsyncConnection, caller: Caller, webhook_id: int) -> Webhook:
    webhook = await repository.by_id(connection, caller.account.id, webhook_id)
    if webhook is None:
        raise InvalidInput(UNKNOWN)
    return webhook


async def _first(connection: AsyncConnection, caller: Caller) -> Webhook:
    for webhook in await repository.of_account(connection, caller.account.id):
        if webhook.is_first:
            return webhook
    raise InvalidInput(NO_ADDRESS)
