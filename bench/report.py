"""Showing what was measured: Markdown for people, JSON for programs, a part of the documentation with plots."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

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
    measured = [msgspec.json.encode(_rounded(msgspec.to_builtins(each))) for each in report.measured]
    head = msgspec.json.encode({"conditions": report.conditions})[:-1]
    return head + b',"measured":[\n' + b",\n".join(measured) + b"\n]}\n"


def from_json(content: bytes) -> Report:
    """A report that was kept. Raises `msgspec.MsgspecError` where it is none."""
    return msgspec.json.decode(content, type=Report)


def as_markdown(report: Report) -> str:
    """All tables: a part with several sizes as a table of its growth."""
    lines = [f"- {line}" for line in report.conditions]
    has_sizes = len({each.devices for each in report.measured}) > 1
    for part in dict.fromkeys(each.section.part for each in report.measured):
        lines += ["", *_part(report.of(part), has_sizes=has_sizes)]
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


def _rounded(value: Any) -> Any:
    """The same with six digits of every measured number, which is more than is known."""
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _part(sections: dict[int, Section], *, has_sizes: bool) -> Iterator[str]:
    taken = {size: section for size, section in sections.items() if not section.failure}
    *_, last = (taken or sections).values()
    records = f"{next(iter(taken)):,} records" if len(taken) == 1 else "by size"
    yield f"### {f'{last.heading or last.title}, {records}' if has_sizes and taken else last.title}"
    yield ""
    if taken:
        yield from _growth(taken) if len(taken) > 1 else _table(last)
        yield ""
    for size, section in sections.items():
        if section.failure:
            yield f"- Not measured with {size:,} records: {section.failure}"
    yield from (f"- {remark}" for remark in last.remarks)


def _table(section: Section) -> Iterator[str]:
    """The table of one size, in which every peer is followed by its ratio."""
    peers = list(dict.fromkeys(name for row in section.rows for name in row.peers))
    counts = any(row.ours.total for row in section.rows)
    columns = ["what", section.ours, *(["found"] if counts else [])]
    columns += [column for name in peers for column in (name, "ratio")]
    yield _line([*columns, "goal", "met"])
    yield _line(["---"] * (len(columns) + 2))
    for row in section.rows:
        cells = [row.what, row.ours.text, *([row.ours.total] if counts else [])]
        cells += [cell for name in peers for cell in _peer(row, name)]
        yield _line([*cells, row.goal.text if row.goal else "", _met(row) if row.goal else ""])


def _growth(sections: dict[int, Section]) -> Iterator[str]:
    """The table of several sizes: a line for ours and for every peer, the ratio in brackets; a column for each size."""
    yield _line(["what", "whose", *(f"{size:,}" for size in sections), "goal", "met"])
    yield _line(["---", "---", *("---:" for _ in sections), "---", "---"])
    by_size = [{row.key: row for row in section.rows} for section in sections.values()]
    whose = next(iter(sections.values())).ours
    for key in dict.fromkeys(key for rows in by_size for key in rows):
        rows = [by_key.get(key) for by_key in by_size]
        goals = [row.goal.text for row in rows if row is not None and row.goal is not None]
        ours = [NOTHING if row is None else _ours(row.ours) for row in rows]
        yield _line([key, whose, *ours, *([goals[0], " / ".join(map(_met, rows))] if goals else ["", ""])])
        for name in dict.fromkeys(name for row in rows if row is not None for name in row.peers):
            cells = [(NOTHING, "") if row is None else _peer(row, name) for row in rows]
            yield _line(["", name, *(f"{text} ({ratio})" if ratio else text for text, ratio in cells), "", ""])


def _ours(figure: Figure) -> str:
    return figure.text + (f", {figure.total} found" if figure.total else "")


def _peer(row: Row, name: str) -> tuple[str, str]:
    """The peer's figure, with what it found where that differs from ours, and the ratio."""
    figure, ratio = row.peers.get(name), row.ratio(name)
    if figure is None:
        return NOTHING, ""
    other = f" ({figure.total} found)" if figure.total not in ("", row.ours.total) else ""
    return figure.text + other, "" if ratio is None else number(ratio)


def _met(row: Row | None) -> str:
    return NOTHING if row is None or row.goal is None else "yes" if row.goal.met else "NO"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
