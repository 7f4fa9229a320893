"""Part `year`: a simulated year of watching, a test that is run here at a size that a test suite has no time for.

It is no measurement beside anything: every true change is told once and nothing else, and so fast are subjects read.
"""

import os
import sys
from pathlib import Path

import msgspec

from bench.figures import Figure, Row, Section
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
        "steps": days * STEPS_A_DAY,
        "accounts": min(MAX_ACCOUNTS, max(2, watches // 50)),
        "watches": watches,
        "devices": max(100, watches // 2),
        "changes": 4 + watches / 100,
    }
    environment = os.environ | {"YEAR_PLAN": msgspec.json.encode(plan).decode(), "YEAR_OUTCOME": str(told)}
    with timed(f"{days} days with {watches:,} watches"):
        seconds, _ = setup.run([sys.executable, "-m", "pytest", "-q", TEST], "year.log", environment)
    outcome = msgspec.json.decode(told.read_bytes())
    rows = [
        Row("the whole time, judged at every step", Figure(seconds, "s")),
        Row("subjects read, failures included", Figure(outcome["reads"] / seconds, "reads/s")),
    ]
    happened = (
        "{world_changes:,} changes in the register; {events:,} events with {changes:,} changes: all that were to be "
        "told, none twice, none besides. {reads:,} reads by {requests:,} requests, of which {failed:,} failed."
    )
    remark = happened.format(**outcome, failed=sum(outcome["faults"].values()))
    title = f"{days} simulated days with {watches:,} watches on two nodes, seed {setup.seed}"
    return Section("year", title, rows, [remark])
