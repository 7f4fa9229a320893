"""Numbers, days and truth values among the cells of a table, which are all stored as texts. Pure.

A text file has no types: a column there is numeric if all its cells are numbers. A workbook has types: a column there
may hold anything but a text in the form of a number.
"""

import re
from collections.abc import Collection, Sequence
from datetime import date, datetime

from registerwatch.files.tables.cells import FileRow, number_cell

CellValue = int | float | date | datetime

_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]+)?(e-[0-9]{2})?")
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2})?")
_TRUTH = {"True": True, "False": False}


def value_of(text: str) -> CellValue | None:
    """The value that a text is the written form of, None for any other text. `007`, `1.50` and numbers of more than 15
    digits are texts, since the number would be written differently.
    """
    if _NUMBER.fullmatch(text):
        cell = number_cell(float(text))
        return _number(text) if cell.text == text and not cell.problem else None
    if _INSTANT.fullmatch(text):
        return _instant(text)
    return _TRUTH.get(text)


def typed_columns(rows: Sequence[FileRow], width: int, codes: Collection[int], *, has_types: bool) -> Sequence[int]:
    """The columns in which a cell in the form of a value is one. Columns of codes are never among them."""
    return [
        column
        for column in range(width)
        if column not in codes and (_has_typed if has_types else _has_numbers_alone)(column, rows)
    ]


def _has_typed(column: int, rows: Sequence[FileRow]) -> bool:
    """Whether a column of a workbook has values, and no text in the form of one."""
    has_any = False
    for row in rows:
        if column < len(row.texts) and value_of(row.texts[column]) is not None:
            if column not in row.typed:
                return False
            has_any = True
    return has_any


def _has_numbers_alone(column: int, rows: Sequence[FileRow]) -> bool:
    """Whether each cell of a column that is not empty is a number."""
    texts = [row.texts[column] for row in rows if column < len(row.texts) and row.texts[column]]
    return bool(texts) and all(_NUMBER.fullmatch(text) and value_of(text) is not None for text in texts)


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _instant(text: str) -> date | datetime | None:
    try:
        return datetime.fromisoformat(text) if " " in text else date.fromisoformat(text)
    except ValueError:
        return None
