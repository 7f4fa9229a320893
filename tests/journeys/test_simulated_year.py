"""A year of watching in which everything goes wrong that can: every true change is told once, nothing else is.

`YEAR_PLAN`, a plan in JSON, takes the place of the usual plans, `YEAR_DATABASE` says over which kind of database;
`YEAR_OUTCOME` names a file for what happened. So the bench runs a longer year.
"""

import os
from pathlib import Path

import msgspec
import pytest

from tests.journeys.simulated_year import Plan, year_over

PLANS = [
    pytest.param("sqlite", Plan(seed=4, steps=30), id="a year"),
    pytest.param("sqlite", Plan(seed=4, steps=60), marks=pytest.mark.nightly, id="a year of twice as many changes"),
    pytest.param(
        "sqlite",
        Plan(seed=5, steps=60, basic_udi_filter_works=False, keeps_journal=True, scopes=True),
        marks=pytest.mark.nightly,
        id="a year without a filter",
    ),
    pytest.param(
        "postgresql",
        Plan(seed=3, steps=60, keeps_journal=True, scopes=True),
        marks=pytest.mark.nightly,
        id="a year on PostgreSQL",
    ),
]
if "YEAR_PLAN" in os.environ:
    plan = msgspec.json.decode(os.environ["YEAR_PLAN"], type=Plan)
    PLANS = [pytest.param(os.environ.get("YEAR_DATABASE", "sqlite"), plan, id="the year that is asked for")]


@pytest.mark.parametrize(("database_kind", "plan"), PLANS)
async def test_a_year_tells_every_true_change_once_and_nothing_else(
    database_url: str, tmp_path: Path, plan: Plan
) -> None:
    async with year_over(database_url, tmp_path, plan) as year:
        outcome = await year.run()
    if "YEAR_OUTCOME" in os.environ:
        Path(os.environ["YEAR_OUTCOME"]).write_bytes(msgspec.json.encode(outcome))
    assert outcome.events > plan.steps / 2
    assert len(outcome.faults) > min(30, plan.steps / 2), "requests of all kinds failed in many ways"
    assert outcome.turns.total() > plan.steps / 4, "lists were swept"
