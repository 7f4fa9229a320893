"""Showing what was measured: Markdown for people, JSON for programs, a part of the documentation with plots."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from bench import plots
from bench.figures import Figure, Report, Row, Section, number
from bench.setup import say

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
TITLE = "# Performance\n"
NOTHING = "—"
PLOTS = "plots"
FIGURES = "figures.json"


def as_json(report: Report) -> bytes:
    """All figures with every detail; a line for each part and size."""
    return msgspec.json.encode(report).replace(b'{"part":', b'\n{"part":') + b"\n"


def from_json(content: bytes) -> Report:
    """A report that was kept. Raises `msgspec.MsgspecError` where it is none."""
    return msgspec.json.decode(content, type=Report)


def as_markdown(report: Report) -> str:
    """All tables, one for each part."""
    lines = [f"- {line}" for line in report.conditions]
    for part in dict.fromkeys(each.part for each in report.measured):
        lines += ["", *_part(report.of(part))]
    return "\n".join(lines) + "\n"


def write(report: Report, docs: Path) -> None:
    """Write tables into `performance.md`, plots and raw figures beside it; plots without figures go away."""
    folder = docs / PLOTS
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    drawn = plots.write(report, folder)
    (folder / FIGURES).write_bytes(as_json(report))
    shown = "".join(f"\n![{title}]({PLOTS}/{name}.svg)\n" for name, title in drawn.items())
    intro = f"Every figure with its details is in [{PLOTS}/{FIGURES}]({PLOTS}/{FIGURES}).\n"
    write_into(docs / "performance.md", f"{intro}\n{as_markdown(report)}{shown}")
    say(f"written: {docs / 'performance.md'}, {len(drawn)} plots, {FIGURES}")


def write_into(document: Path, markdown: str) -> None:
    """Put the measured part in place of the former one, between its marks; what stands around it stays."""
    text = document.read_text(encoding="utf-8") if document.exists() else f"{TITLE}\n"
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2].strip()
    written = f"{before.rstrip()}\n\n{BEGIN}\n\n{markdown}\n{END}\n"
    document.write_text(written + (f"\n{after}\n" if after else ""), encoding="utf-8")


def _part(sections: dict[int, Section]) -> Iterator[str]:
    taken = {size: section for size, section in sections.items() if not section.failure}
    *_, last = (taken or sections).values()
    yield f"### {last.title}"
    yield ""
    if taken:
        yield from _table(taken)
        yield ""
    for size, section in sections.items():
        if section.failure:
            yield f"- Not measured with {size:,} records: {section.failure}"
    yield from (f"- {remark}" for remark in last.remarks)


def _table(sections: dict[int, Section]) -> Iterator[str]:
    """A line for ours and for every peer, with its ratio in brackets; a column for each size."""
    yield _line(["what", "whose", *(f"{size:,}" for size in sections), "goal", "met"])
    yield _line(["---", "---", *("---:" for _ in sections), "---", "---"])
    by_size = [{row.what: row for row in section.rows} for section in sections.values()]
    whose = next(iter(sections.values())).ours
    for what in dict.fromkeys(what for rows in by_size for what in rows):
        rows = [by_what.get(what) for by_what in by_size]
        goals = [row.goal.text for row in rows if row is not None and row.goal is not None]
        ours = [NOTHING if row is None else _ours(row.ours) for row in rows]
        yield _line([what, whose, *ours, *([goals[0], " / ".join(map(_met, rows))] if goals else ["", ""])])
        for name in dict.fromkeys(name for row in rows if row is not None for name in row.peers):
            yield _line(["", name, *(NOTHING if row is None else _peer(row, name) for row in rows), "", ""])


def _ours(figure: Figure) -> str:
    return figure.text + (f", {figure.total} found" if figure.total else "")


def _peer(row: Row, name: str) -> str:
    """The peer's figure, with what it found where that differs from ours, and the ratio."""
    figure, ratio = row.peers.get(name), row.ratio(name)
    if figure is None:
        return NOTHING
    other = f" ({figure.total} found)" if figure.total not in ("", row.ours.total) else ""
    return figure.text + other + ("" if ratio is None else f" ({number(ratio)})")


def _met(row: Row | None) -> str:
    return NOTHING if row is None or row.goal is None else "yes" if row.goal.met else "NO"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
