"""Progress of the sweeps, from their tables, for `/status`, `/health` and `/metrics`. Instants are unix seconds."""

from collections.abc import Mapping

import msgspec
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.walks import WalkRow, walks

BEHIND_SECONDS = 1_800
"""A manufacturer whose devices were not listed for this long is behind."""


class DeviceSweepState(msgspec.Struct, frozen=True):
    """The progress of the sweep of devices.

    `manufacturers` are swept; of these `unswept` were never listed to the end, `behind` not within half an hour, and
    the last try of `failing` ones failed, or showed a list that is not as it should be.
    `oldest_at` is the earliest instant at which a manufacturer was last listed, or added if it never was; None where
    none is swept.
    """

    manufacturers: int
    unswept: int
    behind: int
    failing: int
    oldest_at: int | None


class SweepState(msgspec.Struct, frozen=True):
    """The sweep of devices, and the last walks of lists by their names: `certificates`, `refusals`, …"""

    devices: DeviceSweepState
    walks: Mapping[str, WalkRow]


async def sweep_state(connection: AsyncConnection, now: int) -> SweepState:
    """The progress of the sweeps."""
    devices = (await connection.execute(_DEVICES, {"behind": now - BEHIND_SECONDS})).one()
    return SweepState(DeviceSweepState(*devices), await walks(connection))


_DEVICES = text(
    "SELECT count(*), count(*) - count(swept_at),"
    " count(CASE WHEN COALESCE(swept_at, added_at) <= :behind THEN 1 END),"
    " count(CASE WHEN problem <> '' THEN 1 END),"
    " min(COALESCE(swept_at, added_at))"
    " FROM device_sweeps WHERE lists_all OR watched > 0"
)
