"""Part `tools` at a tiny size."""

import pytest
from bench.inputs import Inputs
from bench.settings import Settings

from bench import tools


def test_tools_are_measured_beside_the_routes_that_say_the_same(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "READ_DEVICES", 40)

    section = tools.measure(inputs, Settings(rounds=1, seconds=1))

    assert [list(row.peers) for row in section.rows] == [[tools.PEER]] * 2
    assert all(row.ours.value > 0 and (row.ratio(tools.PEER) or 0) > 0 for row in section.rows)
    assert [row.goal is not None for row in section.rows] == [True, False]
