"""Observing: what a successful read saw, compared with every watch on its subject whose account is active.

It runs inside the transaction that stores the read in the copy, so that copy, snapshots, events and deliveries agree
whatever happens. A read costs what the watches on its subject cost; watches on other subjects cost nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.register.observer import Cause, Sighting, new_batch
from registerwatch.watches import repository
from registerwatch.watches.diff import Change, compare, summary_of
from registerwatch.watches.repository import NewEvent, Watched
from registerwatch.watches.snapshot import Snapshot, decoded, encoded, label_of, snapshot_of


class Outbox(Protocol):
    """Where deliveries are put, in the transaction that stores their events."""

    async def put(
        self, connection: AsyncConnection, batch: str, account_ids: Iterable[int], *, due_at: int, now: int
    ) -> None:
        """One delivery of the batch to each address of each account, unless it is there already."""


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
        self, connection: AsyncConnection, sightings: Sequence[Sighting], cause: Cause, *, began_at: int, now: int
    ) -> None:
        """Compare and store.

        A read that began before the end of the one that was compared last may have seen what was before: it is left,
        and what it saw first is told by the next one.
        """
        seen = {sighting.subject: sighting for sighting in sightings}
        if not seen:
            return
        found = await repository.watched(connection, list(seen), now)
        watched = [watch for watch in found if _is_comparable(watch, seen[watch.subject], began_at)]
        if not watched:
            return
        comparing = _Comparing({subject: snapshot_of(sighting) for subject, sighting in seen.items()})
        compared = [(watch, comparing.compared(watch)) for watch in watched]
        for in_full in (True, False):
            ids = [watch.id for watch in watched if seen[watch.subject].in_full is in_full]
            await repository.note_seen(connection, ids, now, in_full=in_full)
        await repository.set_snapshots(
            connection, [_kept(watch, result) for watch, result in compared if _is_new(watch, result)]
        )
        changed = [(watch, result) for watch, result in compared if result.changes]
        await self._store_events(connection, changed, cause, now)

    async def suspect(self, connection: AsyncConnection, subjects: Sequence[str]) -> None:
        """Let them be read next."""
        await repository.make_due(connection, subjects)

    async def _store_events(
        self, connection: AsyncConnection, changed: Sequence[tuple[Watched, _Compared]], cause: Cause, now: int
    ) -> None:
        apart = new_batch()  # for what does not wait for the end of a run
        events = []
        for watch, result in changed:
            joins = cause.holds(now) and cause.account_id in (None, watch.account_id)
            events.append(
                NewEvent(
                    account_id=watch.account_id,
                    watch_id=watch.id,
                    subject=watch.subject,
                    label=_label(watch, result),
                    summary=summary_of(result.changes),
                    changes=result.changes,
                    batch=cause.batch if joins else apart,
                    awaits_sync=not (cause.is_recheck or (joins and cause.account_id is not None)),
                )
            )
        await repository.add_events(connection, events, now)
        for batch, due_at in ((cause.batch, cause.held_until), (apart, now)):
            accounts = {event.account_id for event in events if event.batch == batch}
            if accounts:
                await self._outbox.put(connection, batch, sorted(accounts), due_at=due_at, now=now)


class _Comparing:
    """Comparisons of one read. Most watches on a subject keep the same snapshot, which is compared once."""

    def __init__(self, seen: dict[str, Snapshot]) -> None:
        self._seen = seen
        self._known: dict[tuple[str, str | None], _Compared] = {}

    def compared(self, watch: Watched) -> _Compared:
        key = watch.subject, watch.snapshot
        if key not in self._known:
            self._known[key] = self._compare(*key)
        return self._known[key]

    def _compare(self, subject: str, kept: str | None) -> _Compared:
        now = self._seen[subject]
        changes: Sequence[Change] = []
        if kept is not None:
            changes, now = compare(decoded(kept), now)
        return _Compared(changes, encoded(now), label_of(now, subject))


def _is_comparable(watch: Watched, sighting: Sighting, began_at: int) -> bool:
    """Whether a reading may be compared: it is no older than the last one, and the first one is in full."""
    if watch.snapshot is None and not sighting.in_full:
        return False
    return watch.compared_at is None or watch.compared_at <= began_at


def _is_new(watch: Watched, result: _Compared) -> bool:
    return result.kept != watch.snapshot or _label(watch, result) != watch.label


def _kept(watch: Watched, result: _Compared) -> dict[str, object]:
    return {"watch_id": watch.id, "snapshot": result.kept, "label": _label(watch, result)}


def _label(watch: Watched, result: _Compared) -> str:
    return watch.label if watch.is_renamed else result.label
