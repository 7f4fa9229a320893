"""What a process has over time: resident memory and open file descriptors, once a second."""

import threading
import time
from collections.abc import Sequence
from statistics import linear_regression

import msgspec
import psutil

from bench.figures import Figure

EVERY_SECONDS = 1.0
SETTLED_AFTER = 0.2
"""Part of the time from which on the slope counts: before, caches fill."""


class Sample(msgspec.Struct, frozen=True):
    """One look at the process and its children."""

    seconds: float
    megabytes: float
    files: int


class Sampling:
    """Looks at a process while the block runs."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.samples: list[Sample] = []

    def __enter__(self) -> "Sampling":
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(EVERY_SECONDS):
            try:
                family = [self._process, *self._process.children(recursive=True)]
                memory = sum(each.memory_info().rss for each in family)
                files = sum(each.num_fds() for each in family)
            except psutil.NoSuchProcess:
                continue
            self.samples.append(Sample(time.monotonic() - self._began, memory / 1e6, files))


def at(samples: Sequence[Sample], part: float) -> Sample:
    """The sample after that part of the time."""
    return samples[max(0, min(len(samples) - 1, round(len(samples) * part) - 1))]


def slope(samples: Sequence[Sample]) -> Figure:
    """How much memory grows in a minute, once caches are filled: the line that fits best."""
    settled = [each for each in samples if each.seconds >= SETTLED_AFTER * samples[-1].seconds]
    if len(settled) < 2:
        return Figure(0.0, "MB/min", {"samples": len(settled)})
    fit = linear_regression([each.seconds / 60 for each in settled], [each.megabytes for each in settled])
    return Figure(fit.slope, "MB/min", {"samples": len(settled), "course": course(samples)})


def course(samples: Sequence[Sample], points: int = 60) -> str:
    """The memory over time for a plot, as `seconds:MB` with blanks between; of many samples some."""
    step = max(1, len(samples) // points)
    return " ".join(f"{each.seconds:.0f}:{each.megabytes:.1f}" for each in samples[::step])
