"""A run over sizes: which parts take which size, and what a failure loses."""

from collections.abc import Callable
from pathlib import Path

import pytest
from bench.figures import Figure, Row, Section
from bench.processes import ProcessFailed
from bench.run import measured, usual_size
from bench.setup import Setup

from bench import run


def as_figure(name: str) -> Callable[[Setup], Section]:
    """A part with one figure, its size."""
    return lambda setup: Section(name, name, [Row("size", Figure(setup.devices, "s"))])


def failing(_setup: Setup) -> Section:
    raise ProcessFailed("no room\nat all")


def test_parts_that_do_not_grow_are_measured_at_the_usual_size_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "IN_TURN", {name: as_figure(name) for name in ("reads", "accounts")})
    found = measured([Setup(tmp_path, size) for size in (3_200_000, 16_000, 320_000)], ["reads", "accounts"])
    assert [(each.part, each.devices) for each in found] == [
        ("reads", 16_000),
        ("reads", 320_000),
        ("reads", 3_200_000),
        ("accounts", 320_000),
    ]


@pytest.mark.parametrize(("sizes", "usual"), [([2_000], 2_000), ([1, 2], 2), ([400_000, 500_000], 400_000)])
def test_the_usual_size_is_the_greatest_up_to_320_000(sizes: list[int], usual: int) -> None:
    assert usual_size(sizes) == usual


def test_a_part_that_fails_loses_its_own_figures_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "IN_TURN", {"reads": failing, "accounts": as_figure("accounts")})
    failed, taken = measured([Setup(tmp_path, 400)], ["reads", "accounts"])
    assert (failed.rows, failed.failure) == ([], "ProcessFailed: no room at all")
    assert taken.rows
