"""Observing: what a successful read found is compared with every watch on its subject whose account is active.

It runs inside the transaction that stores the read in the copy, so that copy, snapshots, events and deliveries agree
whatever happens. A read costs what the watches on its subject cost; watches on other subjects cost nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.register.observation import DeviceObservation, Observation, ReadContext, new_batch
from registerwatch.watches import event_repository, read_failures, repository
from registerwatch.watches.causes import cause_of
from registerwatch.watches.diff import FieldChange, compare, summary_of
from registerwatch.watches.event_repository import NewEvent
from registerwatch.watches.models import Event
from registerwatch.watches.options import options_of
from registerwatch.watches.outbox import Outbox
from registerwatch.watches.repository import Watched
from registerwatch.watches.snapshot import decoded, encoded, label_of, snapshot_of

NO_CERTIFICATES = "The rest was read, but its certificates could not be."


@dataclass(frozen=True, slots=True)
class _Compared:
    """The result of comparing an observation with one kept snapshot."""

    changes: Sequence[FieldChange]
    kept: str
    label: str
    manufacturer_srn: str


class WatchObserver:
    """Turns observations into snapshots, events and deliveries."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def observe(
        self,
        connection: AsyncConnection,
        observations: Sequence[Observation],
        context: ReadContext,
        *,
        unconfirmed: Sequence[str] = (),
        now: int,
        read_at: int,
    ) -> None:
        """Compare and store; watches on `unconfirmed` subjects become due."""
        seen = {observation.subject: observation for observation in observations}
        if not seen and not unconfirmed:
            return
        found = await repository.watched(connection, [*seen, *unconfirmed], now)
        await repository.make_due(connection, [watch.id for watch in found if watch.subject not in seen])
        comparable = [watch for watch in found if _is_comparable(seen, watch)]
        await _store_read(connection, comparable, seen, context, now, read_at)
        await self._compare(connection, comparable, seen, context, now)

    async def _compare(
        self,
        connection: AsyncConnection,
        watched: Sequence[Watched],
        seen: Mapping[str, Observation],
        context: ReadContext,
        now: int,
    ) -> None:
        if not watched:
            return
        comparison = _Comparison(seen)
        compared = [(watch, comparison.of(watch)) for watch in watched]
        await repository.set_snapshots(
            connection, [_kept(watch, result) for watch, result in compared if _is_new(watch, result)]
        )
        changed = [(watch, result) for watch, result in compared if result.changes]
        if changed:
            await self._store_events(connection, changed, context, now)

    async def _store_events(
        self, connection: AsyncConnection, changed: Sequence[tuple[Watched, _Compared]], context: ReadContext, now: int
    ) -> None:
        """Store events and put them into the outbox: in the context's batch where they can join it, else at once.

        Those of watches that do not notify are only stored.
        """
        joining = {
            watch.account_id
            for watch, _ in changed
            if context.holds(now) and context.account_id in (None, watch.account_id)
        }
        at_once = new_batch()
        new = [
            NewEvent(
                account_id=watch.account_id,
                watch_id=watch.id,
                subject=watch.subject,
                label=_label(watch, result),
                summary=summary_of(result.changes),
                changes=result.changes,
                batch=context.batch if watch.account_id in joining else at_once,
                awaits_sync=not context.is_recheck,
                cause=cause_of(context.batch, result.manufacturer_srn, result.changes),
            )
            for watch, result in changed
        ]
        silent = {watch.id for watch, _ in changed if not options_of(watch.options).notifies}
        stored = _without(silent, await event_repository.add_events(connection, new, now))
        held = {account_id: events for account_id, events in stored.items() if account_id in joining}
        others = {account_id: events for account_id, events in stored.items() if account_id not in joining}
        await self._outbox.put(connection, context.batch, held, due_at=context.held_until, now=now)
        await self._outbox.put(connection, at_once, others, due_at=now, now=now)


class _Comparison:
    """The comparisons of one read. Most watches on a subject keep the same snapshot, which is compared once."""

    def __init__(self, seen: Mapping[str, Observation]) -> None:
        self._seen = seen
        self._known: dict[tuple[str, str | None], _Compared] = {}

    def of(self, watch: Watched) -> _Compared:
        key = watch.subject, watch.snapshot
        if key not in self._known:
            self._known[key] = self._compare(*key)
        return self._known[key]

    def _compare(self, subject: str, kept: str | None) -> _Compared:
        now = snapshot_of(self._seen[subject])
        changes: Sequence[FieldChange] = []
        if kept is not None:
            changes, now = compare(decoded(kept), now)
        return _Compared(changes, encoded(now), label_of(now, subject), now.manufacturer_srn)


def _is_comparable(seen: Mapping[str, Observation], watch: Watched) -> bool:
    """Whether an observation is compared with a watch: its baseline must be a read in full."""
    observation = seen.get(watch.subject)
    return observation is not None and (observation.in_full or watch.snapshot is not None)


async def _store_read(
    connection: AsyncConnection,
    watched: Sequence[Watched],
    seen: Mapping[str, Observation],
    context: ReadContext,
    now: int,
    read_at: int,
) -> None:
    """Store when the watches were read, and whether their certificates were not.

    A read in part counts as none, and so does one for a stranger that could not read the certificates.
    """
    whole, without = [], []
    for watch in watched:
        observation = seen[watch.subject]
        if isinstance(observation, DeviceObservation) and observation.in_full and not observation.certificates_read:
            without.append(watch)
        elif observation.in_full:
            whole.append(watch)
    await repository.note_seen(connection, [watch.id for watch in whole], now, read_at)
    await read_failures.end(connection, [watch.id for watch in whole if watch.failing_since is not None], now)
    if context.is_for_watches:
        failed = [watch.id for watch in without]
        await repository.note_seen_without(connection, failed, NO_CERTIFICATES, now, read_at)
        await read_failures.note(connection, failed, NO_CERTIFICATES, now)


def _without(silent: Collection[int], events: Mapping[int, Sequence[Event]]) -> Mapping[int, Sequence[Event]]:
    """Events by account, without those of some watches."""
    heard = {account_id: [each for each in of if each.watch_id not in silent] for account_id, of in events.items()}
    return {account_id: of for account_id, of in heard.items() if of}


def _is_new(watch: Watched, result: _Compared) -> bool:
    return result.kept != watch.snapshot or _label(watch, result) != watch.label


def _kept(watch: Watched, result: _Compared) -> dict[str, object]:
    return {"watch_id": watch.id, "snapshot": result.kept, "label": _label(watch, result)}


def _label(watch: Watched, result: _Compared) -> str:
    return watch.label if watch.is_renamed else result.label
