"""Part `year`: a simulated year of watching over the stand-in, in which everything goes wrong that can; judged in full.

It is no measurement beside anything: it shows that every true change is told once and nothing else, at a size that a
test suite has no time for, and at what rate subjects were read meanwhile.
"""

import asyncio
import logging
import tempfile
import time
from collections import Counter
from pathlib import Path

import structlog
from tests.support.year import Outcome, Plan, year_over

from bench.figures import Figure, Row, Section
from bench.inputs import Inputs
from bench.log import timed
from bench.settings import Settings

PART = "year"
WATCHES, DAYS = 1_000, 365
STEPS_A_DAY = 4
MAX_ACCOUNTS = 20


def measure(inputs: Inputs, settings: Settings) -> Section:
    """Let a year pass. Raises `WrongYear` where something was told that is not so, or was not told."""
    plan = plan_of(seed=inputs.seed, watches=settings.watches, days=settings.days)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with timed(f"{plan.days} days with {plan.watches:,} watches"), tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        outcome = asyncio.run(_passed(plan, Path(folder)))
        seconds = time.perf_counter() - began
    return Section(
        PART,
        f"{plan.days} simulated days with {plan.watches:,} watches on two nodes, seed {plan.seed}",
        [
            Row("the whole time, judged at every step", Figure(seconds, "s")),
            Row("subjects read, failures included", Figure(outcome.reads / seconds, "reads/s")),
        ],
        [*_happened(outcome), *_failures(outcome)],
    )


def plan_of(*, seed: int, watches: int, days: int) -> Plan:
    """A year of this size. Watches share subjects, so that many are told of one read."""
    return Plan(
        seed=seed,
        days=days,
        steps=max(1, days * STEPS_A_DAY),
        accounts=min(MAX_ACCOUNTS, max(2, watches // 50)),
        watches=watches,
        devices=max(100, watches // 2),
        changes=3 + watches / 100,
    )


async def _passed(plan: Plan, folder: Path) -> Outcome:
    async with year_over(f"sqlite:///{folder / 'year.db'}", folder, plan) as year:
        return await year.run()


def _happened(outcome: Outcome) -> list[str]:
    steps = ", ".join(f"{count:,} {name}" for name, count in sorted(outcome.steps.items()))
    return [
        (
            f"{outcome.world_changes:,} changes in the register; {outcome.events:,} events with {outcome.changes:,} "
            "changes: all that were to be told, none twice, none besides."
        ),
        (
            f"{outcome.reads:,} reads, of which {outcome.found:,} were told as they were, {outcome.partial:,} of these "
            f"without certificates, and {outcome.late:,} came too late; {outcome.requests:,} requests."
        ),
        f"Steps: {steps}.",
    ]


def _failures(outcome: Outcome) -> list[str]:
    """Requests that failed, by the way in which they did."""
    modes: Counter[str] = Counter()
    for name, count in outcome.faults.items():
        modes[name.partition(": ")[2]] += count
    failed = ", ".join(f"{count:,} {mode}" for mode, count in sorted(modes.items()))
    return [f"{modes.total():,} requests failed: {failed}."]
