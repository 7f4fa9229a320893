"""What a measurement says: figures, rows that put them side by side, sections of rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

Unit = Literal["requests/s", "records/s", "logins/s", "verifications/s", "deliveries/s", "reads/s", "ms", "s", "MB"]

MORE_IS_BETTER: frozenset[Unit] = frozenset(
    {"requests/s", "records/s", "logins/s", "verifications/s", "deliveries/s", "reads/s"}
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured number. `details` has what belongs to it, such as `p99`, `max`, `samples`, `total`."""

    value: float
    unit: Unit
    details: Mapping[str, float | int | str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The figure as a table shows it; of latencies p50, p99 and the longest, of rates p50 and p99 beside."""
        if self.unit == "ms":
            return f"{self._times('p99', 'max', first=self.value)} ms"
        beside = f", {self._times('p50_ms', 'p99_ms')} ms" if "p99_ms" in self.details else ""
        return f"{number(self.value)} {self.unit}{beside}"

    def _times(self, *names: str, first: float | None = None) -> str:
        times = [first, *(float(self.details[name]) for name in names if name in self.details)]
        return " / ".join(number(time) for time in times if time is not None)


@dataclass(frozen=True, slots=True)
class Goal:
    """What was asked for, and whether this run has it."""

    text: str
    met: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One thing measured, ours beside its peers."""

    what: str
    ours: Figure
    peers: Mapping[str, Figure | None] = field(default_factory=dict)
    """By name; None where the peer cannot do this."""
    goal: Goal | None = None

    def ratio(self, peer: str) -> float | None:
        """How many times as good as the peer we are: above 1 is better. None where there is nothing to compare."""
        other = self.peers.get(peer)
        if other is None or not other.value or not self.ours.value:
            return None
        quotient = self.ours.value / other.value
        return quotient if self.ours.unit in MORE_IS_BETTER else 1 / quotient


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of one part, with remarks on how they were taken in this run."""

    part: str
    title: str
    rows: Sequence[Row]
    remarks: Sequence[str] = ()


def latencies(seconds: Sequence[float], **details: float | int | str) -> Figure:
    """The figure of some measured times: p50 with p99 and the longest, in milliseconds."""
    spread = {"p99": percentile(seconds, 99) * 1e3, "max": max(seconds) * 1e3, "samples": len(seconds)}
    return Figure(percentile(seconds, 50) * 1e3, "ms", {**spread, **details})


def median_figure(rounds: Sequence[Figure]) -> Figure:
    """One figure of several rounds: the median of each number, but the longest time of all and the sum of samples."""
    details = {name: _over_rounds(name, [each.details[name] for each in rounds]) for name in rounds[0].details}
    return Figure(median(each.value for each in rounds), rounds[0].unit, {**details, "rounds": len(rounds)})


def _over_rounds(name: str, values: Sequence[float | int | str]) -> float | int | str:
    numbers = [value for value in values if not isinstance(value, str)]
    if len(numbers) < len(values):
        return values[0]
    if name == "samples":
        return sum(numbers)
    return max(numbers) if name == "max" else median(numbers)


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def number(value: float) -> str:
    """A number with about three digits that matter."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
