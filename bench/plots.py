"""The plots of a report: how figures grow with the number of devices, and memory over time."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import EngFormatter, FuncFormatter, NullFormatter

from bench.figures import Figure, Report

Lines = Mapping[str, Sequence[tuple[float, float]]]
STYLE: Any = {"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "bench"}
TICKS = FuncFormatter(lambda value, _: f"{value:g}" if value < 1_000 else EngFormatter(sep="")(value))
MEMORY = "mixed-memory"
NEWS = "news-minutes"
NEWS_TITLE = "Changes told within so many minutes, about 10,500 watches, simulated"
PLOTS = f"""
growth-search|Search for the worst common word, p50|ms|search|common word, no filter
growth-reads|Device reads, one core|requests/s|reads|device, 200
growth-databases|Device reads by database, one core|CPU ms a request|databases|device, 200: cost of a request
growth-fill|Filling a copy|records/s|fill|copy and index together, until the command ends
growth-start|From the start to the first search and device|s|start|until a search and a device are answered
{MEMORY}|Memory of the service under the mixed load|MB resident|mixed|growth of memory after the first 20 %
"""
"""The name of the file, title, unit, part, and what the row is of."""


def write(report: Report, folder: Path) -> dict[str, str]:
    """Write every plot for which there are figures as SVG; their titles by file name."""
    written = {}
    for name, title, unit, part, what in (line.split("|") for line in PLOTS.split("\n") if line):
        lines = defaultdict[str, list[tuple[float, float]]](list)
        for size, section in report.of(part).items():
            for row in (each for each in section.rows if each.what == what):
                for whose, figure in {section.ours: row.ours, **row.peers}.items():
                    lines[whose] += _points(size, figure) if figure else []
        if any(len(points) > 1 for points in lines.values()):
            _draw(folder / f"{name}.svg", title, unit, lines)
            written[name] = title
    if courses := _news(report):
        _draw(folder / f"{NEWS}.svg", NEWS_TITLE, "% of changes", courses)
        written[NEWS] = NEWS_TITLE
    return written


def _news(report: Report) -> Lines:
    """The course of each kind of news at the middle number of watches, and that of the recheck alone."""
    rows = [
        row for section in report.of("news").values() for row in section.rows if row.what.endswith("10,500 watches")
    ]
    lines = {row.what.partition(",")[0]: _points(0, row.ours) for row in rows}
    rechecked = next((row.peers[name] for row in rows for name in row.peers if row.peers[name]), None)
    return {**lines, "any change, by the recheck alone": _points(0, rechecked)} if rechecked else lines


def _points(size: int, figure: Figure) -> list[tuple[float, float]]:
    """The course of a figure over the seconds where it has one, else its value at the size."""
    course = [point.split(":") for point in str(figure.details.get("course", "")).split()]
    return [(float(x), float(y)) for x, y in course] or [(size, figure.value)]


def _draw(path: Path, title: str, unit: str, lines: Lines) -> None:
    with mpl.rc_context(STYLE):
        drawing = Drawing(figsize=(7.2, 3.6), layout="constrained")
        axes = drawing.subplots()
        for name, points in lines.items():
            axes.plot(
                *zip(*points, strict=True), marker="" if path.stem in (MEMORY, NEWS) else "o", markersize=4, label=name
            )
        if path.stem == MEMORY:
            axes.set(ylim=(0, None), xlabel="seconds")
        elif path.stem == NEWS:
            axes.set(xscale="log", ylim=(0, 100), xlabel="minutes (logarithmic)")
            axes.xaxis.set_major_formatter(TICKS)
        else:
            sizes = sorted({size for points in lines.values() for size, _ in points})
            axes.set(xscale="log", yscale="log", xlabel="generated records (logarithmic)", xticks=sizes)
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.xaxis.set_major_formatter(TICKS)
            axes.yaxis.set_major_formatter(TICKS)
        axes.set_ylabel(unit)
        axes.set_title(title, loc="left", fontweight="bold")
        axes.grid(alpha=0.3)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        drawing.savefig(path, metadata={"Date": None, "Title": title})
