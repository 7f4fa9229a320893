"""Delivering: claim what is due, send it, store how it ended.

A delivery is a row until it has ended. Whoever claims it has it for the length of a lease. When a worker is killed,
another one claims its deliveries after the lease: a target may get a delivery twice, with the same id, but never misses
one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.db.secret_cipher import SecretCipher
from registerwatch.notifications import older_deliveries, repository
from registerwatch.notifications.channels import Channel
from registerwatch.notifications.models import AttemptResult, Notification, Target
from registerwatch.notifications.repository import ClaimedDelivery, FinishedDelivery
from registerwatch.notifications.target_secrets import TargetSecrets

LEASE_SECONDS = 60
MAX_CONCURRENT = 100
MAX_PER_TARGET = 4


class DeliveryService:
    """Sends deliveries over the channels of their targets."""

    def __init__(
        self, database: Database, clock: Clock, channels: Mapping[str, Channel], secrets: TargetSecrets | None = None
    ) -> None:
        self._database = database
        self._secrets = secrets or TargetSecrets(database, SecretCipher())
        self._clock = clock
        self._channels = channels
        self.results = {"accepted": 0, "failed": 0}
        """Deliveries that have ended in this process, by how."""

    async def claim(self, limit: int = MAX_CONCURRENT) -> Sequence[ClaimedDelivery]:
        """Claim what is due, with its body."""
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            claimed = await repository.claim(
                connection,
                self._channels.keys(),
                now=now,
                lease_until=now + LEASE_SECONDS,
                limit=limit,
                limit_per_target=MAX_PER_TARGET,
            )
            return await self._with_bodies(connection, claimed)

    async def deliver(self, claimed: ClaimedDelivery) -> FinishedDelivery:
        """Send one delivery, with the channel's retries. The caller stores how it ended."""
        delivery, target = claimed.delivery, claimed.target
        assert delivery.body is not None, "claiming gives it a body"
        result, attempts = await self.send(target, claimed.notification, delivery.body)
        return FinishedDelivery(delivery.id, target.id, claimed.leased_until, result, attempts)

    async def store(self, ended: Sequence[FinishedDelivery]) -> None:
        """Store how deliveries ended, all or none of them: what is not stored falls due again."""
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            await repository.finish(connection, ended, now)
        for each in ended:
            self.results["accepted" if each.result.is_accepted else "failed"] += 1

    async def send(self, target: Target, notification: Notification, body: str) -> tuple[AttemptResult, int]:
        """Attempt until the target accepts it or the channel's retries are used up: the last result, and how many
        attempts there were. There is none where nothing can be sent to the target. Raises `SecretUnreadable`.
        """
        target = self._secrets.opened(target)
        channel = self._channels[target.channel]
        problem = channel.problem(target)
        if problem is not None:
            return AttemptResult(is_accepted=False, status=None, error=problem), 0
        result = await self._attempt(channel, target, notification, body)
        for attempts, pause in enumerate(channel.pauses, start=1):
            if result.is_accepted:
                return result, attempts
            await self._clock.sleep(pause)
            result = await self._attempt(channel, target, notification, body)
        return result, len(channel.pauses) + 1

    async def _attempt(self, channel: Channel, target: Target, notification: Notification, body: str) -> AttemptResult:
        """One attempt, and what it took."""
        started = self._clock.monotonic()
        result = await channel.attempt(target, notification, body, int(self._clock.now()))
        return replace(result, milliseconds=round((self._clock.monotonic() - started) * 1000))

    async def waiting(self) -> tuple[int, int | None]:
        """How many deliveries have not ended, and since when the oldest is due (unix seconds)."""
        async with self._database.reading() as connection:
            return await repository.waiting(connection)

    async def forget(self, older_than: int) -> int:
        """Delete deliveries that ended so many seconds ago. Their number."""
        async with self._database.transaction() as connection:
            return await repository.delete_finished(connection, int(self._clock.now()) - older_than)

    async def _with_bodies(
        self, connection: AsyncConnection, claimed: Sequence[ClaimedDelivery]
    ) -> Sequence[ClaimedDelivery]:
        """The body is written at the first claim, so that every attempt and every resend sends the same."""
        claimed = await older_deliveries.with_events(connection, claimed, self._channels)
        bodies = {
            each.delivery.id: self._channels[each.target.channel].render(each.notification, each.events or ())
            for each in claimed
            if each.delivery.body is None
        }
        await repository.set_bodies(connection, bodies)
        return [
            replace(each, delivery=replace(each.delivery, body=bodies.get(each.delivery.id, each.delivery.body)))
            for each in claimed
        ]
