"""Refreshes single subjects: has one read and stored (`subject_reads.py`), and remembers failures.

Simultaneous requests for the same subject share one read. Outcomes without news (not found, could not be read) are
remembered briefly, so that a page that is reloaded does not cost a request each time.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec
import structlog

from registerwatch.errors import RegisterwatchError
from registerwatch.ingest.basic_reads import SharingRule
from registerwatch.ingest.subject_reads import (
    MAX_PROPAGATED,
    Refreshed,
    RefreshResult,
    SubjectReads,
    SubjectRequest,
    is_list,
    list_of,
)
from registerwatch.platform.clock import Clock
from registerwatch.register.identifiers import kind
from registerwatch.register.observation import ReadContext
from registerwatch.register.outcomes import NotFound, ReadFailed
from registerwatch.sources.budget_parts import OF_READERS, OF_WATCHES, RequestPriority
from registerwatch.sources.request_budget import SlotWait
from registerwatch.sources.requester_queue import Requester
from registerwatch.sources.source import ListedRecords

log = structlog.get_logger(__name__)

NOT_STORED = "What the register said could not be stored; try again in a moment."
"""The log has the cause: it names hosts and files."""
NO_LONGER_LISTED = "The register no longer lists this record; what is shown was read before."
OVERDUE = "The register was not asked for all of it: this service's requests for the minute are used up."
MEMORY_SECONDS = 60.0
READ_THROUGH_SECONDS = 15.0
CLOSING_SECONDS = 2.0
MAX_REMEMBERED = 10_000
MAX_BACKGROUND_REFRESHES = 50
"""Background refreshes that may wait; more are dropped, the next reader asks again. Reads that a person waits for do
not count.
"""
MAX_BACKGROUND_REFRESHES_OF_CLIENT = 10
"""Background refreshes of one client that may wait."""
MAX_BACKGROUND_LISTS, MAX_BACKGROUND_LISTS_OF_CLIENT = 10, 2
"""The same bounds for lists of devices, which take a request for each page."""
DROPPED = "The register was not asked: too many other records wait to be read; ask again in a minute."


BeforeRead = Callable[[], Awaitable[None]]
"""Awaited before the register is asked for a client; raises `RateLimited` for one that has asked too often."""

ClientOf = Callable[[], str]
"""Returns the network of the client that a read is for; called only where the register is read."""


class ReadLimits(msgspec.Struct, frozen=True):
    """Limits of a read: how old its parts may be for the client, and how long it waits for the request budget.

    A read that is under way is shared if it began after the read number `after` (`Refresher.reads_begun`), where that
    is given. A Basic UDI-DI record of another read is used if that read did, or if it is at most `max_shared_age`
    seconds old; `basic_reads.py` has the whole rule. A new read waits for its first slot of the budget until
    `start_until` (monotonic clock); None: for as long as a read may take.
    `requester` is the account, or the network of the client, that waits for it: requesters alternate.
    """

    after: int | None = None
    start_until: float | None = None
    requester: Requester | None = None
    max_shared_age: float = 0.0

    def slot_wait(self) -> SlotWait:
        """The wait of a read for its slots, and its requester."""
        if self.start_until is None:
            return SlotWait.as_long_as_a_read(self.requester)
        return SlotWait.until(self.start_until, self.requester)


class _Running(msgspec.Struct, frozen=True):
    task: "asyncio.Task[RefreshResult]"
    priority: RequestPriority
    number: int
    limits: ReadLimits


class Refresher:
    """Reads single subjects from the register into the copy: devices, actors, lists of devices of actors."""

    def __init__(self, reads: SubjectReads, clock: Clock, *, max_shared_age: float = 0.0) -> None:
        self._reads = reads
        self._clock = clock
        self._max_shared_age = max_shared_age
        """Seconds: the greatest age of another read's Basic UDI-DI record that readers may be shown."""
        self._running: dict[str, _Running] = {}
        self._put_off: dict[str, ReadLimits] = {}
        """Background refreshes that begin when the current read for a watch has ended."""
        self._remembered: OrderedDict[str, tuple[float, NotFound | ReadFailed]] = OrderedDict()
        """Failures of reads for readers. Those of reads for watches are not kept: they would show these reads."""
        self._found_at: OrderedDict[str, float] = OrderedDict()
        """When readers' reads of the last minute found their subject."""
        self._is_closed = False
        self.reads_begun = 0
        """The number of the last read that began."""
        self.results: dict[str, int] = {"found": 0, "not_found": 0, "unreadable": 0}
        self.dropped = 0
        """Background refreshes that were dropped."""

    async def refresh(
        self,
        subject: str,
        *,
        priority: RequestPriority = RequestPriority.READER,
        context: ReadContext | None = None,
        limits: ReadLimits | None = None,
        listed: ListedRecords | None = None,
    ) -> RefreshResult:
        """Read a UDI-DI or an SRN from the register now, or share the read that is under way. The records of a UDI-DI
        are not searched where they were `listed` a moment ago.

        A read under way for a later kind is cancelled, and its waiters share this one: so reading a watched subject
        never slows its read for a watch. A reader never shares a read for a watch, which stays hidden from them, but
        has the subject read afterwards. A read that has begun and gets no slot for its next request within `limits`
        goes on by itself; this caller gets a failure. So does a caller for whom failed reads of others took until
        then.
        """
        limits = limits or ReadLimits()
        slot_wait = limits.slot_wait()
        while True:
            running = self._running.get(subject)
            if running is not None and priority.is_before(running.priority):
                running.task.cancel()
                if running.priority is RequestPriority.REFRESH and priority in OF_WATCHES:
                    self._put_off[subject] = running.limits
                running = None
            task = (
                self._start(subject, priority, context, limits, slot_wait, listed) if running is None else running.task
            )
            is_overdue = await _ended_or_overdue(task, slot_wait if running is None else None)
            if is_overdue:
                return ReadFailed(OVERDUE, is_asked=False)
            if task.cancelled():
                if self._is_closed:
                    raise asyncio.CancelledError
            elif running is None or _is_shared(running, task.result(), priority, limits):
                return task.result()
            if limits.start_until is not None and self._clock.monotonic() > limits.start_until:
                return ReadFailed(OVERDUE, is_asked=False)

    async def read_through(
        self, subject: str, before_read: BeforeRead | None = None, client: ClientOf | None = None
    ) -> NotFound | ReadFailed | None:
        """Read a subject that the copy lacks, in bounded time; None when the copy has it now.

        A subject that was asked for in vain a moment ago is not read again.
        """
        remembered = self.remembered(subject)
        if remembered is not None:
            return remembered
        if before_read is not None:
            await before_read()
        try:
            async with asyncio.timeout(READ_THROUGH_SECONDS):
                result = await self.refresh(subject, limits=limits_for(client, self._max_shared_age))
        except TimeoutError:
            return ReadFailed("The register is taking long to answer; try again in a moment.")
        return None if isinstance(result, Refreshed) else result

    def refresh_in_background(self, subject: str, client: ClientOf | None = None) -> bool:
        """Refresh without waiting; do nothing when it was read, or failed, within the last minute.

        False where too much is waiting already: then it is dropped.
        """
        return self._begin_behind(subject, limits_for(client, self._max_shared_age))

    def _begin_behind(self, subject: str, limits: ReadLimits) -> bool:
        running = self._running.get(subject)
        is_under_way = running is not None and running.priority in OF_READERS
        if is_under_way or self.remembered(subject) is not None or self._is_found(subject):
            return True
        if self._is_closed or not self._has_slot(subject, limits.requester):
            self.dropped += 1
            return False
        if running is None:
            self._start(subject, RequestPriority.REFRESH, None, limits, limits.slot_wait())
        else:
            self._put_off.setdefault(subject, limits)
        return True

    def _has_slot(self, subject: str, requester: Requester | None) -> bool:
        """Whether one more background refresh of this client may wait. Lists have slots of their own."""
        most, most_of_client = (
            (MAX_BACKGROUND_LISTS, MAX_BACKGROUND_LISTS_OF_CLIENT)
            if is_list(subject)
            else (MAX_BACKGROUND_REFRESHES, MAX_BACKGROUND_REFRESHES_OF_CLIENT)
        )
        waiting = [
            each.limits.requester
            for other, each in self._running.items()
            if each.priority is RequestPriority.REFRESH and is_list(other) == is_list(subject)
        ]
        return len(waiting) < most and (requester is None or waiting.count(requester) < most_of_client)

    def read_list_in_background(self, srn: str, client: ClientOf | None = None) -> bool:
        """Read missing pages of an actor's list of devices without waiting; nothing where none can be read."""
        if not self._reads.is_worth_reading(srn):
            return True
        return self.refresh_in_background(list_of(srn), client)

    def list_problem(self, srn: str) -> str | None:
        """Why the last try to list an actor's devices failed; None where it did not or there was none."""
        return self.failure(srn) or self.failure(list_of(srn))

    def remembered(self, subject: str) -> NotFound | ReadFailed | None:
        """The result of the last read, if it brought nothing and is at most a minute old."""
        if not self._remembered:
            return None
        entry = self._remembered.get(subject)
        return entry[1] if entry is not None and entry[0] > self._clock.monotonic() - MEMORY_SECONDS else None

    def failure(self, subject: str) -> str | None:
        """Why the last try to read a subject from the register failed; None where it did not or there was none.

        A subject that was not asked for, since the request budget had no slot, counts as failed for a minute.
        """
        entry = self._remembered.get(subject) if self._remembered else None
        if entry is None or isinstance(entry[1], NotFound):
            return None
        is_reported = entry[1].is_asked or self.remembered(subject) is not None
        return entry[1].reason if is_reported else None

    async def propagate_rest(self, most: int = MAX_PROPAGATED) -> None:
        """See `SubjectReads.propagate_rest`."""
        await self._reads.propagate_rest(most)

    async def settle(self, subject: str, timeout_seconds: float) -> None:
        """Wait until no read of the subject is under way, at most this long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                while (running := self._running.get(subject)) is not None:
                    await asyncio.wait([running.task])
                    await asyncio.sleep(0)  # its end is noted by a callback

    async def settled(self) -> None:
        """Wait until no read is under way."""
        while self._running:
            await asyncio.gather(*(running.task for running in self._running.values()), return_exceptions=True)

    async def close(self) -> None:
        """Finish or cancel running reads, and start no more."""
        self._is_closed = True
        tasks = [running.task for running in self._running.values()]
        if tasks:  # a write that has begun is finished; a read that waits for the budget is not
            await asyncio.wait(tasks, timeout=CLOSING_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(
        self,
        subject: str,
        priority: RequestPriority,
        context: ReadContext | None,
        limits: ReadLimits,
        slot_wait: SlotWait,
        listed: ListedRecords | None = None,
    ) -> "asyncio.Task[RefreshResult]":
        self.reads_begun += 1
        number = self.reads_begun
        after = number - 1 if limits.after is None else limits.after
        rule = SharingRule(number, after, priority, limits.max_shared_age)
        context = context or ReadContext(is_for_watches=priority in OF_WATCHES)
        read = self._read(subject, SubjectRequest(rule, context, slot_wait, listed))
        task = asyncio.create_task(read, name=f"refresh {subject}")
        self._running[subject] = _Running(task, priority, number, limits)
        task.add_done_callback(lambda ended: self._ended(subject, ended))
        return task

    def _ended(self, subject: str, task: "asyncio.Task[RefreshResult]") -> None:
        running = self._running.get(subject)
        if running is not None and running.task is task:
            del self._running[subject]
            if (limits := self._put_off.pop(subject, None)) is not None:
                self._begin_behind(subject, limits)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("refresh failed unexpectedly", subject=subject, exc_info=error)

    async def _read(self, subject: str, request: SubjectRequest) -> RefreshResult:
        if not (subject.isascii() and subject.isprintable()):
            return NotFound()
        try:
            result = await self._reads.read(subject, request)
        except RegisterwatchError as error:  # the database, not the register; the reader has an answer all the same
            log.warning("refresh could not be stored", subject=subject, error=str(error))
            result = ReadFailed(NOT_STORED)
        self._count(result)
        if request.priority not in OF_WATCHES:
            self._remember(subject, result)
        has_more = isinstance(result, Refreshed) and result.goes_on and kind(subject) == "srn"
        if has_more and request.priority in OF_READERS and self._reads.is_worth_reading(subject):
            requester = None if request.slot_wait is None else request.slot_wait.requester
            self._begin_behind(list_of(subject), ReadLimits(requester=requester))
        return result

    def _count(self, result: RefreshResult) -> None:
        if isinstance(result, Refreshed):
            self.results["found"] += 1
        elif isinstance(result, NotFound):
            self.results["not_found"] += 1
        elif result.is_asked:
            self.results["unreadable"] += 1

    def _remember(self, subject: str, result: RefreshResult) -> None:
        self._remembered.pop(subject, None)
        if isinstance(result, Refreshed):
            if not (is_list(subject) and result.goes_on):
                self._note_found(subject)
            return
        self._remembered[subject] = (self._clock.monotonic(), result)
        if len(self._remembered) > MAX_REMEMBERED:
            self._remembered.popitem(last=False)

    def _note_found(self, subject: str) -> None:
        now = self._clock.monotonic()
        self._found_at.pop(subject, None)
        self._found_at[subject] = now
        while next(iter(self._found_at.values())) <= now - MEMORY_SECONDS:
            self._found_at.popitem(last=False)

    def _is_found(self, subject: str) -> bool:
        """Whether a read found it within the last minute."""
        return self._found_at.get(subject, -math.inf) > self._clock.monotonic() - MEMORY_SECONDS


def limits_for(client: ClientOf | None, max_shared_age: float = 0.0) -> ReadLimits:
    """The limits of a read for a client without an account."""
    requester = None if client is None else Requester(client())
    return ReadLimits(requester=requester, max_shared_age=max_shared_age)


async def _ended_or_overdue(task: "asyncio.Task[RefreshResult]", slot_wait: SlotWait | None) -> bool:
    """Wait for the end of a read. True when it exceeds its wait for the request budget first."""
    if slot_wait is None:
        await asyncio.wait([task])
        return False
    overdue = asyncio.create_task(slot_wait.overdue.wait())
    try:
        await asyncio.wait([task, overdue], return_when=asyncio.FIRST_COMPLETED)
    finally:
        overdue.cancel()
    return not task.done()


def _is_shared(running: _Running, result: RefreshResult, priority: RequestPriority, limits: ReadLimits) -> bool:
    """Whether a caller may use the result of a read that was under way: it must have begun after they asked, and have
    got its slot in the budget if they would have waited for it. A reader may not use one for a watch.
    """
    if running.priority in OF_WATCHES and priority in OF_READERS:
        return False
    was_asked = not isinstance(result, ReadFailed) or result.is_asked
    is_late_enough = limits.after is None or running.number > limits.after
    is_strict_enough = running.limits.max_shared_age <= limits.max_shared_age
    return is_late_enough and is_strict_enough and (was_asked or limits.start_until is None)
