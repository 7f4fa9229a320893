"""Baselines of watches from the copy."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.records import RecordStore
from registerwatch.platform.structs import replace
from registerwatch.register.observation import ActorObservation, Observation
from registerwatch.watches.models import NOT_REGISTERED
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.snapshot import encoded, label_of, snapshot_of


async def delisted_watches(
    connection: AsyncConnection, copy: RecordStore, subjects: Sequence[str]
) -> dict[str, NewWatch]:
    """Watches on those subjects that the register listed once and lists no more; their baseline is from the copy."""
    return {
        each.observation.subject: replace(
            watch_with_baseline(each.observation, each.read_at),
            last_error=NOT_REGISTERED,
            failing_since=each.delisted_at,
        )
        for each in await copy.delisted(connection, subjects)
    }


def watch_with_baseline(observation: Observation, read_at: int) -> NewWatch:
    """A watch with the copy's baseline, which counts as read if complete; else the first full read completes it."""
    snapshot, subject = snapshot_of(observation), observation.subject
    is_actor = isinstance(observation, ActorObservation)
    is_complete = bool(snapshot.field_set) if is_actor else snapshot.has_all_certs
    return NewWatch(
        subject,
        label_of(snapshot, subject),
        encoded(snapshot),
        read_at if is_complete else None,
        snapshot.manufacturer_srn,
        "" if isinstance(observation, ActorObservation) else observation.device.basic_udi,
    )
