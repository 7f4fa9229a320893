"""Showing what was measured: a table for people, JSON for programs, a section of the documentation."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.figures import Figure, Row, Section, number

BEGIN, END = "<!-- measured: written by `python -m bench --write-docs` -->", "<!-- measured: end -->"
TITLE = "# Performance\n"


def show(sections: Sequence[Section], conditions: Sequence[str], console: Console) -> None:
    """Print the tables."""
    for line in conditions:
        console.print(line, highlight=False)
    for section in sections:
        table = Table(*_columns(section), title=section.title, title_justify="left", pad_edge=False)
        for row in section.rows:
            table.add_row(*_cells(section, row))
        console.print()
        console.print(table)
        for remark in section.remarks:
            console.print(f"  {remark}", highlight=False, markup=False)


def as_json(sections: Sequence[Section], conditions: Sequence[str]) -> str:
    """The same for programs, with every detail."""
    document = {
        "conditions": list(conditions),
        "sections": [
            {
                "part": section.part,
                "title": section.title,
                "rows": [_row_json(row) for row in section.rows],
                "remarks": list(section.remarks),
            }
            for section in sections
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def as_markdown(sections: Sequence[Section], conditions: Sequence[str]) -> str:
    """The same as a part of a Markdown document."""
    lines = [f"- {line}" for line in conditions]
    for section in sections:
        columns = _columns(section)
        lines += ["", f"### {section.title}", "", _line(columns), _line(["---"] * len(columns))]
        lines += [_line(_cells(section, row)) for row in section.rows]
        if section.remarks:
            lines += ["", *(f"- {remark}" for remark in section.remarks)]
    return "\n".join(lines) + "\n"


def write_into(document: Path, markdown: str) -> None:
    """Put the measured part in place of the former one, between its marks; what stands around it stays."""
    text = document.read_text(encoding="utf-8") if document.exists() else f"{TITLE}\n{BEGIN}\n{END}\n"
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    document.parent.mkdir(parents=True, exist_ok=True)
    document.write_text(f"{before.rstrip()}\n\n{BEGIN}\n\n{markdown}\n{END}\n{after.lstrip()}", encoding="utf-8")


def _peers(section: Section) -> list[str]:
    return list(dict.fromkeys(name for row in section.rows for name in row.peers))


def _tells_totals(section: Section) -> bool:
    return any("total" in row.ours.details for row in section.rows)


def _columns(section: Section) -> list[str]:
    """Every peer is followed by its ratio."""
    found = ["found"] if _tells_totals(section) else []
    peers = [column for name in _peers(section) for column in (name, "ratio")]
    return ["what", "ours", *found, *peers, "goal", "met"]


def _cells(section: Section, row: Row) -> list[str]:
    found = [_total(row.ours)] if _tells_totals(section) else []
    peers = [cell for name in _peers(section) for cell in _peer_cells(row, name)]
    goal = [row.goal.text, "yes" if row.goal.met else "NO"] if row.goal else ["", ""]
    return [row.what, row.ours.text, *found, *peers, *goal]


def _peer_cells(row: Row, name: str) -> tuple[str, str]:
    """The peer's figure, with what it found where that differs from ours, and the ratio."""
    figure, ratio = row.peers.get(name), row.ratio(name)
    if figure is None:
        return "—", ""
    other = "" if _total(figure) == _total(row.ours) else f" ({_total(figure)} found)"
    return figure.text + other, "" if ratio is None else number(ratio)


def _total(figure: Figure) -> str:
    total = figure.details.get("total")
    return "" if total is None else f"{int(total):,}"


def _row_json(row: Row) -> dict[str, Any]:
    peers = {
        name: None if figure is None else {**_figure_json(figure), "ratio": row.ratio(name)}
        for name, figure in row.peers.items()
    }
    goal = {"text": row.goal.text, "met": row.goal.met} if row.goal else None
    return {"what": row.what, "ours": _figure_json(row.ours), "peers": peers, "goal": goal}


def _figure_json(figure: Figure) -> dict[str, Any]:
    return {"value": figure.value, "unit": figure.unit, **figure.details}


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
