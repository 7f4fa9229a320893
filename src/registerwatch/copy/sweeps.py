"""The queue of manufacturers whose devices are swept, and its SQL. Instants are unix seconds.

Functions run in the transaction of the given connection. A manufacturer stays without runs when it is not watched
itself and has no devices that active accounts watch.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Select, and_, case, delete, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.tables import device_sweeps, portfolio_devices, portfolio_news
from registerwatch.platform.clock import CLOCK_DIFFERENCE_SECONDS, Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.leases import NO_LEASE, Lease, is_free, lease_values, new_holder

RETRY_SECONDS = 120
"""Time from a failed run of a manufacturer to its next one."""
_CHUNK = 1_000


class DeviceSweep(msgspec.Struct, frozen=True):
    """A swept manufacturer: what is swept of it, and the state of its walk. `copy/tables.py` explains the columns."""

    srn: str
    lists_all: bool
    watched: int
    turn_at: int
    lease_holder: str | None
    walk: int
    walk_began_at: int | None
    cursor: str
    total: int | None
    is_steady: bool
    swept_at: int | None
    complete_at: int | None
    problem: str
    doubted_at: int | None = None
    unreadable: str = ""


class SweptManufacturer(msgspec.Struct, frozen=True):
    """A manufacturer that belongs into the queue.

    `lists_all` says that it is watched itself, so that all its devices are listed; `watched` is the number of its
    UDI-DIs that are watched.
    """

    srn: str
    lists_all: bool
    watched: int


class QueueChanges(msgspec.Struct, frozen=True):
    """The differences between the queue and its target; changed ones with whether they are due at once."""

    added: Sequence[SweptManufacturer]
    changed: Sequence[tuple[SweptManufacturer, bool]]
    removed: Sequence[str]

    @property
    def are_some(self) -> bool:
        """Whether there is anything to change."""
        return bool(self.added or self.changed or self.removed)


_COLUMNS = [device_sweeps.c[name] for name in DeviceSweep.__struct_fields__]
_MEMBERSHIP = device_sweeps.c.srn, device_sweeps.c.lists_all, device_sweeps.c.watched
_WALK = "walk", "walk_began_at", "cursor", "total", "is_steady", "unreadable"
_PROGRESS = *_WALK, "swept_at", "complete_at", "doubted_at", "problem"
_IS_SWEPT = or_(device_sweeps.c.lists_all, device_sweeps.c.watched > 0)


async def has_due(connection: AsyncConnection, now: int, *, interval: int, at_once_only: bool) -> bool:
    """Whether a manufacturer may have a run now."""
    return (await connection.execute(_due(now, interval, at_once_only=at_once_only))).first() is not None


async def claim(connection: AsyncConnection, now: int, *, interval: int, at_once_only: bool) -> DeviceSweep | None:
    """The manufacturer that has waited longest for its run, leased, with `turn_at` of its last run; None where none is
    due. `at_once_only` leaves out those that only the interval makes due.
    """
    found = _due(now, interval, at_once_only=at_once_only).with_for_update(skip_locked=True)
    row = (await connection.execute(found)).mappings().one_or_none()
    if row is None:
        return None
    holder = new_holder()
    leased = update(device_sweeps).where(device_sweeps.c.srn == row["srn"])
    await connection.execute(leased.values(turn_at=now, **lease_values(holder, now)))
    return DeviceSweep(**{**row, "lease_holder": holder})


def lease_of(database: Database, clock: Clock, sweep: DeviceSweep) -> Lease:
    """The lease of a claimed manufacturer. One that is no longer watched is gone."""
    return Lease(database, clock, device_sweeps, *_own(sweep))


async def keep(connection: AsyncConnection, sweep: DeviceSweep) -> None:
    """Store the state of a walk."""
    progress = {name: getattr(sweep, name) for name in _PROGRESS}
    await connection.execute(update(device_sweeps).where(*_own(sweep)).values(progress))


async def release(connection: AsyncConnection, sweep: DeviceSweep, *, has_waited: bool) -> None:
    """End a run. One that `has_waited` in vain keeps the manufacturer's position in the queue."""
    turn_at = case((device_sweeps.c.turn_at == 0, 0), else_=sweep.turn_at) if has_waited else device_sweeps.c.turn_at
    values = {**NO_LEASE, "problem": sweep.problem, "turn_at": turn_at}
    await connection.execute(update(device_sweeps).where(*_own(sweep)).values(values))


