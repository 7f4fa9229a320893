"""Measuring again where other processes disturbed a measurement."""

from collections.abc import Iterator

from bench.machine import Others
from bench.manner import Manner

CALM = 0.0


def no_pause(_seconds: float) -> None:
    """Time is not what these tests are about."""


class ToldOthers(Others):
    """Others that take what the test tells: one share for each time that somebody looks."""

    told: Iterator[float]

    def __exit__(self, *_: object) -> None:
        self.share = next(self.told)


def others_taking(*shares: float) -> type[Others]:
    """Others with these shares."""
    return type("Told", (ToldOthers,), {"told": iter(shares)})


def test_without_patience_a_disturbed_measurement_is_taken_as_it_is() -> None:
    manner = Manner(others=others_taking(0.6))
    assert manner.undisturbed(iter("ab").__next__) == "a"
    assert "60% during the most disturbed one" in manner.remark()


def test_with_patience_a_disturbed_measurement_is_taken_again() -> None:
    manner = Manner(patience=60, pause=no_pause, others=others_taking(CALM, 0.6, CALM, 0.01))
    assert manner.undisturbed(iter("abc").__next__) == "b"
    assert "1% during the most disturbed one" in manner.remark()


def test_when_patience_ends_the_least_disturbed_measurement_stands() -> None:
    manner = Manner(patience=1.1, pause=no_pause, others=others_taking(CALM, 0.3, 0.9, 0.9, 0.9, 0.9))
    assert manner.undisturbed(iter("abc").__next__) == "a"


def test_each_remark_is_about_what_was_measured_since_the_last_one() -> None:
    manner = Manner(others=others_taking(0.5, 0.1))
    manner.undisturbed(list)
    manner.remark()
    manner.undisturbed(list)
    assert "10% during the most disturbed one" in manner.remark()


def test_what_we_compute_ourselves_is_not_taken_for_others() -> None:
    shares = []
    for _ in range(3):
        with Others() as others:
            sum(range(3_000_000))
        shares.append(others.share)
    assert all(0 <= share <= 1.5 for share in shares)
