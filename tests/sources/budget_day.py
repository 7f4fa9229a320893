"""A day of the request budget over two nodes: greedy strangers on both, rechecks, syncs, a bulk load at night.

`python -m tests.sources.budget_day` simulates the whole day and prints the table of `docs/scaling.md`.
"""

import asyncio
import heapq
import tempfile
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.migrate import upgrade
from registerwatch.sources.budget_parts import ASKING_SECONDS, RequestPriority, guaranteed
from registerwatch.sources.request_budget import BudgetSpent, RequestBudget
from registerwatch.sources.request_pace import PaceLimits
from tests.support.fakes import SteppedClock

BEGIN, HOUR, DAY = 1_800_000_000.0, 3_600.0, 86_400.0
PER_MINUTE = 60
FOREVER = float("inf")


@dataclass(slots=True)
class Job:
    """Requests of one kind that a node has to send, one after the other, from an instant until another."""

    kind: RequestPriority
    node: int
    begin: float
    end: float = FOREVER
    requests: float = FOREVER
    sent: list[float] = field(default_factory=list)


def jobs_of(seconds: float) -> list[Job]:
    """Strangers read and crawl on both nodes all the time; a recheck every ten minutes; a sync of 25 watches every five
    minutes, from the seventh on; from 2 to 4 at night a bulk load.
    """
    greedy = [Job(kind, node, 0) for kind in (RequestPriority.READER, RequestPriority.REFRESH) for node in (0, 1)]
    rechecks = [
        Job(RequestPriority.RECHECK, number % 2, begin := number * 600.0, begin + 420, 45)
        for number in range(int(seconds // 600))
    ]
    syncs = [
        Job(RequestPriority.WATCH, number % 2, begin := 420 + number * 300.0, begin + 60, 75)
        for number in range(int((seconds - 420) // 300))
    ]
    return [*greedy, *rechecks, *syncs, Job(RequestPriority.BULK_LOAD, 0, 2 * HOUR, 4 * HOUR)]


async def simulate(nodes: Sequence[RequestBudget], clock: SteppedClock, jobs: Sequence[Job], seconds: float) -> None:
    """Let all jobs send what they can, in the order of time."""
    begin, order = clock.now(), count()
    due = [(job.begin, next(order), job) for job in jobs if job.begin < seconds]
    heapq.heapify(due)
    while due:
        at, _, job = heapq.heappop(due)
        if at >= min(job.end, seconds):
            continue
        clock.move(max(0.0, begin + at - clock.now()))
        try:
            await nodes[job.node].take(job.kind, deadline=clock.monotonic())
        except BudgetSpent as spent:
            heapq.heappush(due, (at + spent.seconds + 0.01, next(order), job))
            continue
        job.sent.append(at)
        if len(job.sent) < job.requests:
            heapq.heappush(due, (at + 0.2, next(order), job))


def most_sent_in_a_minute(instants: Sequence[float]) -> int:
    """The largest number of instants in any 60 seconds."""
    ordered = sorted(instants)
    begin = most = 0
    for end, at in enumerate(ordered):
        while ordered[begin] <= at - 60:
            begin += 1
        most = max(most, end - begin + 1)
    return most


LONG_MINUTE = 70
"""Seconds: a place is taken for 61 whole ones, and the request after it waits until the spread permits it."""


def least_sent_in_a_minute(sent: Sequence[float], begin: float, end: float) -> int:
    """The smallest number of instants, which are in order, in any long minute between two others."""
    starts = [begin, *(at + 0.01 for at in sent if begin < at), max(begin, end - LONG_MINUTE)]
    last = max(end, begin + LONG_MINUTE)
    return min(bisect_left(sent, at + LONG_MINUTE) - bisect_left(sent, at) for at in starts if at + LONG_MINUTE <= last)


def least_of_kind(jobs: Sequence[Job], until: float) -> int:
    """The fewest requests of a kind in a minute of demand: of work that goes on for hours without its first minute, in
    which what others have borrowed comes free.
    """
    lasting = [job for job in jobs if job.end - job.begin > HOUR]
    if lasting:
        sent = sorted(at for job in lasting for at in job.sent)
        return least_sent_in_a_minute(sent, lasting[0].begin + ASKING_SECONDS, min(lasting[0].end, until))
    ends = [job.sent[-1] if len(job.sent) >= job.requests else job.end for job in jobs]
    return min(least_sent_in_a_minute(job.sent, job.begin, end) for job, end in zip(jobs, ends, strict=True))


async def _simulated(seconds: float) -> list[Job]:
    """All jobs of so long, over SQLite."""
    clock, jobs = SteppedClock(BEGIN), jobs_of(seconds)
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder) / 'day.db'}")
        await upgrade(database)
        nodes = [RequestBudget(database, PaceLimits(PER_MINUTE, start=PER_MINUTE), clock) for _ in range(2)]
        await simulate(nodes, clock, jobs, seconds)
        await database.close()
    return jobs


def _row(kind: RequestPriority, jobs: Sequence[Job]) -> str:
    """A row of the table."""
    sent = sorted(at for job in jobs for at in job.sent)
    cells = [kind.value, guaranteed(PER_MINUTE)[kind], len(sent), least_of_kind(jobs, DAY), most_sent_in_a_minute(sent)]
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    """Simulate the day, print the table."""
    jobs = asyncio.run(_simulated(DAY))
    print("| kind | part | sent in the day | least in 70 s of demand | most in 60 s |")
    for kind in RequestPriority:
        if of_kind := [job for job in jobs if job.kind is kind]:
            print(_row(kind, of_kind))
    print("all together, most in 60 s:", most_sent_in_a_minute([at for job in jobs for at in job.sent]))
    rechecks = [job for job in jobs if job.kind is RequestPriority.RECHECK]
    syncs = [job for job in jobs if job.kind is RequestPriority.WATCH]
    done = [job.sent[-1] - job.begin for job in rechecks if len(job.sent) >= job.requests]
    print(f"{len(done)} of {len(rechecks)} rechecks done, the longest in {max(done, default=0):.0f} s")
    of_syncs = sorted(len(job.sent) for job in syncs)
    print(f"requests of a sync: {of_syncs[0]} to {of_syncs[-1]}, median {of_syncs[len(of_syncs) // 2]}")


if __name__ == "__main__":
    main()
