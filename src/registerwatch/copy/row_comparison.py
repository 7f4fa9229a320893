"""Compares rows of a list with the stored records."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Row, bindparam, text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy import statements
from registerwatch.platform.clock import is_recent
from registerwatch.platform.structs import replace
from registerwatch.register.codes import REGULATIONS, segment
from registerwatch.register.models import (
    DOCUMENT_VERSION,
    Actor,
    Device,
    DeviceReading,
    fields_never_read,
    from_document,
    merge,
)

OF_MANUFACTURER = ("manufacturer_name", "manufacturer_status", "manufacturer_status_code")
"""Fields of the manufacturer that a row repeats. Where the row is proof, the device need not be read for them."""
AGAIN_SECONDS = 3600
"""Differences that a read in full did not settle are read again after this long: an actor whose own record has refuted
its rows, or a device whose detail is behind its row. Either may last for good.
"""


ActorValue = tuple[str, str]
"""A field of an actor, and its value."""


class StoredRecord(msgspec.Struct, frozen=True):
    """The stored state of a record."""

    device: Device
    is_latest: bool
    is_listed: bool
    """Whether the register listed it at the last read."""
    is_current: bool = True
    is_full: bool = True
    """Whether it was read in full at the stored version."""
    was_read: bool = False
    """Whether it was ever read in full."""
    read_at: int = 0
    """When it was last read in full, else stored."""
    document_version: int = DOCUMENT_VERSION


class StoredActor(msgspec.Struct, frozen=True):
    """The stored fields of an actor, and when they were read (unix seconds)."""

    actor: Actor
    read_at: int


async def stored_records(connection: AsyncConnection, udis: Sequence[str]) -> dict[str, dict[str, StoredRecord]]:
    """The stored records of these UDI-DIs, by UDI-DI and uuid."""
    found: dict[str, dict[str, StoredRecord]] = {udi: {} for udi in udis}
    if udis:
        for row in await connection.execute(_RECORDS, {"udis": list(udis)}):
            found[row.primary_di][row.uuid] = _record(row)
    return found


async def stored_actor(connection: AsyncConnection, srn: str) -> StoredActor | None:
    """The stored fields of an actor."""
    row = (await connection.execute(statements.ACTOR, {"srn": srn})).one_or_none()
    if row is None:
        return None
    actor = Actor(
        srn=row.srn,
        name=row.name,
        country=row.country,
        status_code=row.status_code,
        device_total=row.device_total,
        complete=bool(row.complete),
    )
    return StoredActor(actor, row.read_at)


def differs(reading: DeviceReading, of_udi: Mapping[str, StoredRecord]) -> bool:
    """Whether a row differs from the stored device, so that the device is to be read in full. An older version shows
    nothing, nor does another name of the manufacturer, which is not shown with the device, nor a field that the stored
    document is too old to have.
    """
    stored = of_udi.get(reading.device.uuid)
    if stored is None or not stored.is_listed or reading.latest_version != stored.is_latest:
        return True
    shown = merge(stored.device, reading)
    if shown is None:
        return False
    left_out = OF_MANUFACTURER if proves_itself(reading, of_udi) else OF_MANUFACTURER[:1]
    never_read = fields_never_read(stored.device, stored.document_version)
    kept = {name: getattr(stored.device, name) for name in (*left_out, *never_read)}
    return replace(shown, **kept) != stored.device


def proves_itself(reading: DeviceReading, of_udi: Mapping[str, StoredRecord]) -> bool:
    """Whether a row alone is proof for watches, as in `batch.py`: it is of the only record of its UDI-DI, one under a
    regulation that was read in full at the stored version.
    """
    listed = {uuid: each for uuid, each in of_udi.items() if each.is_listed}
    stored = listed.get(reading.device.uuid)
    return (
        stored is not None
        and len(listed) == 1
        and stored.is_current
        and stored.is_full
        and reading.latest_version
        and segment(stored.device.legislation_code) in REGULATIONS
    )


def wait_for_read(stored: Mapping[str, StoredRecord], now: int) -> bool:
    """Whether rows showed another version or record of a UDI-DI than was read in full, and it was not read since. A
    delisted record does not wait.
    """
    if not any(each.was_read for each in stored.values()):
        return False
    return any(
        each.is_listed and each.is_current and not each.is_full and not is_recent(each.read_at, now, AGAIN_SECONDS)
        for each in stored.values()
    )


def are_gone(readings: Sequence[DeviceReading], stored: Mapping[str, StoredRecord]) -> bool:
    """Whether all records of a UDI-DI were listed, and one is missing that counts as listed in the copy."""
    shown = {reading.device.uuid for reading in readings}
    return any(record.is_listed and uuid not in shown for uuid, record in stored.items())


def shown_of_actor(readings: Sequence[DeviceReading], total: int) -> frozenset[ActorValue]:
    """The values of a manufacturer that a page shows."""
    shown = {("device_total", str(total))}
    for each in readings:
        shown |= {("name", each.device.manufacturer_name), ("status", each.device.manufacturer_status_code)}
    return frozenset(value for value in shown if value[1])


def recorded_of_actor(stored: StoredActor | None) -> frozenset[ActorValue]:
    """The values in the actor's own record; none where it was never read."""
    if stored is None or not stored.actor.complete:
        return frozenset()
    actor = stored.actor
    return frozenset({("device_total", str(actor.device_total)), ("name", actor.name), ("status", actor.status_code)})


def _record(row: Row[Any]) -> StoredRecord:
    was_read = row.detail_version is not None
    return StoredRecord(
        from_document(row.document),
        bool(row.latest_version),
        row.delisted_at is None,
        bool(row.is_current),
        was_read and row.detail_version == row.version_number,
        was_read,
        max(row.read_at, row.watched_read_at or 0),
        row.document_version,
    )


_RECORDS = text(
    "SELECT primary_di, uuid, document, latest_version, delisted_at, is_current, detail_version, version_number,"
    " read_at, watched_read_at, document_version FROM devices WHERE primary_di IN :udis"
).bindparams(bindparam("udis", expanding=True))
