"""Lists of manufacturers' devices instead of searches: one request shows the records of many watched devices.

A list is used for a UDI-DI where it proves as much as a search would: it is whole, and shows exactly the records that
the copy has of the UDI-DI. Where it shows one more or one less, the UDI-DI is searched.
"""

import math
from collections.abc import Collection, Mapping, Sequence

import structlog

from registerwatch.copy import row_comparison
from registerwatch.copy.records import RecordStore
from registerwatch.copy.row_comparison import StoredRecord
from registerwatch.ingest.checks.check_rules import CheckedList
from registerwatch.ingest.checks.register_checks import ListingChecks
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.register.models import DeviceReading
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.request_budget import SlotWait
from registerwatch.sources.source import DeviceListing, ListedRecords

log = structlog.get_logger(__name__)

FEWEST = 2
"""The fewest UDI-DIs that are worth a list."""


class ListedReads:
    """Reads lists for devices that are then read in full."""

    def __init__(
        self, database: Database, copy: RecordStore, listing: DeviceListing, checks: ListingChecks, clock: Clock
    ) -> None:
        self._database, self._copy, self._listing = database, copy, listing
        self._checks, self._clock = checks, clock
        self._totals: dict[str, int] = {}
        """The number of devices in lists, by manufacturer: a list that proved too long is not begun again."""

    async def records(
        self, srn: str, udis: Sequence[str], *, priority: RequestPriority, slot_wait: SlotWait
    ) -> Mapping[str, ListedRecords]:
        """The records of those UDI-DIs of a manufacturer that its list proves; none where a list costs as many requests
        as searches, or cannot be read.
        """
        stored, total = await self._stored(srn, udis)
        if len(stored) < FEWEST or self._pages(total) >= len(stored):
            return {}
        if await self._checks.problem(CheckedList.DEVICES_OF_MANUFACTURER) is not None:
            return {}
        revision, read_at = await self._copy.revision(), int(self._clock.now())
        try:
            rows = await self._rows(srn, len(stored) - 1, priority, slot_wait)
        except RegisterFailure as failure:
            log.info("devices are searched, since they could not be listed", srn=srn, reason=failure.reason)
            return {}
        return {
            udi: ListedRecords(shown, read_at, revision)
            for udi, shown in _by_udi(rows, stored).items()
            if {each.device.uuid for each in shown} == _listed(stored[udi])
        }

    async def _stored(
        self, srn: str, udis: Sequence[str]
    ) -> tuple[Mapping[str, Mapping[str, StoredRecord]], int | None]:
        """The stored records of UDI-DIs that the register lists, and the manufacturer's number of devices."""
        async with self._database.reading() as connection:
            stored = await row_comparison.stored_records(connection, udis)
            actor = await row_comparison.stored_actor(connection, srn)
        total = self._totals.get(srn, actor.actor.device_total if actor is not None else None)
        return {udi: records for udi, records in stored.items() if _listed(records)}, total

    async def _rows(
        self, srn: str, most: int, priority: RequestPriority, slot_wait: SlotWait
    ) -> Collection[DeviceReading]:
        """Every row of a manufacturer's list; none where it has more than `most` pages, or was not seen whole."""
        rows: dict[str, DeviceReading] = {}
        for number in range(most):
            page = await self._listing.page(srn, number, priority=priority, slot_wait=slot_wait)
            self._totals[srn] = page.total
            rows |= {each.device.uuid: each for each in page.rows}
            if page.unreadable or self._pages(page.total) > most:
                return ()
            if page.is_last:
                return rows.values() if len(rows) == page.total else ()
        return ()

    def _pages(self, total: int | None) -> int:
        return max(1, math.ceil((total or 0) / self._listing.page_size))


def _by_udi(rows: Collection[DeviceReading], udis: Collection[str]) -> Mapping[str, Sequence[DeviceReading]]:
    """The rows of some UDI-DIs; a UDI-DI without a row is left out."""
    found: dict[str, list[DeviceReading]] = {}
    for each in rows:
        if each.device.udi in udis:
            found.setdefault(each.device.udi, []).append(each)
    return found


def _listed(records: Mapping[str, StoredRecord]) -> set[str]:
    """The records of a UDI-DI that the register listed at the last read."""
    return {uuid for uuid, record in records.items() if record.is_listed}