async def queue_changes(connection: AsyncConnection, wanted: Sequence[SweptManufacturer]) -> QueueChanges:
    """The changes that bring the queue to its target. A manufacturer that is now watched itself is due at once, where
    its devices were never listed completely.
    """
    rows = (await connection.execute(select(*_MEMBERSHIP, device_sweeps.c.complete_at))).all()
    present = {row.srn: SweptManufacturer(row.srn, row.lists_all, row.watched) for row in rows}
    unlisted = {row.srn for row in rows if row.complete_at is None and not row.lists_all}
    in_order = sorted(wanted, key=lambda each: each.srn)
    return QueueChanges(
        added=[each for each in in_order if each.srn not in present],
        changed=[
            (each, each.lists_all and each.srn in unlisted)
            for each in in_order
            if each.srn in present and each != present[each.srn]
        ],
        removed=sorted(present.keys() - {each.srn for each in wanted}),
    )


async def change_queue(connection: AsyncConnection, changes: QueueChanges, now: int) -> None:
    """Store changes of the queue. A manufacturer that is no longer watched is deleted with its listed devices."""
    if changes.added:
        added = (postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert)(device_sweeps)
        await connection.execute(added.on_conflict_do_nothing(), [_row(each, now) for each in changes.added])
    touched = sorted([*(each.srn for each, _ in changes.changed), *changes.removed])
    for start in range(0, len(touched), _CHUNK):
        await _lock(connection, device_sweeps.c.srn.in_(touched[start : start + _CHUNK]))
    for each, is_due in changes.changed:
        due = {"turn_at": 0, "added_at": now, "doubted_at": None} if is_due else {}
        values = {"lists_all": each.lists_all, "watched": each.watched, **due}
        await connection.execute(update(device_sweeps).where(device_sweeps.c.srn == each.srn).values(values))
    for start in range(0, len(changes.removed), _CHUNK):
        for table in (device_sweeps, portfolio_devices, portfolio_news):
            gone = table.c.srn.in_(changes.removed[start : start + _CHUNK])
            await connection.execute(delete(table).where(gone))


async def make_all_due(connection: AsyncConnection) -> int:
    """Make every manufacturer due at once. Returns their number."""
    await _lock(connection, _IS_SWEPT)
    made = await connection.execute(update(device_sweeps).where(_IS_SWEPT).values(turn_at=0, problem=""))
    return made.rowcount


async def _lock(connection: AsyncConnection, which: ColumnElement[bool]) -> None:
    """Lock rows in the order of their SRNs, so that two that change many rows at a time do not deadlock."""
    await connection.execute(select(device_sweeps.c.srn).where(which).order_by(device_sweeps.c.srn).with_for_update())


async def count_waiting(connection: AsyncConnection) -> int:
    """How many manufacturers are due at once, or are in the middle of a walk."""
    waits = or_(device_sweeps.c.turn_at == 0, device_sweeps.c.walk_began_at.is_not(None))
    found = select(func.count()).where(_IS_SWEPT, waits, device_sweeps.c.problem == "")
    return (await connection.execute(found)).scalar_one()


def _due(now: int, interval: int, *, at_once_only: bool) -> Select[Any]:
    """The manufacturer of the next run: the one that has waited longest.

    One that is due at once waits as if it had been listed an interval before its last walk, or before it was added. So
    watching and unwatching never brings a manufacturer ahead of those that wait.
    """
    table = device_sweeps.c
    at_once = func.coalesce(table.swept_at, table.added_at) - interval
    waits_since = case((table.turn_at == 0, at_once), else_=table.turn_at)
    is_due = _is_due(now, None if at_once_only else interval)
    found = select(*_COLUMNS).where(_IS_SWEPT, is_free(device_sweeps, now), is_due)
    return found.order_by(waits_since, table.srn).limit(1)


def _is_due(now: int, interval: int | None) -> ColumnElement[bool]:
    """Whether a manufacturer may have a run: made due at once, in the middle of a walk, or not swept for the interval.
    After a failed run the next one comes some time later.
    """
    table = device_sweeps.c
    goes_on = table.walk_began_at.is_not(None)
    waited = (
        goes_on if interval is None else or_(goes_on, table.swept_at.is_(None), _is_past(table.swept_at, now, interval))
    )
    return or_(table.turn_at == 0, and_(waited, or_(table.problem == "", _is_past(table.turn_at, now, RETRY_SECONDS))))


def _is_past(instant: ColumnElement[Any], now: int, seconds: int) -> ColumnElement[bool]:
    return or_(instant <= now - seconds, instant > now + CLOCK_DIFFERENCE_SECONDS)


def _own(sweep: DeviceSweep) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return device_sweeps.c.srn == sweep.srn, device_sweeps.c.lease_holder == sweep.lease_holder


def _row(new: SweptManufacturer, now: int) -> dict[str, Any]:
    walk = {"walk": 0, "cursor": "", "is_steady": True, "problem": ""}
    wanted = {"srn": new.srn, "lists_all": new.lists_all, "watched": new.watched}
    return {**wanted, **walk, "added_at": now, "turn_at": 0, "leased_until": 0}
