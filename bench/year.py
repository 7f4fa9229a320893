"""Part `year`: a simulated year of watching over the stand-in, in which everything goes wrong that can; judged in full.

The year is a test, run here at a size that a test suite has no time for. It is no measurement beside anything: it shows
that every true change is told once and nothing else, and at what rate subjects were read meanwhile.
"""

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec

from bench.figures import Figure, Row, Section
from bench.inputs import Inputs
from bench.log import timed
from bench.processes import ProcessFailed
from bench.settings import Settings

PART = "year"
TEST = Path(__file__).parents[1] / "tests" / "journeys" / "test_simulated_year.py"
STEPS_A_DAY = 4
MAX_ACCOUNTS = 20


class Outcome(msgspec.Struct, frozen=True):
    """What happened, as the test tells it."""

    reads: int
    found: int
    partial: int
    late: int
    events: int
    changes: int
    world_changes: int
    requests: int
    faults: dict[str, int]
    steps: dict[str, int]


def measure(inputs: Inputs, settings: Settings) -> Section:
    """Let a year pass. Raises `ProcessFailed` where something was told that is not so, or was not told."""
    days, watches, told = settings.days, settings.watches, inputs.path("year.json")
    plan = {
        "seed": inputs.seed,
        "days": days,
        "steps": max(1, days * STEPS_A_DAY),
        "accounts": min(MAX_ACCOUNTS, max(2, watches // 50)),
        "watches": watches,
        "devices": max(100, watches // 2),
        "changes": 3 + watches / 100,
    }
    environment = os.environ | {"YEAR_PLAN": msgspec.json.encode(plan).decode(), "YEAR_OUTCOME": str(told)}
    command = [sys.executable, "-m", "pytest", "-q", str(TEST)]
    with timed(f"{days} days with {watches:,} watches"):
        began = time.perf_counter()
        done = subprocess.run(
            command, env=environment, cwd=TEST.parents[2], capture_output=True, text=True, check=False
        )
        seconds = time.perf_counter() - began
    if done.returncode != 0:
        raise ProcessFailed(f"The year failed:\n{done.stdout[-2000:]}")
    outcome = msgspec.json.decode(told.read_bytes(), type=Outcome)
    rows = [
        Row("the whole time, judged at every step", Figure(seconds, "s")),
        Row("subjects read, failures included", Figure(outcome.reads / seconds, "reads/s")),
    ]
    title = f"{days} simulated days with {watches:,} watches on two nodes, seed {inputs.seed}"
    return Section(PART, title, rows, _remarks(outcome))


def _remarks(outcome: Outcome) -> list[str]:
    modes: Counter[str] = Counter()
    for name, count in outcome.faults.items():
        modes[name.partition(": ")[2]] += count
    steps = ", ".join(f"{count:,} {name}" for name, count in sorted(outcome.steps.items()))
    failed = ", ".join(f"{count:,} {mode}" for mode, count in sorted(modes.items()))
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
        f"{modes.total():,} requests failed: {failed}.",
    ]
