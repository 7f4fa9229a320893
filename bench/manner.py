"""How measurements are taken: how often, for how long, and again where other processes disturbed them."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import TypeVar

from bench.machine import Others
from bench.progress import say

Taken = TypeVar("Taken")

DISTURBED = 0.05
"""Part of the machine's cores from which on others disturb a measurement."""
LOOKED = 0.5
"""Seconds of looking whether the machine is calm."""


@dataclass(slots=True)
class Manner:
    """The manner of one run."""

    rounds: int = 3
    seconds: int = 5
    """Length of a round of reads or logins."""
    requests: int = 300
    """Requests of a round of one search."""
    patience: float = 0.0
    """Seconds that may still go into waiting for a calm machine and into measuring again."""
    minutes: float = 3.0
    """Minutes of mixed load on each database."""
    trigrams_up_to: int = 10**9
    """Records up to which PostgreSQL's trigrams are asked."""
    watches: int = 1_000
    """Watches of the simulated year."""
    days: int = 365
    """Days of the simulated year."""
    others: Callable[[], Others] = Others
    pause: Callable[[float], None] = time.sleep
    shares: list[float] = field(default_factory=list)
    """What others took of the machine in each measurement since the last remark."""

    def undisturbed(self, take: Callable[[], Taken]) -> Taken:
        """What `take` measures; of several tries the one that others disturbed least."""
        best: tuple[float, Taken] | None = None
        while True:
            began = time.monotonic()
            self._wait_for_calm()
            with self.others() as others:
                taken = take()
            if best is None or others.share < best[0]:
                best = others.share, taken
            if best[0] <= DISTURBED or self.patience <= 0:
                self.shares.append(best[0])
                return best[1]
            self.patience -= time.monotonic() - began
            say(
                f"others took {others.share:.0%} of the machine; measured again, {self.patience:.0f} s of patience left"
            )

    def remark(self) -> str:
        """One sentence on what was measured since the last one, so that a reader knows how far to trust it."""
        shares, self.shares = self.shares or [0.0], []
        return (
            f"Other processes took {median(shares):.0%} of the machine's cores during the median measurement, "
            f"{max(shares):.0%} during the most disturbed one."
        )

    def _wait_for_calm(self) -> None:
        while self.patience > 0:
            with self.others() as others:
                self.pause(LOOKED)
            if others.share <= DISTURBED:
                return
            self.patience -= LOOKED


@contextmanager
def no_collection() -> Iterator[None]:
    """No garbage collection of the measuring process within a measured time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
