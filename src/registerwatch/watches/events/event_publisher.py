"""Stores events and puts them into the outbox, in the transaction that found them."""

from collections.abc import Collection, Mapping, Sequence

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.register.observation import ReadContext, new_batch
from registerwatch.watches.diff import FieldChange, summary_of
from registerwatch.watches.events import event_repository
from registerwatch.watches.events.event_repository import NewEvent
from registerwatch.watches.models import Event
from registerwatch.watches.options import WatchOptions
from registerwatch.watches.outbox import Outbox


class FoundEvent(msgspec.Struct, frozen=True):
    """The changes of one watch."""

    account_id: int
    watch_id: int
    subject: str
    label: str
    changes: Sequence[FieldChange]
    options: WatchOptions
    manufacturer_srn: str
    """SRN of the watched device's manufacturer or the watched one; empty where unknown."""
    cause: str | None = None
    visible_at: int | None = None
    """When a listing or a read first showed it (unix seconds), None where that is unknown."""
    summary: str = ""
    """The summary; empty for one of all changes."""


class EventPublisher:
    """Stores events, and puts those of watches that notify into the outbox."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def publish(
        self, connection: AsyncConnection, found: Sequence[FoundEvent], context: ReadContext, now: int
    ) -> None:
        """Store events and deliver them: with the context's batch where they can join it, else at once.

        The caller has locked their watches, in the order of their ids. Storing events takes a lock that other such
        transactions wait for, so the two puts need no common order of targets.
        """
        if not found:
            return
        joining = _joining(found, context, now)
        new = [_new(each, context) for each in found]
        silent = {each.watch_id for each in found if not each.options.notifies}
        stored = _without(silent, await event_repository.add_events(connection, new, now))
        held = {account_id: events for account_id, events in stored.items() if account_id in joining}
        others = {account_id: events for account_id, events in stored.items() if account_id not in joining}
        await self._outbox.put(connection, context.batch, held, due_at=context.held_until, now=now)
        await self._outbox.put(connection, new_batch(), others, due_at=now, now=now)


def _joining(found: Sequence[FoundEvent], context: ReadContext, now: int) -> Collection[int]:
    """The accounts whose events join the context's batch."""
    if not context.holds(now):
        return frozenset()
    return {each.account_id for each in found if context.account_id in (None, each.account_id)}


def _new(found: FoundEvent, context: ReadContext) -> NewEvent:
    return NewEvent(
        account_id=found.account_id,
        watch_id=found.watch_id,
        subject=found.subject,
        label=found.label,
        summary=found.summary or summary_of(found.changes),
        changes=found.changes,
        awaits_sync=not context.is_recheck,
        cause=found.cause,
        visible_at=found.visible_at,
        manufacturer_srn=found.manufacturer_srn,
    )


def _without(silent: Collection[int], events: Mapping[int, Sequence[Event]]) -> Mapping[int, Sequence[Event]]:
    """Events by account, without those of some watches."""
    kept = {account_id: [each for each in of if each.watch_id not in silent] for account_id, of in events.items()}
    return {account_id: of for account_id, of in kept.items() if of}
