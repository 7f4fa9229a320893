"""Delivering: claiming what is due, signing it, posting it, remembering how it went.

A delivery is a row until it has ended. Whoever claims it has it for the length of a lease; a worker that is killed
leaves it to the next one, so a receiver may get it twice, with the same id, and never not at all.
"""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.net.safe_http import PostResult, SafeHttpClient
from registerwatch.notifications import older_deliveries, repository
from registerwatch.notifications.channels.webhook import body_of
from registerwatch.notifications.channels.webhook_signature import headers
from registerwatch.notifications.models import EventType, Webhook
from registerwatch.notifications.repository import ClaimedDelivery, FinishedDelivery

ATTEMPT_SECONDS = 5.0
PAUSES = (0.4, 0.8)
LEASE_SECONDS = 60
MAX_CONCURRENT = 100
MAX_PER_WEBHOOK = 4

NO_SECRET = "nothing is sent without a secret to sign it"  # noqa: S105  # a sentence


class DeliveryService:
    """Sends deliveries. `service` is the word in the headers' names."""

    def __init__(
        self, database: Database, clock: Clock, http_client: SafeHttpClient, *, service: str, user_agent: str
    ) -> None:
        self._database = database
        self._clock = clock
        self._poster = http_client
        self._service = service
        self._user_agent = user_agent
        self.results = {"accepted": 0, "failed": 0}
        """Deliveries that have ended in this process, by how."""

    async def claim(self, most: int = MAX_CONCURRENT) -> Sequence[ClaimedDelivery]:
        """Claim what is due, with its body."""
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            claimed = await repository.claim(
                connection,
                now=now,
                lease_until=now + LEASE_SECONDS,
                most=most,
                most_per_webhook=MAX_PER_WEBHOOK,
            )
            return await _with_bodies(connection, claimed)

    async def deliver(self, claimed: ClaimedDelivery) -> FinishedDelivery:
        """Send one delivery, in up to three attempts. How it ended is to be stored."""
        delivery, webhook = claimed.delivery, claimed.webhook
        assert delivery.body is not None, "claiming gives it a body"
        answer, attempts = await self.send(webhook, delivery.id, delivery.type, delivery.body.encode())
        return FinishedDelivery(delivery.id, webhook.id, claimed.leased_until, answer, attempts)

    async def store(self, ended: Sequence[FinishedDelivery]) -> None:
        """Remember how deliveries ended, all or none of them: what is not remembered falls due again."""
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            await repository.finish(connection, ended, now)
        for each in ended:
            self.results["accepted" if each.answer.is_accepted else "failed"] += 1

    async def send(
        self, webhook: Webhook, delivery_id: str, event_type: EventType, body: bytes
    ) -> tuple[PostResult, int]:
        """Up to three attempts with their pauses, none without a secret; the last answer and how many there were."""
        if not webhook.secret:
            return PostResult(None, NO_SECRET), 0
        attempts, answer = 0, await self._attempt(webhook, delivery_id, event_type, body)
        for attempts, pause in enumerate(PAUSES, start=1):
            if answer.is_accepted:
                return answer, attempts
            await self._clock.sleep(pause)
            answer = await self._attempt(webhook, delivery_id, event_type, body)
        return answer, attempts + 1

    async def waiting(self) -> tuple[int, int | None]:
        """How many deliveries have not ended, and since when the oldest is due (unix seconds)."""
        async with self._database.reading() as connection:
            return await repository.waiting(connection)

    async def forget(self, older_than: int) -> int:
        """Delete deliveries that ended so many seconds ago. Their number."""
        async with self._database.transaction() as connection:
            return await repository.delete_finished(connection, int(self._clock.now()) - older_than)

    async def _attempt(self, webhook: Webhook, delivery_id: str, event_type: EventType, body: bytes) -> PostResult:
        now = int(self._clock.now())
        signed = headers(self._service, delivery_id, event_type, body, webhook.valid_secrets(now), now)
        return await self._poster.post(webhook.url, body, {**signed, "User-Agent": self._user_agent})


async def _with_bodies(connection: AsyncConnection, claimed: Sequence[ClaimedDelivery]) -> list[ClaimedDelivery]:
    """The body is written at the first claim, so that every attempt and every resend sends the same."""
    claimed = await older_deliveries.with_events(connection, claimed)
    bodies = {
        each.delivery.id: body_of(each.notification, each.events or ())
        for each in claimed
        if each.delivery.body is None
    }
    await repository.set_bodies(connection, bodies)
    return [
        replace(each, delivery=replace(each.delivery, body=bodies.get(each.delivery.id, each.delivery.body)))
        for each in claimed
    ]
