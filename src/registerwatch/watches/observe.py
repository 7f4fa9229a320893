"""Observing: what a successful read saw, compared with every watch on its subject whose account is active.

It runs inside the transaction that stores the read in the copy, so that copy, snapshots, events and deliveries agree
whatever happens. A read costs what the watches on its subject cost; watches on other subjects cost nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.register.observation import Cause, DeviceSighting, Sighting, new_batch
from registerwatch.watches import repository
from registerwatch.watches.diff import Change, compare, summary_of
from registerwatch.watches.repository import NewEvent, Watched
from registerwatch.watches.snapshot import decoded, encoded, label_of, snapshot_of

NO_CERTIFICATES = "The rest was read, but its certificates could not be."


class Outbox(Protocol):
    """Where deliveries are put, in the transaction that stores their events."""

    async def put(
        self, connection: AsyncConnection, batch: str, account_ids: Collection[int], *, due_at: int, now: int
    ) -> Collection[int]:
        """One delivery of the batch to each address of each account, unless it is there already.

        Gives the accounts that one is on its way to already, which takes nothing along any more.
        """


@dataclass(frozen=True, slots=True)
class _Compared:
    """What comparing a sighting with one kept snapshot brought."""

    changes: Sequence[Change]
    kept: str
    label: str


class Observing:
    """Turns sightings into snapshots, events and deliveries."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def observe(
        self,
        connection: AsyncConnection,
        sightings: Sequence[Sighting],
        cause: Cause,
        *,
        suspects: Sequence[str] = (),
        now: int,
    ) -> None:
        """Compare and store; suspects are read again soon."""
        seen = {sighting.subject: sighting for sighting in sightings}
        if not seen and not suspects:
            return
        found = await repository.watched(connection, [*seen, *suspects], now)
        await repository.make_due(connection, [watch.id for watch in found if watch.subject not in seen])
        await self._compare(connection, [watch for watch in found if _has_a_say(seen, watch)], seen, cause, now)

    async def _compare(
        self,
        connection: AsyncConnection,
        watched: Sequence[Watched],
        seen: Mapping[str, Sighting],
        cause: Cause,
        now: int,
    ) -> None:
        if not watched:
            return
        comparing = _Comparing(seen)
        compared = [(watch, comparing.compared(watch)) for watch in watched]
        await _note(connection, watched, seen, now)
        await repository.set_snapshots(
            connection, [_kept(watch, result) for watch, result in compared if _is_new(watch, result)]
        )
        changed = [(watch, result) for watch, result in compared if result.changes]
        if changed:
            await self._store_events(connection, changed, cause, now)

    async def _store_events(
        self, connection: AsyncConnection, changed: Sequence[tuple[Watched, _Compared]], cause: Cause, now: int
    ) -> None:
        """Events and their deliveries: held back in the cause's batch where they can join it, else at once."""
        joining = {
            watch.account_id
            for watch, _ in changed
            if cause.holds(now) and cause.account_id in (None, watch.account_id)
        }
        begun = await self._outbox.put(connection, cause.batch, joining, due_at=cause.held_until, now=now)
        joining.difference_update(begun)
        apart, others = new_batch(), {watch.account_id for watch, _ in changed} - joining
        await self._outbox.put(connection, apart, others, due_at=now, now=now)
        events = [
            NewEvent(
                account_id=watch.account_id,
                watch_id=watch.id,
                subject=watch.subject,
                label=_label(watch, result),
                summary=summary_of(result.changes),
                changes=result.changes,
                batch=cause.batch if watch.account_id in joining else apart,
                awaits_sync=not cause.is_recheck,
            )
            for watch, result in changed
        ]
        await repository.add_events(connection, events, now)


class _Comparing:
    """Comparisons of one read. Most watches on a subject keep the same snapshot, which is compared once."""

    def __init__(self, seen: Mapping[str, Sighting]) -> None:
        self._seen = seen
        self._known: dict[tuple[str, str | None], _Compared] = {}

    def compared(self, watch: Watched) -> _Compared:
        key = watch.subject, watch.snapshot
        if key not in self._known:
            self._known[key] = self._compare(*key)
        return self._known[key]

    def _compare(self, subject: str, kept: str | None) -> _Compared:
        now = snapshot_of(self._seen[subject])
        changes: Sequence[Change] = []
        if kept is not None:
            changes, now = compare(decoded(kept), now)
        return _Compared(changes, encoded(now), label_of(now, subject))


def _has_a_say(seen: Mapping[str, Sighting], watch: Watched) -> bool:
    """Whether a reading is compared with a watch: the first one, its baseline, is one in full."""
    sighting = seen.get(watch.subject)
    return sighting is not None and (sighting.in_full or watch.snapshot is not None)


async def _note(
    connection: AsyncConnection, watched: Sequence[Watched], seen: Mapping[str, Sighting], now: int
) -> None:
    """When the watches were read, and whether something is missing in it. A reading in part is no read of theirs."""
    whole, without = [], []
    for watch in watched:
        sighting = seen[watch.subject]
        if isinstance(sighting, DeviceSighting) and sighting.in_full and not sighting.certificates_read:
            without.append(watch.id)
        elif sighting.in_full:
            whole.append(watch.id)
    await repository.note_seen(connection, whole, now)
    await repository.note_seen_without(connection, without, NO_CERTIFICATES, now)


def _is_new(watch: Watched, result: _Compared) -> bool:
    return result.kept != watch.snapshot or _label(watch, result) != watch.label


def _kept(watch: Watched, result: _Compared) -> dict[str, object]:
    return {"watch_id": watch.id, "snapshot": result.kept, "label": _label(watch, result)}


def _label(watch: Watched, result: _Compared) -> str:
    return watch.label if watch.is_renamed else result.label
