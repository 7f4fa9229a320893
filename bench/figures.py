"""What a measurement says: figures, rows that put them side by side, sections of rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

Unit = Literal[
    "requests/s",
    "records/s",
    "logins/s",
    "verifications/s",
    "deliveries/s",
    "reads/s",
    "ms",
    "s",
    "MB",
    "CPU ms",
    "times",
    "MB/min",
    "answers",
    "files",
]

MORE_IS_BETTER: frozenset[Unit] = frozenset(
    {"requests/s", "records/s", "logins/s", "verifications/s", "deliveries/s", "reads/s"}
)
COUNTED: frozenset[Unit] = frozenset({"answers", "files"})


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured number. `details` has what belongs to it, such as `p99`, `max`, `samples`, `total`."""

    value: float
    unit: Unit
    details: Mapping[str, float | int | str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The figure as a table shows it; of latencies p50, p99, the longest, how many; of rates p50 and p99 beside."""
        if self.unit == "ms":
            asked = f" ({int(self.details['requests']):,})" if "requests" in self.details else ""
            return f"{self._times('p99', 'max', first=self.value)} ms{asked}"
        if self.unit in COUNTED:
            return f"{self.value:,.0f} {self.unit}"
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
    same: str = ""
    """What is the same at every size, where `what` names things that are not."""

    @property
    def key(self) -> str:
        """By which rows of several sizes are put together."""
        return self.same or self.what

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
    heading: str = ""
    """The title where several sizes are shown together, if the title itself names one."""
    ours: str = "ours"
    """What the first figure of every row is of, where that is not simply ours."""
    failure: str = ""
    """Why it has no rows, where measuring it failed."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A part as it was measured with so many generated records."""

    devices: int
    section: Section


@dataclass(frozen=True, slots=True)
class Report:
    """All that one run measured, in the order in which it is shown, and under which conditions."""

    conditions: Sequence[str]
    measured: Sequence[Measured]

    @property
    def sizes(self) -> list[int]:
        """The sizes, smallest first."""
        return sorted({each.devices for each in self.measured})

    @property
    def parts(self) -> list[str]:
        """The parts in the order in which they are shown."""
        return list(dict.fromkeys(each.section.part for each in self.measured))

    def of(self, part: str) -> dict[int, Section]:
        """A part at every size at which it was measured, smallest first."""
        found = {each.devices: each.section for each in self.measured if each.section.part == part}
        return dict(sorted(found.items()))


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
    if 0 < abs(value) < 0.095:
        return f"{value:.2g}"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
