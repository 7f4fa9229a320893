"""Shares reads of Basic UDI-DI records: one read serves every device under the Basic UDI-DI.

A stored record is used instead of a request in two cases. First, this process requested it in a read that began after
the current read was asked for (`after`): so all reads of a sync share what one of them brings, and nothing from before
the sync. Second, it is at most `max_age` seconds old and younger than the device's own: so a record that is read again
brings something new, and devices under one Basic UDI-DI need one request in a round of the recheck.

A read for a reader uses nothing that a read for watches brought, unless that was news. Else a device would show when
another one under its Basic UDI-DI was read for its watchers.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from weakref import WeakValueDictionary

import msgspec

from registerwatch.copy.basic_records import BasicRecordStore
from registerwatch.platform.clock import Clock, is_recent
from registerwatch.register.basic_records import BasicRecord, SharedRecord, SharedSearch
from registerwatch.register.models import Certificate
from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.budget_parts import OF_WATCHES, RequestPriority

MAX_REMEMBERED = 20_000
"""Reads of records that this process remembers."""
TRIES = 3
OVERTAKEN = "The register's Basic UDI-DI record of this device was read by several at a time, who saw different ones."


class SharingRule(msgspec.Struct, frozen=True):
    """Decides which stored records a read uses. `number` is its own, `after` that of the last read before its request.

    `shown_at` is the instant of the record that the device shows (unix seconds), `searched_revision` the revision of
    the search that its certificates are from. A read for readers uses public instants instead, `searched_at` for that
    revision.
    """

    number: int
    after: int
    priority: RequestPriority
    max_age: float = 0.0
    shown_at: int = 0
    searched_revision: int = 0
    searched_at: int = 0

    @property
    def is_for_watches(self) -> bool:
        """Whether the read is for watches; where it brings nothing new, it is shown to no one else."""
        return self.priority in OF_WATCHES


class BasicRecordReads:
    """Reads of Basic UDI-DI records in one process."""

    def __init__(self, store: BasicRecordStore, clock: Clock) -> None:
        self.store, self.clock = store, clock
        self._locks: WeakValueDictionary[tuple[str, RequestPriority], asyncio.Lock] = WeakValueDictionary()
        self._numbers: OrderedDict[tuple[str, str, bool], int] = OrderedDict()
        """The number of the last read of a part of a record, by key, part, and whether readers may use it."""
        self.shared: dict[str, int] = {"record": 0, "search": 0}
        """How often a part was used without a request."""

    def of_read(self, rule: SharingRule) -> "DeviceBasicReads":
        """The share of one device's read."""
        return DeviceBasicReads(self, rule)

    def lock(self, key: str, priority: RequestPriority) -> asyncio.Lock:
        """A lock: reads of one kind request a record one after the other. They do not wait for other kinds."""
        lock = self._locks.get((key, priority))
        if lock is None:
            lock = self._locks[key, priority] = asyncio.Lock()
        return lock

    def note(self, key: str, part: str, number: int, *, is_shown: bool) -> None:
        """Note that a read has brought a part of a record. Readers may use it if it is public."""
        for is_for_watches in (True, False) if is_shown else (True,):
            self._numbers.pop((key, part, is_for_watches), None)
            self._numbers[key, part, is_for_watches] = number
        while len(self._numbers) > MAX_REMEMBERED:
            self._numbers.popitem(last=False)

    def number_of(self, key: str, part: str, *, is_for_watches: bool) -> int:
        """The last read of a part, among those that a read may use; 0 where this process knows none."""
        return self._numbers.get((key, part, is_for_watches), 0)


class DeviceBasicReads:
    """The Basic UDI-DI records that one read of a device shares. It is a `SharedReads`."""

    def __init__(self, reads: BasicRecordReads, rule: SharingRule) -> None:
        self._reads, self._rule = reads, rule
        self.brought: set[str] = set()
        """Keys that this read has stored."""

    async def record(self, key: str, ask: Callable[[], Awaitable[BasicRecord]]) -> SharedRecord:
        """The record with this key. Raises errors of `ask`, and `RegisterFailure` where others read it meanwhile."""
        store, rule = self._reads.store, self._rule
        async with self._reads.lock(key, rule.priority):
            for _ in range(TRIES):
                stored = await store.stored(key)
                if stored is not None and stored.is_of_this_version and self._is_new(key, "record", stored.record):
                    return stored.record
                since, read_at = await store.revision(), int(self._reads.clock.now())
                shared = await store.store_record(
                    key, await ask(), read_at=read_at, since=since, is_for_watches=rule.is_for_watches
                )
                if shared is not None:
                    self._note(key, "record", shared)
                    return shared
        raise RegisterFailure(OVERTAKEN, transient=True)

    async def search(
        self, key: str, ask: Callable[[], Awaitable[tuple[Certificate, ...] | None]]
    ) -> SharedSearch | None:
        """Certificates that the search for it finds; None where none was made."""
        store, rule = self._reads.store, self._rule
        async with self._reads.lock(key, rule.priority):
            for _ in range(TRIES):
                stored = await store.stored(key)
                if stored is not None and stored.search is not None and self._is_new(key, "search", stored.search):
                    return stored.search
                since, read_at = await store.revision(), int(self._reads.clock.now())
                found = await ask()
                if found is None:
                    return None
                shared = await store.store_search(
                    key, found, read_at=read_at, since=since, is_for_watches=rule.is_for_watches
                )
                if shared is not None:
                    self._note(key, "search", shared)
                    return shared
        return None

    def _note(self, key: str, part: str, shared: SharedRecord | SharedSearch) -> None:
        self.brought.add(key)
        self._reads.note(key, part, self._rule.number, is_shown=shared.shown_at == shared.read_at)

    def _is_new(self, key: str, part: str, stored: SharedRecord | SharedSearch) -> bool:
        """Whether a stored part is recent enough for this read."""
        number = self._reads.number_of(key, part, is_for_watches=self._rule.is_for_watches)
        is_good = number > self._rule.after or self._is_young(stored)
        self._reads.shared[part] += is_good
        return is_good

    def _is_young(self, stored: SharedRecord | SharedSearch) -> bool:
        rule = self._rule
        read_at = stored.read_at if rule.is_for_watches else stored.shown_at
        if not rule.max_age or read_at is None or not is_recent(read_at, self._reads.clock.now(), rule.max_age):
            return False
        if isinstance(stored, SharedRecord):
            return read_at > rule.shown_at
        return stored.revision > rule.searched_revision if rule.is_for_watches else read_at > rule.searched_at
