"""Showing what was measured: a table for people, JSON for programs, a section of the documentation."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from bench.figures import Figure, Report, Row, Section, number

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
TITLE = "# Performance\n"
NOTHING = "—"


def show(report: Report, console: Console) -> None:
    """Print the tables, those of each size by themselves."""
    for line in report.conditions:
        console.print(line, highlight=False)
    for each in report.measured:
        _show(each.section, f" ({each.devices:,} records)" if len(report.sizes) > 1 else "", console)


def _show(section: Section, size: str, console: Console) -> None:
    console.print()
    if section.failure:
        console.print(f"{section.title}{size}: not measured. {section.failure}", highlight=False, markup=False)
        return
    table = Table(*_columns(section), title=section.title + size, title_justify="left", pad_edge=False)
    for row in section.rows:
        table.add_row(*_cells(section, row))
    console.print(table)
    for remark in section.remarks:
        console.print(f"  {remark}", highlight=False, markup=False)


def as_json(report: Report) -> bytes:
    """The same for programs, with every detail; a line for each part and size."""
    measured = [msgspec.json.encode(_rounded(msgspec.to_builtins(each))) for each in report.measured]
    head = msgspec.json.encode({"conditions": report.conditions})[:-1]
    return head + b',"measured":[\n' + b",\n".join(measured) + b"\n]}\n"


def from_json(content: bytes) -> Report:
    """A report that was kept. Raises `msgspec.MsgspecError` where it is none."""
    return msgspec.json.decode(content, type=Report)


def as_markdown(report: Report) -> str:
    """The same as a part of a Markdown document: a part with several sizes as a table of its growth."""
    lines = [f"- {line}" for line in report.conditions]
    for part in report.parts:
        lines += ["", *_part_lines(report, part)]
    return "\n".join(lines) + "\n"


def write_into(document: Path, markdown: str) -> None:
    """Put the measured part in place of the former one, between its marks; what stands around it stays."""
    text = document.read_text(encoding="utf-8") if document.exists() else f"{TITLE}\n"
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    document.parent.mkdir(parents=True, exist_ok=True)
    written = f"{before.rstrip()}\n\n{BEGIN}\n\n{markdown}\n{END}\n"
    document.write_text(written + (f"\n{after.strip()}\n" if after.strip() else ""), encoding="utf-8")


def _rounded(value: Any) -> Any:
    """The same with six digits of every measured number, which is more than is known."""
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _part_lines(report: Report, part: str) -> list[str]:
    sections = report.of(part)
    taken = {size: section for size, section in sections.items() if not section.failure}
    failed = [
        f"- Not measured with {size:,} records: {section.failure}"
        for size, section in sections.items()
        if section.failure
    ]
    if not taken:
        return [f"### {next(iter(sections.values())).title}", "", *failed]
    largest = next(reversed(taken.values()))
    if len(taken) > 1:
        table = _growth_lines(taken)
    else:
        table = [_line(_columns(largest)), _line(["---"] * len(_columns(largest)))]
        table += [_line(_cells(largest, row)) for row in largest.rows]
    records = f"{next(iter(taken)):,} records" if len(taken) == 1 else "by size"
    heading = largest.title if len(report.sizes) == 1 else f"{_without_size(largest)}, {records}"
    return [f"### {heading}", "", *table, "", *failed, *(f"- {remark}" for remark in largest.remarks)]


def _without_size(section: Section) -> str:
    return section.heading or section.title


def _growth_lines(sections: dict[int, Section]) -> list[str]:
    """One line for each figure, one column for each size."""
    columns = ["what", "whose", *(f"{size:,}" for size in sections), "goal", "met"]
    lines = [_line(columns), _line(["---", "---", *("---:" for _ in sections), "---", "---"])]
    by_size = [{row.key: row for row in section.rows} for section in sections.values()]
    for key in dict.fromkeys(key for rows in by_size for key in rows):
        rows = [rows.get(key) for rows in by_size]
        lines += [_line(cells) for cells in _growth_of(key, rows, next(iter(sections.values())).ours)]
    return lines


def _growth_of(key: str, rows: Sequence[Row | None], whose: str) -> Iterable[list[str]]:
    """The lines of one thing measured: ours, then every peer with the ratio in brackets."""
    goals = [row.goal for row in rows if row is not None and row.goal is not None]
    goal = [goals[0].text, " / ".join(_met(row) for row in rows)] if goals else ["", ""]
    yield [key, whose, *(NOTHING if row is None else _ours(row) for row in rows), *goal]
    for peer in dict.fromkeys(peer for row in rows if row is not None for peer in row.peers):
        yield ["", peer, *(NOTHING if row is None else _peer_in_brackets(row, peer) for row in rows), "", ""]


def _met(row: Row | None) -> str:
    return NOTHING if row is None or row.goal is None else "yes" if row.goal.met else "NO"


def _ours(row: Row) -> str:
    found = _total(row.ours)
    return row.ours.text + (f", {found} found" if found else "")


def _peer_in_brackets(row: Row, name: str) -> str:
    text, ratio = _peer_cells(row, name)
    return f"{text} ({ratio})" if ratio else text


def _peers(section: Section) -> list[str]:
    return list(dict.fromkeys(name for row in section.rows for name in row.peers))


def _tells_totals(section: Section) -> bool:
    return any("total" in row.ours.details for row in section.rows)


def _columns(section: Section) -> list[str]:
    """Every peer is followed by its ratio."""
    found = ["found"] if _tells_totals(section) else []
    peers = [column for name in _peers(section) for column in (name, "ratio")]
    return ["what", section.ours, *found, *peers, "goal", "met"]


def _cells(section: Section, row: Row) -> list[str]:
    found = [_total(row.ours)] if _tells_totals(section) else []
    peers = [cell for name in _peers(section) for cell in _peer_cells(row, name)]
    goal = [row.goal.text, _met(row)] if row.goal else ["", ""]
    return [row.what, row.ours.text, *found, *peers, *goal]


def _peer_cells(row: Row, name: str) -> tuple[str, str]:
    """The peer's figure, with what it found where that differs from ours, and the ratio."""
    figure, ratio = row.peers.get(name), row.ratio(name)
    if figure is None:
        return NOTHING, ""
    found = _total(figure)
    other = "" if not found or found == _total(row.ours) else f" ({found} found)"
    return figure.text + other, "" if ratio is None else number(ratio)


def _total(figure: Figure) -> str:
    total = figure.details.get("total")
    return "" if total is None else f"{int(total):,}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
