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

STYLE: Any = {"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "bench"}
TICKS = FuncFormatter(lambda value, _: f"{value:g}" if value < 1_000 else EngFormatter(sep="")(value))
GROWTHS = """
growth-search|Search for the worst common word, p50|ms|search|common word, no filter
growth-reads|Device reads, one core|requests/s|reads|device, 200
growth-databases|Device reads by database, one core|CPU ms a request|databases|device, 200: cost of a request
growth-fill|Filling a copy|records/s|fill|copy and index together, until the command ends
growth-start|From the start to the first search and device|s|start|until a search and a device are answered
"""
"""The name of the file, title, unit, part, and what the row is of."""


def write(report: Report, folder: Path) -> dict[str, str]:
    """Write every plot for which there are figures as SVG; their titles by file name."""
    written = {}
    for name, title, unit, part, what in (line.split("|") for line in GROWTHS.split("\n") if line):
        found = report.of(part).items()
        rows = {size: (section, row) for size, section in found for row in section.rows if row.what == what}
        if len(rows) > 1:
            written[name] = title
            with _drawn(folder / f"{name}.svg", title) as axes:
                axes.set_ylabel(unit)
                _growth(axes, rows)
    for name, (title, part, draw) in OTHERS.items():
        section = next((each for each in reversed(report.of(part).values()) if each.rows), None)
        if section is not None:
            written[name] = title
            with _drawn(folder / f"{name}.svg", title) as axes:
                draw(axes, section)
    return written


@contextmanager
def _drawn(path: Path, title: str) -> Iterator[Axes]:
    with mpl.rc_context(STYLE):
        drawing = Drawing(figsize=(7.2, 3.6), layout="constrained")
        axes = drawing.subplots()
        axes.set_title(title, loc="left", fontweight="bold")
        axes.grid(alpha=0.3)
        yield axes
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        drawing.savefig(path, metadata={"Date": None, "Title": title})


def _growth(axes: Axes, rows: Mapping[int, tuple[Section, Row]]) -> None:
    lines: dict[str, list[tuple[float, float]]] = {}
    for size, (section, row) in rows.items():
        for name, figure in _named(section, row).items():
            lines.setdefault(name, []).append((size, figure.value))
    for name, points in lines.items():
        axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=name)
    axes.set(xscale="log", yscale="log", xlabel="generated records (logarithmic)", xticks=list(rows))
    axes.xaxis.set_minor_formatter(NullFormatter())
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(TICKS)


def _costs(axes: Axes, section: Section) -> None:
    """Bars of what each kind of request costs, those of both databases side by side."""
    costs = {row.what.partition(":")[0]: _named(section, row) for row in section.rows if row.ours.unit == "CPU ms"}
    for side, name in enumerate(next(iter(costs.values()))):
        places = [place + 0.4 * side for place in range(len(costs))]
        axes.barh(places, [figures[name].value for figures in costs.values()], height=0.38, label=name)
    axes.set(xscale="log", xlabel="CPU ms a request (logarithmic)")
    axes.set_yticks([place + 0.2 for place in range(len(costs))], list(costs))
    axes.xaxis.set_major_formatter(TICKS)
    axes.invert_yaxis()


def _memory(axes: Axes, section: Section) -> None:
    for row in section.rows:
        for name, figure in _named(section, row).items():
            points = [point.split(":") for point in str(figure.details.get("course", "")).split()]
            if points:
                axes.plot([float(x) for x, _ in points], [float(y) for _, y in points], label=name)
    axes.set(ylim=(0, None), xlabel="seconds", ylabel="MB resident")


def _named(section: Section, row: Row) -> dict[str, Figure]:
    return {section.ours: row.ours} | {name: figure for name, figure in row.peers.items() if figure is not None}


OTHERS = {  # plots of the largest size alone, by the name of the file: title, part, how it is drawn
    "databases": ("What a request costs, both databases", "databases", _costs),
    "mixed-memory": ("Memory of the service under the mixed load", "mixed", _memory),
}
