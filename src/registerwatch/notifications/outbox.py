"""The outbox: deliveries are put into it by the transaction that stores their events."""

import asyncio
from collections.abc import Mapping, Sequence

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.errors import DatabaseUnavailable
from registerwatch.notifications import repository, target_repository
from registerwatch.notifications.channels import Channel
from registerwatch.notifications.models import Target
from registerwatch.notifications.repository import NewDelivery
from registerwatch.register.observation import new_batch
from registerwatch.watches.models import Event

log = structlog.get_logger(__name__)

RETRY_SECONDS = 5.0
"""After which a release is tried again that the database did not answer."""


class DeliveryOutbox:
    """Adds events to deliveries, and releases deliveries that were held for the end of a run."""

    def __init__(self, database: Database, clock: Clock, channels: Mapping[str, Channel]) -> None:
        self._database = database
        self._clock = clock
        self._channels = channels
        self._releasing: set[asyncio.Task[None]] = set()

    async def put(
        self, connection: AsyncConnection, batch: str, events: Mapping[int, Sequence[Event]], *, due_at: int, now: int
    ) -> None:
        """Add events, by account, to the batch's delivery to each of the account's targets; make it where there is
        none. Where it is being sent already, another delivery takes the events, at once.
        """
        if not events:
            return
        targets = await target_repository.lock_targets(connection, events.keys(), self._channels.keys())
        new = [NewDelivery(target, self._rendered(target, events)) for target in targets if self._is_ready(target)]
        with_body = await repository.put(connection, batch, new, due_at=due_at, now=now)
        left = [each for each in new if each.target.id in with_body]
        await repository.put(connection, new_batch(), left, due_at=now, now=now)

    async def release(self, batch: str) -> None:
        """Make the held deliveries of a batch due. Where the database does not answer, that is tried again later."""
        try:
            await self._release(batch)
        except DatabaseUnavailable as error:
            log.warning("deliveries wait for the database", batch=batch, error=str(error))
            task = asyncio.create_task(self._release_later(batch), name=f"release {batch}")
            self._releasing.add(task)
            task.add_done_callback(self._releasing.discard)

    async def close(self) -> None:
        """Stop trying: what could not be released falls due at the time until which it was held."""
        for task in self._releasing:
            task.cancel()
        await asyncio.gather(*self._releasing, return_exceptions=True)

    def _is_ready(self, target: Target) -> bool:
        return self._channels[target.channel].problem(target) is None

    def _rendered(self, target: Target, events: Mapping[int, Sequence[Event]]) -> Sequence[str]:
        return [self._channels[target.channel].render_event(event) for event in events[target.account_id]]

    async def _release_later(self, batch: str) -> None:
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            try:
                await self._release(batch)
            except DatabaseUnavailable:
                continue
            return

    async def _release(self, batch: str) -> None:
        async with self._database.transaction() as connection:
            await repository.release(connection, batch, int(self._clock.now()))
