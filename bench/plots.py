"""The plots of a report: how figures grow with the number of devices, both databases, memory over time."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import EngFormatter, FuncFormatter, NullFormatter

from bench.figures import Figure, Report, Row, Section

GREY = "#7d8590"
"""Readable on light and on dark pages; the background is transparent."""
STYLE: Any = {
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": GREY,
    "font.size": 9,
    "grid.color": GREY,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "legend.labelcolor": GREY,
    "savefig.transparent": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "bench",
    "xtick.color": GREY,
    "ytick.color": GREY,
}
TICKS = FuncFormatter(lambda value, _: f"{value:g}" if value < 1_000 else EngFormatter(sep="")(value))
GROWTHS = {
    "growth-search": ("Search for the worst common word, p50", "ms", "search", "common word, no filter"),
    "growth-reads": ("Device reads, one core", "requests/s", "reads", "device, 200"),
    "growth-databases": (
        "Device reads by database, one core",
        "CPU ms a request",
        "databases",
        "device, 200: cost of a request",
    ),
    "growth-fill": ("Filling a copy", "records/s", "fill", "copy and index together, until the command ends"),
    "growth-start": (
        "From the start to the first search and device",
        "s",
        "start",
        "until a search and a device are answered",
    ),
}
"""By the name of the file: title, unit, part, and the row's key."""
SHORTER = {
    "`If-None-Match`": "304",
    "device, 200, one connection": "device, 1 conn.",
    "actor with its first 20 devices": "actor",
    "search, common words, on the market": "words, filter",
    "search, common words": "words",
    "search, rare words": "rare",
    "search by SRN": "by SRN",
}
"""Names below groups of bars, where those of the rows are too long."""


def write(report: Report, folder: Path) -> dict[str, str]:
    """Write every plot for which there are figures as SVG; their titles by file name."""
    written = {}
    for name, (title, unit, part, key) in GROWTHS.items():
        rows = {
            size: (section, row) for size, section in report.of(part).items() for row in section.rows if row.key == key
        }
        if len(rows) > 1:
            written[name] = title
            with _drawn(folder / f"{name}.svg", title, unit) as axes:
                _growth(axes, rows)
    for name, (title, unit, part, draw) in OTHERS.items():
        if section := _largest(report, part):
            written[name] = title
            with _drawn(folder / f"{name}.svg", title, unit) as axes:
                draw(axes, section)
    return written


@contextmanager
def _drawn(path: Path, title: str, unit: str) -> Iterator[Axes]:
    with mpl.rc_context(STYLE):
        drawing = Drawing(figsize=(7.2, 3.6), layout="constrained")
        axes = drawing.subplots()
        axes.set_title(title, loc="left", fontweight="bold")
        axes.set_ylabel(unit)
        axes.grid(axis="y")
        yield axes
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
        drawing.savefig(path, metadata={"Date": None, "Title": title})


def _growth(axes: Axes, rows: Mapping[int, tuple[Section, Row]]) -> None:
    lines: dict[str, list[tuple[float, float]]] = {}
    for size, (section, row) in rows.items():
        for name, figure in _named(section, row):
            lines.setdefault(name, []).append((size, figure.value))
    for name, points in lines.items():
        axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=name)
    axes.set(xscale="log", yscale="log", xlabel="generated records (logarithmic)", xticks=list(rows))
    axes.xaxis.set_minor_formatter(NullFormatter())
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(TICKS)


def _costs(axes: Axes, section: Section) -> None:
    """Bars of what each kind of request costs, those of both databases side by side."""
    rows = [row for row in section.rows if row.ours.unit == "CPU ms"]
    names = [name for name, _ in _named(section, rows[0])]
    for place, name in enumerate(names):
        values = [dict(_named(section, row))[name].value for row in rows]
        at = [number + (place - 0.5 * (len(names) - 1)) * 0.4 for number in range(len(rows))]
        axes.bar(at, values, width=0.38, label=name)
    labels = [row.what.partition(":")[0] for row in rows]
    for long, short in SHORTER.items():
        labels = [label.replace(long, short) for label in labels]
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(TICKS)
    axes.set_xticks(range(len(rows)), [label.replace(", ", ",\n") for label in labels], fontsize=7)


def _memory(axes: Axes, section: Section) -> None:
    """Memory over time, by database."""
    for row in section.rows:
        for name, figure in _named(section, row):
            points = [point.split(":") for point in str(figure.details.get("course", "")).split()]
            if points:
                axes.plot([float(x) for x, _ in points], [float(y) for _, y in points], label=name)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("seconds")


def _named(section: Section, row: Row) -> Iterator[tuple[str, Figure]]:
    yield section.ours, row.ours
    yield from ((name, figure) for name, figure in row.peers.items() if figure is not None)


def _largest(report: Report, part: str) -> Section | None:
    """The part with the most records at which it was measured."""
    return next((each for each in reversed(report.of(part).values()) if each.rows), None)


OTHERS = {
    "databases": ("What a request costs, both databases", "CPU ms a request", "databases", _costs),
    "mixed-memory": ("Memory of the service under the mixed load", "MB resident", "mixed", _memory),
}
"""Plots of the largest size alone, by the name of the file: title, unit, part, how it is drawn."""
