"""Reading many subjects side by side: what a sync and a recheck have in common."""

import asyncio
from collections.abc import Sequence

from registerwatch.register.ingest.refresh import ReadLimits
from registerwatch.register.observation import ReadContext
from registerwatch.register.sources.budget_parts import RequestPriority
from registerwatch.watches.read_subject import SubjectReader


class SubjectReads:
    """Reads of some subjects in their order, several at a time.

    When one could not be asked for, since the request budget is used up, no further one is begun.
    """

    def __init__(
        self,
        reader: SubjectReader,
        subjects: Sequence[str],
        priority: RequestPriority,
        context: ReadContext,
        limits: ReadLimits,
    ) -> None:
        self._reader = reader
        self._subjects = iter(subjects)
        self._total = len(subjects)
        self._priority = priority
        self._context = context
        self._limits = limits
        self.tried_subjects: set[str] = set()
        self.found = 0
        self.unasked = ""
        """Why a subject could not be asked for, empty where each could."""

    @property
    def tried(self) -> int:
        """Subjects that were tried."""
        return len(self.tried_subjects)

    @property
    def unread(self) -> int:
        """Subjects that were not tried."""
        return self._total - self.tried

    @property
    def failed(self) -> int:
        """Subjects that were tried in vain."""
        return self.tried - self.found

    async def read_all(self, side_by_side: int) -> None:
        """Read until none is left. When several reads fail unexpectedly, the first error is raised."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(side_by_side):
                    group.create_task(self._read_some())
        except ExceptionGroup as problem:
            raise problem.exceptions[0] from problem

    async def _read_some(self) -> None:
        for subject in self._subjects:
            read = await self._reader.read(subject, self._priority, self._context, self._limits)
            if read.unasked:
                self.unasked = read.unasked
            else:
                self.found += read.is_found
                self.tried_subjects.add(subject)
            if self.unasked:
                return
