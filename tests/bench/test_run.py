"""A run over sizes: which parts take which size, what a failure loses, what an end leaves for the next run."""

from pathlib import Path

import pytest
from bench.figures import Figure, Row, Section
from bench.processes import ProcessFailed
from bench.run import measured, usual_size
from bench.setup import Setup

from bench import run


class CountedPart:
    """A part that counts how often it is measured, and fails or is interrupted as asked."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.error: BaseException | None = None
        self.sizes: list[int] = []

    def measure(self, setup: Setup) -> Section:
        """Its size as a figure."""
        self.sizes.append(setup.devices)
        if self.error is not None:
            raise self.error
        return Section(self.name, self.name, [Row("size", Figure(setup.devices, "s"))])


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> dict[str, CountedPart]:
    """A part that grows with the number of devices, and one that does not."""
    found = {name: CountedPart(name) for name in ("reads", "accounts")}
    monkeypatch.setattr(run, "IN_TURN", {name: part.measure for name, part in found.items()})
    return found


def test_parts_that_do_not_grow_are_measured_at_the_usual_size_alone(
    tmp_path: Path, parts: dict[str, CountedPart]
) -> None:
    found = measured([Setup(tmp_path, size) for size in (3_200_000, 16_000, 320_000)], list(parts))
    assert [(each.section.part, each.devices) for each in found] == [
        ("reads", 16_000),
        ("reads", 320_000),
        ("reads", 3_200_000),
        ("accounts", 320_000),
    ]


@pytest.mark.parametrize(("sizes", "usual"), [([2_000], 2_000), ([1, 2], 2), ([400_000, 500_000], 400_000)])
def test_the_usual_size_is_the_greatest_up_to_320_000(sizes: list[int], usual: int) -> None:
    assert usual_size(sizes) == usual


def test_a_part_that_fails_loses_its_own_figures_alone(tmp_path: Path, parts: dict[str, CountedPart]) -> None:
    parts["reads"].error = ProcessFailed("no room\nat all")
    failed, taken = measured([Setup(tmp_path, 400)], list(parts))
    assert (failed.section.rows, failed.section.failure) == ([], "ProcessFailed: no room at all")
    assert taken.section.rows


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path, parts: dict[str, CountedPart]) -> None:
    parts["accounts"].error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        measured([Setup(tmp_path, 400)], list(parts))
    parts["accounts"].error = None
    found = measured([Setup(tmp_path, 400)], list(parts), resume=True)
    assert all(each.section.rows for each in found)
    assert (parts["reads"].sizes, parts["accounts"].sizes) == ([400], [400, 400])


def test_parts_are_measured_again_where_they_failed_or_settings_differ_or_nobody_resumes(
    tmp_path: Path, parts: dict[str, CountedPart]
) -> None:
    parts["reads"].error = ProcessFailed("no room")
    measured([Setup(tmp_path, 400)], list(parts))
    parts["reads"].error = None
    measured([Setup(tmp_path, 400)], list(parts), resume=True)
    assert (len(parts["reads"].sizes), len(parts["accounts"].sizes)) == (2, 1)
    measured([Setup(tmp_path, 400, rounds=2)], list(parts), resume=True)
    assert (len(parts["reads"].sizes), len(parts["accounts"].sizes)) == (3, 2)
    measured([Setup(tmp_path, 400, rounds=2)], list(parts))
    assert (len(parts["reads"].sizes), len(parts["accounts"].sizes)) == (4, 3)
