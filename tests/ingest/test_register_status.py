"""How far the sweeps are and what was verified, as `/status`, `/health` and `/metrics` are told."""

from typing import Any

import pytest
from sqlalchemy import insert

from registerwatch.copy.tables import device_sweeps, walks
from registerwatch.copy.walks import WalkRow
from registerwatch.ingest.checks.check_rules import RegisterCheck
from registerwatch.ingest.checks.register_status import KEPT_SECONDS, CheckState, state_of
from registerwatch.ingest.sweeps.sweep_state import BEHIND_SECONDS, DeviceSweepState
from registerwatch.sources.checks.names import CheckName
from tests.support.harness import ServiceHarness

NOW = 1_800_000_000


def a_sweep(srn: str, **fields: Any) -> dict[str, Any]:
    return {
        "srn": srn,
        "lists_all": False,
        "watched": 1,
        "added_at": NOW - 9_000,
        "turn_at": 0,
        "leased_until": 0,
        "walk": 0,
        "cursor": "",
        "is_steady": True,
        "swept_at": None,
        "problem": "",
        **fields,
    }


def a_walk(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "name": name,
        "began_at": NOW - 600,
        "ended_at": NOW - 500,
        "complete_at": NOW - 4_200,
        "leased_until": 0,
        "listed": 300,
        "total": 4_654,
        "problem": "",
        **fields,
    }


async def test_sweeps_that_never_began_are_no_sweeps_without_problems(harness: ServiceHarness) -> None:
    status = await harness.service.register_status.status()

    assert status.sweeps.devices == DeviceSweepState(0, 0, 0, 0, None)
    assert status.sweeps.walks == {}
    assert {state_of(check) for check in status.checks.values()} == {CheckState.NOT_LOOKED}
    assert (status.copy.devices, status.copy.filled_at, status.copy.updated_at, status.build) == (0, None, None, "")


async def test_the_state_of_sweeps_is_that_of_the_manufacturers_that_are_watched(harness: ServiceHarness) -> None:
    sweeps = [
        a_sweep("DE-MF-1", swept_at=NOW - 60),
        a_sweep("DE-MF-2", swept_at=NOW - BEHIND_SECONDS, problem="The register is throttling requests."),
        a_sweep("DE-MF-3", lists_all=True, watched=0),
        a_sweep("DE-MF-4", watched=0, added_at=1, problem="nobody watches it any more"),
    ]
    async with harness.database.transaction() as connection:
        await connection.execute(insert(device_sweeps), sweeps)
        await connection.execute(insert(walks), [a_walk("certificates", problem="The list shifted.")])
    status = await harness.service.register_status.status()

    assert status.sweeps.devices == DeviceSweepState(3, 1, 2, 1, NOW - 9_000)
    assert status.sweeps.walks == {
        "certificates": WalkRow("certificates", NOW - 600, NOW - 500, NOW - 4_200, 300, 4_654, "The list shifted.")
    }


async def test_a_status_is_read_once_for_all_who_ask_within_seconds(harness: ServiceHarness) -> None:
    first = await harness.service.register_status.status()

    assert await harness.service.register_status.status() is first
    harness.clock.move(KEPT_SECONDS)
    assert await harness.service.register_status.status() is not first


@pytest.mark.parametrize(
    ("check", "state"),
    [
        (RegisterCheck(CheckName.BUILD), CheckState.NOT_LOOKED),
        (RegisterCheck(CheckName.BUILD, is_ok=True), CheckState.FINE),
        (RegisterCheck(CheckName.BUILD, is_ok=False), CheckState.CHANGED),
        (RegisterCheck(CheckName.BUILD, unanswered_since=1), CheckState.UNANSWERED),
        (RegisterCheck(CheckName.BUILD, is_ok=True, unanswered_since=1), CheckState.UNANSWERED),
        (RegisterCheck(CheckName.BUILD, is_ok=False, unanswered_since=1), CheckState.CHANGED),
    ],
)
def test_not_looked_could_not_look_fine_and_changed_are_four_states(check: RegisterCheck, state: CheckState) -> None:
    assert state_of(check) is state
