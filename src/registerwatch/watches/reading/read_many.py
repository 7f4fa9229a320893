"""Reading many subjects in parallel, for syncs and rechecks."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence

import msgspec

from registerwatch.ingest.refresh import ReadLimits
from registerwatch.register.observation import ReadContext
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.source import ListedRecords
from registerwatch.watches.reading.read_order import ReadGroup
from registerwatch.watches.reading.read_subject import SubjectReader


class _Subject(msgspec.Struct, frozen=True):
    """A subject to read, with its records if a list has shown them."""

    name: str
    listed: ListedRecords | None = None


class SubjectReads:
    """Reads subjects in the order of their groups, several at a time. A group of devices is listed first.

    No further read begins once the request budget is used up.
    """

    def __init__(
        self,
        reader: SubjectReader,
        groups: Sequence[ReadGroup],
        priority: RequestPriority,
        context: ReadContext,
        limits: ReadLimits,
    ) -> None:
        self._reader = reader
        self._waiting: deque[ReadGroup | _Subject] = deque(groups)
        self._total = sum(group.size for group in groups)
        self._priority = priority
        self._context = context
        self._limits = limits
        self._lists_begun = 0
        self._has_more = asyncio.Event()
        self.tried_subjects: set[str] = set()
        self.found_subjects: set[str] = set()
        self.unasked = ""
        """Why a subject was not asked for, empty if each was."""

    @property
    def tried(self) -> int:
        """How many subjects were tried."""
        return len(self.tried_subjects)

    @property
    def found(self) -> int:
        """How many subjects were found and compared."""
        return len(self.found_subjects)

    @property
    def unread(self) -> int:
        """How many subjects were not tried."""
        return self._total - self.tried

    @property
    def failed(self) -> int:
        """How many tried subjects were not found."""
        return self.tried - self.found

    async def read_all(self, side_by_side: int) -> None:
        """Read all subjects. If several reads fail unexpectedly, the first error is raised."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(side_by_side):
                    group.create_task(self._read_some())
        except ExceptionGroup as problem:
            raise problem.exceptions[0] from problem

    async def _read_some(self) -> None:
        while (next_one := await self._next()) is not None:
            if isinstance(next_one, ReadGroup):
                await self._begin(next_one)
            else:
                await self._read(next_one)

    async def _next(self) -> ReadGroup | _Subject | None:
        """The next group or subject, None at the end. Waits while other tasks are reading lists."""
        while not self._waiting and self._lists_begun and not self.unasked:
            self._has_more.clear()
            await self._has_more.wait()
        return self._waiting.popleft() if self._waiting and not self.unasked else None

    async def _begin(self, group: ReadGroup) -> None:
        """List the devices of a group, and queue them first."""
        listed: Mapping[str, ListedRecords] = {}
        if group.manufacturer_srn:
            self._lists_begun += 1
            try:
                listed = await self._reader.listed(group, self._priority, self._limits)
            finally:
                self._lists_begun -= 1
                self._has_more.set()
        self._waiting.extendleft(reversed([_Subject(each, listed.get(each)) for each in group.subjects]))
        self._waiting.extend(_Subject(each, listed.get(each)) for each in group.later)
        self._has_more.set()

    async def _read(self, subject: _Subject) -> None:
        read = await self._reader.read(subject.name, self._priority, self._context, self._limits, subject.listed)
        if read.unasked:
            self.unasked = read.unasked
            self._has_more.set()
        else:
            self.tried_subjects.add(subject.name)
            if read.is_found:
                self.found_subjects.add(subject.name)
