"""Reads the whole list of an actor's devices into the copy, page by page, for people who ask for it.

The next request and the end of a list are decided as in the sweep of devices (`sweep_steps.py`). A walk is kept in
memory: after a restart it begins anew with the next reader. Only its end is stored.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from registerwatch.copy.actor_lists import ActorLists
from registerwatch.copy.records import RecordStore
from registerwatch.copy.sweeps import DeviceSweep
from registerwatch.ingest.sweeps import sweep_steps
from registerwatch.ingest.sweeps.sweep_steps import ListedPage, PageStep
from registerwatch.platform.clock import Clock
from registerwatch.register.identifiers import is_actor_of_devices
from registerwatch.register.models import DeviceReading
from registerwatch.register.observation import ReadContext
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.request_budget import SlotWait
from registerwatch.sources.source import DeviceListing, ListPage

MAX_WALKS = 50
"""Walks that are kept, the latest ones; each has the uuids of at most 100,000 records, 15 MB."""
MAX_WALK_SECONDS = 3600
"""A walk that has not continued for this long begins anew: the list may be another one by now."""
UNREADABLE_SECONDS = 6 * 3600
"""A list is not read again for this long for rows that could not be read."""
CHANGED = "The register's list of this actor's devices changed while it was read; it is read again."
UNREADABLE = "The register lists devices of this actor that cannot be read: {number}."


class PageResult(msgspec.Struct, frozen=True):
    """The result of a page: whether anything was news, whether the walk goes on, and why it ended without the whole
    list, or None.
    """

    changed: bool
    goes_on: bool
    problem: str | None = None


@dataclass(slots=True)
class _Walk:
    """A walk that is under way: its state as in the sweep, and the records that it has listed."""

    sweep: DeviceSweep
    moved_at: float
    uuids: set[str] = field(default_factory=set)


class DeviceListReader:
    """Reads lists of devices into one copy."""

    def __init__(self, listing: DeviceListing, copy: RecordStore, lists: ActorLists, clock: Clock) -> None:
        self._listing = listing
        self._copy = copy
        self._lists = lists
        self._clock = clock
        self._walks: OrderedDict[str, _Walk] = OrderedDict()
        self._unreadable: dict[str, float] = {}
        """When lists with unreadable rows were last read to the end."""

    def is_worth_reading(self, srn: str) -> bool:
        """Whether reading an actor's list can add what is missing: devices are listed under it, and the list had no
        unreadable rows a moment ago.
        """
        read_at = self._unreadable.get(srn)
        is_recent = read_at is not None and self._clock.monotonic() - read_at < UNREADABLE_SECONDS
        return is_actor_of_devices(srn) and not is_recent

    async def begin(self, srn: str, newest: Sequence[DeviceReading], total: int, at: int) -> bool:
        """Begin the list of an actor with its first page, which was stored. Returns whether it has more pages.

        `total` is the register's count, `at` the instant before its request (unix seconds).
        """
        if not is_actor_of_devices(srn):
            return False
        records = {(each.device.udi, each.device.uuid) for each in newest}
        if len(records) == total:
            self._walks.pop(srn, None)
            await self._lists.note_whole(srn, total, at)
            return False
        await self._lists.note_newest(srn, records, total, at)
        if (await self._lists.facts(srn)).are_whole(known=None):
            return False
        if srn not in self._walks and len(newest) == self._listing.page_size:
            page = ListPage(list(newest), total, is_last=False)
            self._store_step(srn, self._walk(srn), PageStep(0), page)
        return True

    async def read_page(
        self, srn: str, priority: RequestPriority, slot_wait: SlotWait | None, context: ReadContext
    ) -> PageResult:
        """Read and store the next page of an actor's list. After a `RegisterFailure` it continues there."""
        walk = self._walk(srn)
        step = sweep_steps.next_step(walk.sweep, (), self._listing.page_size)
        assert isinstance(step, PageStep), "a manufacturer that is not watched is listed by pages"
        since, asked_at = await self._copy.revision(), int(self._clock.now())
        page = await self._listing.page(srn, step.number, priority=priority, slot_wait=slot_wait)
        now = int(self._clock.now())
        changes = await self._copy.store(page.rows, read_at=asked_at, now=now, context=context, since=since)
        is_whole = self._store_step(srn, walk, step, page)
        if walk.sweep.walk_began_at is not None:
            return PageResult(bool(changes), goes_on=True)
        problem = await self._end(srn, walk, asked_at, is_whole=is_whole)
        return PageResult(bool(changes), goes_on=False, problem=problem)

    def _walk(self, srn: str) -> _Walk:
        """The actor's walk that is under way, else a new one."""
        now = self._clock.monotonic()
        while self._walks and now - next(iter(self._walks.values())).moved_at > MAX_WALK_SECONDS:
            self._walks.popitem(last=False)
        walk = self._walks.pop(srn, None)
        if walk is None:
            walk = _Walk(sweep_steps.begun(_unqueued(srn), self._listing.page_size, int(self._clock.now())), now)
        self._walks[srn] = walk
        if len(self._walks) > MAX_WALKS:
            self._walks.popitem(last=False)
        return walk

    def _store_step(self, srn: str, walk: _Walk, step: PageStep, page: ListPage[DeviceReading]) -> bool:
        """Continue a walk after a page. Returns whether it has ended and listed every record."""
        uuids = {each.device.uuid for each in page.rows}
        new = len(uuids - walk.uuids)
        walk.uuids |= uuids
        walk.moved_at = self._clock.monotonic()
        self._walks[srn] = walk
        self._walks.move_to_end(srn)
        walk.sweep = sweep_steps.with_unreadable(walk.sweep, page.unreadable)
        listed = ListedPage(page.total, page.is_last, listed=len(walk.uuids), new=new)
        walk.sweep, is_whole = sweep_steps.after_page(walk.sweep, step, listed, None)
        return is_whole

    async def _end(self, srn: str, walk: _Walk, asked_at: int, *, is_whole: bool) -> str | None:
        """Note the end of a walk. Returns why it did not bring the whole list, or None."""
        self._walks.pop(srn, None)
        number = len(walk.sweep.unreadable.split())
        if number:
            self._unreadable[srn] = self._clock.monotonic()
            return UNREADABLE.format(number=number)
        if not is_whole:
            return CHANGED
        await self._lists.note_whole(srn, len(walk.uuids), asked_at)
        return None


def _unqueued(srn: str) -> DeviceSweep:
    """The walk of a manufacturer that is not watched, outside of the queue."""
    return DeviceSweep(
        srn,
        lists_all=True,
        watched=0,
        turn_at=0,
        lease_holder=None,
        walk=0,
        walk_began_at=None,
        cursor="",
        total=None,
        is_steady=True,
        swept_at=None,
        complete_at=None,
        problem="",
    )
