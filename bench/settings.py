"""How measurements are taken: how often, for how long, and what other processes took of the machine meanwhile."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import TypeVar

from bench.figures import Figure, median_figure
from bench.log import timed
from bench.machine import Others

Taken = TypeVar("Taken")


@dataclass(slots=True)
class Settings:
    """The settings of one run."""

    rounds: int = 3
    seconds: int = 5
    """Length of a round of reads or logins."""
    requests: int = 300
    """Requests of a round of one search."""
    minutes: float = 3.0
    """Minutes of mixed load on each database."""
    trigrams_up_to: int = 10**9
    """Records up to which PostgreSQL's trigrams are asked."""
    watches: int = 1_000
    """Watches of the simulated year."""
    days: int = 365
    """Days of the simulated year."""
    shares: list[float] = field(default_factory=list)
    """What other processes took of the machine in each measurement since the last remark."""

    def noted(self, take: Callable[[], Taken]) -> Taken:
        """What `take` measures, with a note of what other processes took meanwhile."""
        with Others() as others:
            taken = take()
        self.shares.append(others.share)
        return taken

    def in_turn(self, what: str, *takes: Callable[[], Figure]) -> list[Figure]:
        """The median figure of each of `takes`, which are taken in turn in every round."""
        with timed(what):
            rounds = [self.noted(lambda: [take() for take in takes]) for _ in range(self.rounds)]
        return [median_figure(figures) for figures in zip(*rounds, strict=True)]

    def remark(self) -> str:
        """One sentence on what was measured since the last one, so that a reader knows how far to trust it."""
        shares, self.shares = self.shares or [0.0], []
        return (
            f"Other processes took {median(shares):.0%} of the machine's cores during the median measurement, "
            f"{max(shares):.0%} during the most disturbed one."
        )


@contextmanager
def no_collection() -> Iterator[None]:
    """No garbage collection of the measuring process within a measured time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
