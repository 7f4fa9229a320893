"""The report in the documentation: tables in `performance.md`, plots and the raw figures beside it."""

from pathlib import Path

from bench import plots, report
from bench.figures import Report
from bench.log import say

PLOTS = "plots"
FIGURES = "figures.json"


def write(found: Report, docs: Path) -> None:
    """Write plots, figures and tables; plots of an earlier report that this one has no figures for go away."""
    folder = docs / PLOTS
    folder.mkdir(parents=True, exist_ok=True)
    drawn = plots.drawn(found)
    for old in folder.glob("*.svg"):
        old.unlink()
    for plot in drawn:
        (folder / f"{plot.name}.svg").write_text(plot.svg, encoding="utf-8")
    (folder / FIGURES).write_bytes(report.as_json(found))
    shown = "".join(f"\n![{plot.title}]({PLOTS}/{plot.name}.svg)\n" for plot in drawn)
    told = f"Every figure with its details is in [{PLOTS}/{FIGURES}]({PLOTS}/{FIGURES}).\n"
    report.write_into(docs / "performance.md", f"{told}\n{report.as_markdown(found)}{shown}")
    say(f"written: {docs / 'performance.md'}, {len(drawn)} plots, {FIGURES}")
