"""Compares what a successful read found with every watch on its subject whose account is active.

It runs inside the transaction that stores the read in the copy, so that copy, snapshots, events and deliveries always
agree. Its cost depends on the watches on the subject alone; watches on other subjects cost nothing.
"""

from collections.abc import Mapping, Sequence

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.certificates.other_records import with_others
from registerwatch.register.observation import DeviceObservation, Observation, ReadContext
from registerwatch.watches import repository
from registerwatch.watches.diff import FieldChange, compare
from registerwatch.watches.events.causes import cause_of
from registerwatch.watches.events.event_publisher import EventPublisher, FoundEvent
from registerwatch.watches.models import NO_CERTIFICATES, NO_SEARCH
from registerwatch.watches.options import options_of
from registerwatch.watches.outbox import Outbox
from registerwatch.watches.reading import read_failures
from registerwatch.watches.repository import Watched
from registerwatch.watches.snapshot import decoded, encoded, label_of, snapshot_of


class _Compared(msgspec.Struct, frozen=True):
    """The result of comparing an observation with one kept snapshot."""

    changes: Sequence[FieldChange]
    kept: str
    label: str
    manufacturer_srn: str
    basic_udi: str


class WatchObserver:
    """Makes snapshots, events and deliveries from observations."""

    def __init__(self, outbox: Outbox) -> None:
        self._publisher = EventPublisher(outbox)

    async def observe(
        self,
        connection: AsyncConnection,
        observations: Sequence[Observation],
        context: ReadContext,
        *,
        unconfirmed: Sequence[str] = (),
        listed_again: Sequence[str] = (),
        now: int,
        read_at: int,
    ) -> None:
        """Compare and store. Watches on `unconfirmed` subjects become due; those on the ones of them that are
        `listed_again` no longer say that the register does not have their subject.
        """
        seen = {observation.subject: observation for observation in observations}
        if not seen and not unconfirmed:
            return
        found = await repository.watched(connection, [*seen, *unconfirmed], now)
        may_differ = set(unconfirmed)
        await repository.make_due(connection, [watch.id for watch in found if watch.subject in may_differ])
        again = set(listed_again)
        await _end_denials(connection, [watch.id for watch in found if watch.is_denied and watch.subject in again], now)
        comparable = [watch for watch in found if _is_comparable(seen, watch)]
        watched = {watch.subject for watch in comparable}
        seen |= {each.subject: each for each in await with_others(connection, [seen[each] for each in watched])}
        await _store_read(connection, comparable, seen, context, now, read_at)
        await self._compare(connection, comparable, seen, context, now, read_at)

    async def _compare(
        self,
        connection: AsyncConnection,
        watched: Sequence[Watched],
        seen: Mapping[str, Observation],
        context: ReadContext,
        now: int,
        read_at: int,
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
            await self._store_events(connection, changed, context, now, read_at)

    async def _store_events(
        self,
        connection: AsyncConnection,
        changed: Sequence[tuple[Watched, _Compared]],
        context: ReadContext,
        now: int,
        read_at: int,
    ) -> None:
        """Store events, with the instant before the first request that showed their changes."""
        found = [
            FoundEvent(
                account_id=watch.account_id,
                watch_id=watch.id,
                subject=watch.subject,
                label=_label(watch, result),
                changes=result.changes,
                options=options_of(watch.options),
                manufacturer_srn=result.manufacturer_srn or watch.manufacturer_srn,
                cause=cause_of(context.batch, result.manufacturer_srn, result.changes),
                visible_at=min(read_at, context.visible_at.get(watch.subject, read_at)),
            )
            for watch, result in changed
        ]
        await self._publisher.publish(connection, found, context, now)


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
        basic_udi = _basic_udi(self._seen[subject])
        return _Compared(changes, encoded(now), label_of(now, subject), now.manufacturer_srn, basic_udi)


def _is_comparable(seen: Mapping[str, Observation], watch: Watched) -> bool:
    """Whether an observation is compared with a watch, whose baseline must be a read in full."""
    observation = seen.get(watch.subject)
    return observation is not None and (observation.in_full or watch.snapshot is not None)


async def _end_denials(connection: AsyncConnection, watch_ids: Sequence[int], now: int) -> None:
    await repository.note_listed(connection, watch_ids, now)
    await read_failures.end_denials(connection, watch_ids, now)


async def _store_read(
    connection: AsyncConnection,
    watched: Sequence[Watched],
    seen: Mapping[str, Observation],
    context: ReadContext,
    now: int,
    read_at: int,
) -> None:
    """Store when the watches were read, and which were read without certificates or without the certificate search.

    A read in part does not count. Nor does a read without certificates, unless it was for watches or shows that the
    register has what it did not have. A watch was read when the oldest part of the device was.
    """
    whole: dict[int, list[Watched]] = {}
    unsearched: dict[int, list[Watched]] = {}
    without = []
    for watch in watched:
        observation = seen[watch.subject]
        if isinstance(observation, DeviceObservation) and observation.in_full and not observation.certificates_read:
            without.append(watch)
        elif observation.in_full:
            oldest_at = observation.oldest_at if isinstance(observation, DeviceObservation) else None
            of_all = unsearched if _lacks_search(watch, observation) else whole
            of_all.setdefault(read_at if oldest_at is None else min(read_at, oldest_at), []).append(watch)
    for seen_at, watches in sorted(unsearched.items()):
        lacking = [watch.id for watch in watches]
        await repository.note_seen_without(connection, lacking, NO_SEARCH, now, seen_at)
        await read_failures.note(connection, lacking, NO_SEARCH, now)
    for seen_at, watches in sorted(whole.items()):
        await repository.note_seen(connection, [watch.id for watch in watches], now, seen_at)
    recovered = [watch.id for watches in whole.values() for watch in watches if watch.failing_since is not None]
    await read_failures.end(connection, recovered, now)
    lacking = [watch.id for watch in without if context.is_for_watches or watch.is_denied]
    await repository.note_seen_without(connection, lacking, NO_CERTIFICATES, now, read_at)
    await read_failures.note(connection, lacking, NO_CERTIFICATES, now)


def _lacks_search(watch: Watched, observation: Observation) -> bool:
    """Whether the snapshot has the certificate search, the read does not, and the scopes of the manufacturer's
    certificates do not replace it.
    """
    if not isinstance(observation, DeviceObservation) or observation.searched or watch.snapshot is None:
        return False
    has_others = observation.scoped and all(each.confirmed for each in observation.device.certs)
    return not has_others and decoded(watch.snapshot).searched


def _is_new(watch: Watched, result: _Compared) -> bool:
    kept, now = _kept(watch, result), (watch.snapshot, watch.label, watch.manufacturer_srn, watch.basic_udi)
    return (kept["snapshot"], kept["label"], kept["manufacturer_srn"], kept["basic_udi"]) != now


def _kept(watch: Watched, result: _Compared) -> dict[str, object]:
    """The columns to store of a watch. A manufacturer or Basic UDI-DI that a read does not give stays."""
    return {
        "watch_id": watch.id,
        "snapshot": result.kept,
        "label": _label(watch, result),
        "manufacturer_srn": result.manufacturer_srn or watch.manufacturer_srn,
        "basic_udi": result.basic_udi or watch.basic_udi,
    }


def _basic_udi(observation: Observation) -> str:
    return observation.device.basic_udi if isinstance(observation, DeviceObservation) else ""


def _label(watch: Watched, result: _Compared) -> str:
    return watch.label if watch.is_renamed else result.label
