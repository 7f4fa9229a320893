"""The outbox: the transaction that stores events puts deliveries of them into it."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.errors import DatabaseUnavailable
from registerwatch.notifications import repository
from registerwatch.notifications.channels import Channel
from registerwatch.notifications.choices import is_of_digest, next_period
from registerwatch.notifications.delivery.waiting_deliveries import time_of_pause
from registerwatch.notifications.gathered_batches import (
    GatheredBatch,
    earlier_gathered_batches,
    gathered_batch_from,
    gathered_batch_of,
)
from registerwatch.notifications.models import Target
from registerwatch.notifications.repository import NewDelivery
from registerwatch.notifications.targets import target_repository
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.structs import replace
from registerwatch.register.observation import new_batch
from registerwatch.watches.events.event_rules import is_version_alone
from registerwatch.watches.models import Event
from registerwatch.watches.tag_repository import tags_of

log = structlog.get_logger(__name__)

RETRY_SECONDS = 5.0
"""Pause before a failed release is tried again."""


class _Batch(msgspec.Struct, frozen=True):
    """Events that were stored together: their batch, and when deliveries that join it are due."""

    name: str
    due_at: int
    now: int


class _Lines:
    """Rendered events of one put: an event is rendered once for all targets of a channel."""

    def __init__(self, channels: Mapping[str, Channel]) -> None:
        self._channels = channels
        self._rendered: dict[tuple[str, int], str] = {}

    def of(self, target: Target, events: Sequence[Event]) -> Sequence[str]:
        """Events in the form of the target's channel."""
        return [self._line(target.channel, event) for event in events]

    def _line(self, channel: str, event: Event) -> str:
        if (channel, event.id) not in self._rendered:
            self._rendered[channel, event.id] = self._channels[channel].render_event(event)
        return self._rendered[channel, event.id]


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
        """Add events, by account, to deliveries to the account's targets that choose them; make the deliveries where
        there are none.

        Events for a program at once join its delivery of the batch, those for people the gathered one, which waits
        longer where the batch is held; those for a digest join the one of its period. Where that is being sent already,
        the next one takes them.
        """
        if not events:
            return
        targets = await target_repository.lock_targets(connection, events.keys(), self._channels.keys())
        ready = [each for each in targets if self._is_ready(each)]
        tags = await _tags(connection, ready, events)
        pauses = await target_repository.pauses(connection, events.keys())  # behind the lock: a pause takes it, too
        gathered = await self._gathered(connection, ready, now, is_held=due_at > now)
        new: list[NewDelivery] = []
        lines = _Lines(self._channels)
        for target in ready:
            heard = [
                each
                for each in self._worth_sending(target, events[target.account_id])
                if target.choice.hears(each, tags.get(each.watch_id, ()))
            ]
            paused_until = pauses.get(target.account_id, 0)
            of_batch = gathered.get(target.id) or _Batch(batch, due_at, now)
            new += self._deliveries(target, heard, of_batch, paused_until, lines)
        left = await repository.put(connection, new, now)
        while left:
            left = await repository.put(connection, [self._later(each, now) for each in left], now)

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
        """Stop trying: unreleased deliveries fall due at the time until which they were held."""
        for task in self._releasing:
            task.cancel()
        await asyncio.gather(*self._releasing, return_exceptions=True)

    def _is_ready(self, target: Target) -> bool:
        return target.paused_at is None and self._channels[target.channel].problem(target) is None

    def _deliveries(
        self, target: Target, events: Sequence[Event], batch: _Batch, paused_until: int, lines: "_Lines"
    ) -> Iterator[NewDelivery]:
        """The deliveries that events of a target belong to: one at once, one of a digest, or one when a pause ends."""
        at_once = [each for each in events if target.choice.is_sent_at_once(each)]
        digest = [each for each in events if not target.choice.is_sent_at_once(each)]
        if paused_until > batch.now and events:
            pause = time_of_pause(paused_until)
            held = lines.of(target, events)
            yield NewDelivery(target, pause.batch, pause.due_at, held, is_scheduled=pause.is_scheduled)
            return
        if at_once:
            yield NewDelivery(target, batch.name, batch.due_at, lines.of(target, at_once))
        if digest:
            period = next_period(target.choice, target.time_zone, batch.now)
            yield NewDelivery(target, period.batch, period.due_at, lines.of(target, digest), is_scheduled=True)

    def _worth_sending(self, target: Target, events: Sequence[Event]) -> Sequence[Event]:
        """Events; without mere new versions where the channel is for people."""
        if not self._channels[target.channel].is_for_people:
            return events
        return [each for each in events if not is_version_alone(each.changes)]

    async def _gathered(
        self, connection: AsyncConnection, targets: Sequence[Target], now: int, *, is_held: bool
    ) -> Mapping[int, _Batch]:
        """The batch of events for people at once, by the target's id: the one that waits already, else a new one.

        Transactions that store events wait for each other (`event_repository.add_events`), so they see the same.
        """
        of_people = [each.id for each in targets if self._channels[each.channel].is_for_people]
        if not of_people:
            return {}
        earlier = earlier_gathered_batches(now)
        waiting = await repository.unclaimed(connection, of_people, [each.batch for each in earlier])
        found: dict[int, _Batch] = {}
        for target_id in of_people:
            waits = (each for each in earlier if (target_id, each.batch) in waiting)
            gathered: GatheredBatch = next(waits, gathered_batch_from(now))
            found[target_id] = _Batch(gathered.batch, gathered.due_at(now, is_held=is_held), now)
        return found

    def _later(self, late: NewDelivery, now: int) -> NewDelivery:
        """The replacement for one that is being sent already: of the next period, the next gathered one, or one at
        once.
        """
        if is_of_digest(late.batch):
            period = next_period(late.target.choice, late.target.time_zone, max(late.due_at, now))
            return replace(late, batch=period.batch, due_at=period.due_at)
        if gathered := gathered_batch_of(late.batch):
            following = max(gathered.next, gathered_batch_from(now), key=lambda each: each.minute)
            return replace(late, batch=following.batch, due_at=following.minute)
        return replace(late, batch=new_batch(), due_at=now, is_scheduled=False)

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


async def _tags(
    connection: AsyncConnection, targets: Sequence[Target], events: Mapping[int, Sequence[Event]]
) -> Mapping[int, Sequence[str]]:
    """The tags of the watches of events, by watch, of those accounts where a target asks for tags."""
    tags: dict[int, Sequence[str]] = {}
    for account_id in {each.account_id for each in targets if each.choice.tags}:
        tags |= await tags_of(connection, account_id, {each.watch_id for each in events[account_id]})
    return tags
