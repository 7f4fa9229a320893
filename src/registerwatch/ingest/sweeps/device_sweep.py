"""The sweep of devices: manufacturers' lists show changes of watched devices long before each is read again.

The queue is a table (`copy/sweeps.py`). A run leases one manufacturer and sends at most ten requests. Each answer is
stored in one transaction with the next position. So any number of processes sweep side by side, and a kill loses
nothing. A watched device whose row differs is read in full at once, before the row is stored: the row was then
overtaken and is dropped, and the change is one event.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from registerwatch.copy import sweeps
from registerwatch.ingest.sweeps.sweep_run import RefutedValues, SweepAdapters, SweepRun, SweepRunResult
from registerwatch.register.identifiers import is_actor_of_devices

SIDE_BY_SIDE = 3
"""Runs of a process at a time, so that one which waits for the register does not hold up the others."""

SweepProgress = Callable[[int, int], None]
"""Called with how many manufacturers were swept, and how many there are."""


@dataclass(slots=True)
class SweepSummary:
    """The result of a sweep of all manufacturers; `problems` are those of manufacturers that could not be swept."""

    manufacturers: int = 0
    requests: int = 0
    differing: int = 0
    news: int = 0
    problems: dict[str, str] = field(default_factory=dict)

    def add(self, run: SweepRunResult) -> None:
        """Count a run."""
        self.requests += run.requests
        self.differing += run.differing
        self.news += run.news
        self.problems.pop(run.srn, None)
        if run.problem:
            self.problems[run.srn] = run.problem


class DeviceSweeper:
    """Sweeps manufacturers. Each is listed at most once in `interval` seconds."""

    def __init__(self, adapters: SweepAdapters, *, interval: int) -> None:
        self._adapters = adapters
        self._interval = interval
        self._refuted = RefutedValues()

    async def refresh_queue(self) -> None:
        """Bring the queue up to what is watched. Rows name manufacturers, so no other actor is swept."""
        wanted = [each for each in await self._adapters.watched.manufacturers() if is_actor_of_devices(each.srn)]
        async with self._adapters.database.reading() as connection:
            changes = await sweeps.queue_changes(connection, wanted)
        if changes.are_some:
            async with self._adapters.database.transaction() as connection:
                await sweeps.change_queue(connection, changes, self._adapters.now)

    async def waiting(self) -> int:
        """How many manufacturers are due at once, or are in the middle of a walk."""
        async with self._adapters.database.reading() as connection:
            return await sweeps.count_waiting(connection)

    async def run_next(self, *, at_once_only: bool = False) -> SweepRunResult | None:
        """Run the sweep of the manufacturer that has waited longest; None where none is due.

        `at_once_only` leaves out those that only the interval makes due.
        """
        now = self._adapters.now
        async with self._adapters.database.reading() as connection:
            if not await sweeps.has_due(connection, now, interval=self._interval, at_once_only=at_once_only):
                return None
        async with self._adapters.database.transaction() as connection:
            sweep = await sweeps.claim(connection, now, interval=self._interval, at_once_only=at_once_only)
        return None if sweep is None else await SweepRun(self._adapters, sweep, self._refuted).run()

    async def run_due(self) -> None:
        """Run until no manufacturer is due."""
        while await self.run_next() is not None:
            pass

    async def sweep_all(self, watch: SweepProgress) -> SweepSummary:
        """Sweep every manufacturer once, now. Other processes that sweep do a part of it.

        When several runs fail unexpectedly, the first error is raised.
        """
        await self.refresh_queue()
        async with self._adapters.database.transaction() as connection:
            summary = SweepSummary(await sweeps.make_all_due(connection))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(SIDE_BY_SIDE):
                    group.create_task(self._run_at_once(summary, watch))
        except ExceptionGroup as problem:
            raise problem.exceptions[0] from problem
        return summary

    async def _run_at_once(self, summary: SweepSummary, watch: SweepProgress) -> None:
        while (run := await self.run_next(at_once_only=True)) is not None:
            summary.add(run)
            watch(summary.manufacturers - await self.waiting(), summary.manufacturers)
