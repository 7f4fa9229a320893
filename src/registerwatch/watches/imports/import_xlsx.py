"""The list in an Excel workbook: the first visible sheet that holds something, within the bounds of a list."""

from collections.abc import Sequence
from itertools import islice

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.archive import UNREADABLE
from registerwatch.files.tables.cells import Cell, bare
from registerwatch.files.tables.sheet import sheet_rows
from registerwatch.files.tables.workbook import Sheet, Workbook, open_workbook
from registerwatch.platform.structs import replace
from registerwatch.watches.imports.import_table import (
    MAX_COLUMNS,
    MAX_ROWS,
    ParsedList,
    Row,
    table_lines,
    too_many_rows,
)

MAX_UNPACKED_BYTES = 40 * 1024 * 1024

LIST_IS_EMPTY = "This workbook has no sheet that holds something."


def workbook_lines(content: bytes) -> ParsedList:
    """The lines of a workbook's first sheet that holds something. Raises `InvalidInput`, and nothing else."""
    try:
        return _lines(open_workbook(content, MAX_UNPACKED_BYTES))
    except InvalidInput:
        raise
    except Exception:  # noqa: BLE001  # a damaged archive or part raises any of a dozen
        raise InvalidInput(UNREADABLE) from None


def _lines(workbook: Workbook) -> ParsedList:
    for sheet in workbook.sheets:
        rows = _rows(workbook, sheet) if sheet.is_visible else []
        if rows:
            others = len(workbook.sheets) - 1
            return replace(table_lines(rows), sheet=bare(sheet.name), other_sheets=others)
    raise InvalidInput(LIST_IS_EMPTY)


def _rows(workbook: Workbook, sheet: Sheet) -> Sequence[Row]:
    """The rows that hold something, with their numbers."""
    found = [
        (row.number, [Cell(text, row.problems.get(column, "")) for column, text in enumerate(row.texts)])
        for row in islice(sheet_rows(workbook, sheet, MAX_COLUMNS), MAX_ROWS + 1)
    ]
    if len(found) > MAX_ROWS:
        raise too_many_rows()
    return found
