"""Moves waiting deliveries to another time: when a choice or time zone changes, or an account is paused or goes on."""

from collections.abc import Collection, Mapping, Sequence

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.notifications import repository
from registerwatch.notifications.choices import Frequency, is_of_digest, next_period
from registerwatch.notifications.delivery import delivery_event_repository
from registerwatch.notifications.models import Target
from registerwatch.notifications.repository import NewDelivery
from registerwatch.notifications.targets import channel_repository
from registerwatch.notifications.targets.channel_repository import WaitingDelivery
from registerwatch.register.observation import new_batch

PAUSE = "pause"
"""The beginning of the batches for the end of an account's pause."""


class NewTime(msgspec.Struct, frozen=True):
    """When deliveries are due, and the batch that they join."""

    batch: str
    due_at: int
    is_scheduled: bool


def time_of_choice(target: Target, now: int) -> NewTime:
    """When a digest is due by the target's choice; now where it chose delivery at once."""
    if target.choice.frequency is Frequency.AT_ONCE:
        return NewTime(new_batch(), now, is_scheduled=False)
    period = next_period(target.choice, target.time_zone, now)
    return NewTime(period.batch, period.due_at, is_scheduled=True)


def time_of_pause(until: int) -> NewTime:
    """The end of an account's pause."""
    return NewTime(f"{PAUSE}:{until}", until, is_scheduled=True)


def is_of_pause(waiting: WaitingDelivery) -> bool:
    """Whether it waits until an account's pause ends."""
    return waiting.batch.partition(":")[0] == PAUSE


def too_late(waiting: Sequence[WaitingDelivery], time: NewTime) -> Sequence[WaitingDelivery]:
    """The digests that are due later than by a new choice, or as late but on their own."""
    digests = [each for each in waiting if is_of_digest(each.batch)]
    return [each for each in digests if each.due_at >= time.due_at and each.batch != time.batch]


def held_by_pause(waiting: Sequence[WaitingDelivery], time: NewTime) -> Sequence[WaitingDelivery]:
    """Deliveries due before a pause ends, and those for another end of it."""
    return [each for each in waiting if each.batch != time.batch and (is_of_pause(each) or each.due_at < time.due_at)]


async def reschedule(connection: AsyncConnection, before: Target, after: Target, now: int) -> None:
    """Make the digest of a changed target due at the earlier of its time and the new one, and drop what waits for a
    target that was turned off or paused. The caller has locked it.
    """
    if not after.is_on:
        await channel_repository.drop_waiting(connection, after.account_id, after.id, now)
    elif (after.choice, after.time_zone) != (before.choice, before.time_zone):
        time = time_of_choice(after, now)
        waiting = await channel_repository.waiting(connection, after.account_id, now, after.id)
        await move(connection, {after.id: after}, too_late(waiting, time), time, now)


async def move(
    connection: AsyncConnection,
    targets: Mapping[int, Target],
    waiting: Collection[WaitingDelivery],
    time: NewTime,
    now: int,
) -> None:
    """Make deliveries of targets, by the ids of these, due at another time: one to each target.

    Where the delivery that they would join is being sent already, they are due at that time on their own.
    """
    for target_id, target in targets.items():
        of_target = [each for each in waiting if each.target_id == target_id]
        if not of_target:
            continue
        joined = NewDelivery(target, time.batch, time.due_at, (), is_scheduled=time.is_scheduled)
        ids = [each.id for each in of_target]
        if await repository.put(connection, [joined], now):
            await channel_repository.set_due(connection, target.account_id, ids, time.due_at)
        else:
            await delivery_event_repository.move(connection, target.account_id, ids, target_id, time.batch)
            await channel_repository.forget(connection, target.account_id, ids)
