"""Part `year`: a simulated year of watching, a test that is run here at a size that a test suite has no time for.

It is no measurement beside anything: every true change is told once and nothing else, and so fast are subjects read.
"""

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from bench.figures import Figure, Row, Section
from bench.processes import ProcessFailed
from bench.setup import Setup, timed

TEST = Path(__file__).parents[1] / "tests" / "journeys" / "test_simulated_year.py"
STEPS_A_DAY = 4
MAX_ACCOUNTS = 20


def measure(setup: Setup) -> Section:
    """Let a year pass. Raises `ProcessFailed` where something was told that is not so, or was not told."""
    days, watches, told = setup.days, setup.watches, setup.path("year.json")
    plan = {
        "seed": setup.seed,
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
    outcome = msgspec.json.decode(told.read_bytes())
    rows = [
        Row("the whole time, judged at every step", Figure(seconds, "s")),
        Row("subjects read, failures included", Figure(outcome["reads"] / seconds, "reads/s")),
    ]
    title = f"{days} simulated days with {watches:,} watches on two nodes, seed {setup.seed}"
    return Section("year", title, rows, _remarks(outcome))


def _remarks(outcome: dict[str, Any]) -> list[str]:
    modes: Counter[str] = Counter()
    for name, count in outcome["faults"].items():
        modes[name.partition(": ")[2]] += count
    steps, failed = (", ".join(f"{each[name]:,} {name}" for name in sorted(each)) for each in (outcome["steps"], modes))
    happened = (
        "{world_changes:,} changes in the register; {events:,} events with {changes:,} changes: all that were to be "
        "told, none twice, none besides."
    )
    read = (
        "{reads:,} reads, of which {found:,} were told as they were, {partial:,} of these without certificates, and "
        "{late:,} came too late; {requests:,} requests."
    )
    remarks = [happened.format(**outcome), read.format(**outcome)]
    return [*remarks, f"Steps: {steps}.", f"{modes.total():,} requests failed: {failed}."]
