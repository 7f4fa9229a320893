"""Lists the stored subjects that the register lists, in parts of a bounded size, in the order of keys, in batches."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
from sqlalchemy import Integer, Select, bindparam, select

from registerwatch.copy.tables import actors, devices
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.statements import PreparedSelect

PART_SIZE = 50_000
BATCH_SIZE = 500
"""Rows that are read at once: some 2 ms of the processor."""


class ListedDevice(msgspec.Struct, frozen=True, gc=False):
    """A device in a list. `updated` is its last change in the register, null when unknown."""

    udi: str
    updated: str | None = None


class ListedParts:
    """Devices and actors of the copy, each in one part.

    A part of devices is a range of row ids, so a device stays in its part for ever. A part of actors begins
    with an SRN.
    """

    def __init__(self, database: Database, *, part_size: int = PART_SIZE, batch_size: int = BATCH_SIZE) -> None:
        self._database = database
        self._part_size = part_size
        self._batch_size = min(batch_size, part_size)

    async def device_parts(self) -> list[int]:
        """Numbers of the parts that have a device."""
        parts: list[int] = []
        while found := await self._first(_FIRST_DEVICE, after=parts[-1] * self._part_size if parts else 0):
            parts.append((found - 1) // self._part_size + 1)
        return parts

    async def devices(self, part: int) -> AsyncIterator[list[ListedDevice]]:
        """The devices of a part, in batches."""
        last = part * self._part_size
        after = last - self._part_size
        while rows := await self._rows(_DEVICES, self._batch_size, after=after, last=last):
            yield [_listed.decode(document) for _, document in rows]
            after = rows[-1][0]

    async def actor_parts(self) -> list[str]:
        """The SRN that each part of actors begins with."""
        parts: list[str] = []
        found = await self._first(_ACTOR_AT, first="")
        while found:
            parts.append(found)
            found = await self._first(_ACTOR_AT, first=found, skipped=self._part_size)
        return parts

    async def actors(self, first: str) -> AsyncIterator[list[str]]:
        """The SRNs of the part that begins with this one, in batches."""
        left, after = self._part_size, ""
        while left and (rows := await self._rows(_ACTORS, min(self._batch_size, left), first=first, after=after)):
            yield [srn for (srn,) in rows]
            left, after = left - len(rows), rows[-1][0]

    async def _rows(self, statement: PreparedSelect, most: int, **values: object) -> Sequence[tuple[Any, ...]]:
        return await self._database.rows(statement, most=most, skipped=0, **values)

    async def _first(self, statement: PreparedSelect, *, skipped: int = 0, **values: object) -> Any:
        rows = await self._database.rows(statement, most=1, skipped=skipped, **values)
        return rows[0][0] if rows else None


_listed = msgspec.json.Decoder(ListedDevice)


def _page_of(statement: Select[*tuple[Any, ...]]) -> PreparedSelect:
    """A page of the rows; the offset is always given, since SQLite's dialect would add one that has no name."""
    most, skipped = bindparam("most", type_=Integer), bindparam("skipped", type_=Integer)
    return PreparedSelect(statement.limit(most).offset(skipped))


_LISTED = devices.c.is_current & devices.c.delisted_at.is_(None)
_DEVICE = select(devices.c.id).where(devices.c.id > bindparam("after"), _LISTED).order_by(devices.c.id)
_FIRST_DEVICE = _page_of(_DEVICE)
_DEVICES = _page_of(_DEVICE.add_columns(devices.c.document).where(devices.c.id <= bindparam("last")))
_FROM = select(actors.c.srn).where(actors.c.srn >= bindparam("first")).order_by(actors.c.srn)
_ACTOR_AT = _page_of(_FROM)
_ACTORS = _page_of(_FROM.where(actors.c.srn > bindparam("after")))
