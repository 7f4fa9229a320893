"""What a measurement says: figures, rows that put them side by side, sections of rows."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

COUNTED = ("answers", "files")


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured number. `details` has what belongs to it, such as `p99`, `max`, `samples`, `total`."""

    value: float
    unit: str  # of a rate, of which more is better, it ends with `/s`
    details: Mapping[str, float | int | str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The figure as a table shows it; of latencies p50, p99, the longest, how many; of
        minutes p50 and p95; of rates p50 and p99 beside; of the cost of a request the least and the most of any round.
        """
        if self.unit == "ms":
            asked = f" ({int(self.details['requests']):,})" if "requests" in self.details else ""
            return " / ".join([number(self.value), *self._details("p99", "max")]) + f" ms{asked}"
        if self.unit == "min":
            return " / ".join([number(self.value), *self._details("p95")]) + " min"
        if self.unit == "CPU µs":
            return f"{number(self.value)} ({' to '.join(self._details('least', 'most'))}) µs"
        if self.unit in COUNTED:
            return f"{self.value:,.0f} {self.unit}"
        times = " / ".join(self._details("p50_ms", "p99_ms"))
        return f"{number(self.value)} {self.unit}" + (f", {times} ms" if times else "")

    @property
    def total(self) -> str:
        """How many devices a search found, empty where it was none or did not count."""
        return f"{int(self.details['total']):,}" if "total" in self.details else ""

    def _details(self, *names: str) -> list[str]:
        return [number(float(self.details[name])) for name in names if name in self.details]


@dataclass(frozen=True, slots=True)
class Goal:
    """What was asked for, and whether this run has it."""

    text: str
    met: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One thing measured, ours beside its peers. `what` is the same at every size."""

    what: str
    ours: Figure
    peers: Mapping[str, Figure | None] = field(default_factory=dict)  # by name; None where the peer cannot do this
    goal: Goal | None = None

    def ratio(self, peer: str) -> float | None:
        """How many times as good as the peer we are: above 1 is better. None where there is nothing to compare."""
        other = self.peers.get(peer)
        if other is None or not other.value or not self.ours.value:
            return None
        quotient = self.ours.value / other.value
        return quotient if self.ours.unit.endswith("/s") else 1 / quotient


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of one part, with remarks on how they were taken in this run."""

    part: str
    title: str
    rows: Sequence[Row]
    remarks: Sequence[str] = ()
    ours: str = "ours"  # what the first figure of every row is of, where that is not simply ours
    failure: str = ""  # why it has no rows, where measuring it failed
    devices: int = 0  # how many generated records it was measured with


@dataclass(frozen=True, slots=True)
class Report:
    """All that one run measured, in the order in which it is shown, and under which conditions."""

    conditions: Sequence[str]
    measured: Sequence[Section]

    def of(self, part: str) -> dict[int, Section]:
        """A part at every size at which it was measured, smallest first."""
        found = {each.devices: each for each in self.measured if each.part == part}
        return dict(sorted(found.items()))


def latencies(seconds: Sequence[float], **details: float | int | str) -> Figure:
    """The figure of some measured times: p50 with p99 and the longest, in milliseconds."""
    spread = {"p99": percentile(seconds, 99) * 1e3, "max": max(seconds) * 1e3, "samples": len(seconds)}
    return Figure(percentile(seconds, 50) * 1e3, "ms", {**spread, **details})


def median_figure(rounds: Sequence[Figure]) -> Figure:
    """One figure of several rounds: the median of each number, but the greatest time and memory, the sum of samples."""
    summaries: dict[str, Callable[..., float]] = {
        "max": max,
        "megabytes": max,
        "samples": sum,
        "least": min,
        "most": max,
    }
    details = {
        name: value if isinstance(value, str) else summaries.get(name, median)([each.details[name] for each in rounds])
        for name, value in rounds[0].details.items()
    }
    return Figure(median(each.value for each in rounds), rounds[0].unit, {**details, "rounds": len(rounds)})


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of the values do not exceed (nearest rank)."""
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def number(value: float) -> str:
    """A number with about three digits that matter."""
    if 0 < abs(value) < 0.095:
        return f"{value:.2g}"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
