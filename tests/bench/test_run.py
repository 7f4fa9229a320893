"""A run over sizes: which parts take which size, what a failure loses, what an end leaves for the next run."""

from pathlib import Path

import pytest
from bench.figures import Figure, Row, Section
from bench.inputs import Inputs, remove_database
from bench.processes import ProcessFailed
from bench.run import Run, usual_size
from bench.settings import Settings

from bench import run


class Counting:
    """A part that counts how often it is measured, and fails or is interrupted as told."""

    def __init__(self, name: str, error: BaseException | None = None) -> None:
        self.PART = name
        self.error = error
        self.sizes: list[int] = []

    def measure(self, inputs: Inputs, settings: Settings) -> Section:
        """Its size as a figure."""
        self.sizes.append(inputs.devices)
        if self.error is not None:
            raise self.error
        return Section(self.PART, self.PART, [Row("size", Figure(inputs.devices * settings.rounds, "s"))])


def taking(folder: Path, sizes: list[int], *parts: Counting, resume: bool = False, rounds: int = 1) -> Run:
    """A run of these parts."""
    return Run(folder, sizes, [part.PART for part in parts], 1, lambda: Settings(rounds=rounds), resume)


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> tuple[Counting, Counting]:
    """A part that grows with the number of devices, and one that does not."""
    found = Counting("reads"), Counting("accounts")
    monkeypatch.setattr(run, "IN_TURN", found)
    return found


def test_parts_that_do_not_grow_are_measured_at_the_usual_size_alone(
    tmp_path: Path, parts: tuple[Counting, Counting]
) -> None:
    measured = taking(tmp_path, [3_200_000, 16_000, 320_000], *parts).measured()
    assert [(each.section.part, each.devices) for each in measured] == [
        ("reads", 16_000),
        ("reads", 320_000),
        ("reads", 3_200_000),
        ("accounts", 320_000),
    ]


@pytest.mark.parametrize(("sizes", "usual"), [([2_000], 2_000), ([1, 2], 2), ([400_000, 500_000], 400_000)])
def test_the_usual_size_is_the_greatest_up_to_320_000(sizes: list[int], usual: int) -> None:
    assert usual_size(sizes) == usual


def test_a_part_that_fails_loses_its_own_figures_alone(tmp_path: Path, parts: tuple[Counting, Counting]) -> None:
    parts[0].error = ProcessFailed("no room\nat all")
    failed, taken = taking(tmp_path, [400], *parts).measured()
    assert (failed.section.rows, failed.section.failure) == ([], "ProcessFailed: no room at all")
    assert taken.section.rows


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path, parts: tuple[Counting, Counting]) -> None:
    parts[1].error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        taking(tmp_path, [400], *parts).measured()
    parts[1].error = None
    measured = taking(tmp_path, [400], *parts, resume=True).measured()
    assert all(each.section.rows for each in measured)
    assert (parts[0].sizes, parts[1].sizes) == ([400], [400, 400])


def test_a_failed_part_and_one_with_other_settings_are_measured_again(
    tmp_path: Path, parts: tuple[Counting, Counting]
) -> None:
    parts[0].error = ProcessFailed("no room")
    taking(tmp_path, [400], *parts).measured()
    parts[0].error = None
    taking(tmp_path, [400], *parts, resume=True).measured()
    assert (parts[0].sizes, parts[1].sizes) == ([400, 400], [400])
    taking(tmp_path, [400], *parts, resume=True, rounds=2).measured()
    assert (len(parts[0].sizes), len(parts[1].sizes)) == (3, 2)


def test_without_being_told_to_go_on_everything_is_measured(tmp_path: Path, parts: tuple[Counting, Counting]) -> None:
    for _ in range(2):
        taking(tmp_path, [400], *parts).measured()
    assert parts[0].sizes == [400, 400]


def test_a_database_that_an_interrupted_run_left_behind_goes_away_with_its_log(tmp_path: Path) -> None:
    path = tmp_path / "left.db"
    for name in ("left.db", "left.db-wal", "left.db-shm"):
        (tmp_path / name).write_bytes(b"something else")
    remove_database(path)
    assert list(tmp_path.iterdir()) == []
    remove_database(path)
