"""The list in an Excel workbook, within bounds of what is unpacked.

Cells are read with the results of their formulas, as the spreadsheet stored them. Numbers become their digits; what a
spreadsheet has destroyed (dates, numbers of more than 15 digits, formulas without a result) is marked as such.
"""

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

import msgspec
from openpyxl import load_workbook

from registerwatch.errors import InvalidInput
from registerwatch.watches.import_table import MAX_ROWS, Cell, ParsedList, Row, bare, table_lines, too_many_rows

MAX_UNPACKED_BYTES = 40 * 1024 * 1024
MAX_PARTS = 1_000
"""Files in the workbook's archive."""
MAX_COLUMNS = 50
"""Columns that are looked at."""
MAX_SHEETS = 50
EXACT_BELOW = 10**15
"""Spreadsheets keep 15 digits of a number."""

UNREADABLE = "This workbook cannot be read. Save it anew as .xlsx, or as CSV."
TOO_LARGE = "This workbook is too large when it is unpacked. Save the column of identifiers alone, as .xlsx or CSV."
NO_WORKBOOK = "This file is packed, but it is no Excel workbook. Save the list as .xlsx or CSV."
OTHER_WORKBOOK = "This is a spreadsheet of another kind. Save the list as .xlsx or CSV."
LIST_IS_EMPTY = "This workbook has no sheet that holds something."

_FORMULA = re.compile(rb"<(\w+:)?f[\s/>]")


def workbook_lines(content: bytes) -> ParsedList:
    """The lines of a workbook's first sheet that holds something. Raises `InvalidInput`, and nothing else."""
    try:
        return _lines(content, has_formulas=_checked_archive(content))
    except InvalidInput:
        raise
    except Exception:  # noqa: BLE001  # openpyxl names no errors: a damaged file raises any of a dozen
        raise InvalidInput(UNREADABLE) from None


def _checked_archive(content: bytes) -> bool:
    """Whether a sheet has formulas. Raises `InvalidInput` for what is no workbook or too large. No more is unpacked
    than the archive says that it holds.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = _checked_names(archive.infolist())
        return any(_FORMULA.search(archive.read(name)) for name in names if name.startswith("xl/worksheets/"))


def _checked_names(parts: Sequence[zipfile.ZipInfo]) -> set[str]:
    names = {part.filename for part in parts}
    if {"mimetype", "content.xml", "xl/workbook.bin", "Index/Document.iwa"} & names:
        raise InvalidInput(OTHER_WORKBOOK)
    if "[Content_Types].xml" not in names or not any(name.startswith("xl/") for name in names):
        raise InvalidInput(NO_WORKBOOK)
    if len(parts) > MAX_PARTS or sum(part.file_size for part in parts) > MAX_UNPACKED_BYTES:
        raise InvalidInput(TOO_LARGE)
    return names


def _lines(content: bytes, *, has_formulas: bool) -> ParsedList:
    values = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
    formulas = load_workbook(io.BytesIO(content), read_only=True, keep_links=False) if has_formulas else values
    for sheet, written in zip(values.worksheets[:MAX_SHEETS], formulas.worksheets, strict=False):
        rows = _rows(sheet, written) if sheet.sheet_state == "visible" else []
        if rows:
            others = len(values.worksheets) - 1
            return msgspec.structs.replace(table_lines(rows), sheet=bare(sheet.title), other_sheets=others)
    raise InvalidInput(LIST_IS_EMPTY)


def _rows(values: Any, formulas: Any) -> list[Row]:
    """The rows that hold something, with their numbers."""
    found: list[Row] = []
    rows = ((row, row) for row in _cells_of(values))
    both = rows if formulas is values else zip(_cells_of(values), _cells_of(formulas), strict=False)
    for number, (row, written) in enumerate(both, start=1):
        if any(cell is not None for cell in written):
            found.append((number, [_cell(*pair) for pair in zip(row, written, strict=False)]))
        if len(found) > MAX_ROWS:
            raise too_many_rows()
    return found


def _cells_of(sheet: Any) -> Iterator[Sequence[Any]]:
    """The values of each row, however large the sheet says that it is."""
    sheet.reset_dimensions()
    rows: Iterator[Sequence[Any]] = sheet.iter_rows(values_only=True, max_col=MAX_COLUMNS)
    return rows


def _cell(value: Any, written: Any) -> Cell:
    """A cell by the value that is stored, and by what was written into it."""
    if value is None:
        formula = getattr(written, "text", None) or written
        return Cell("" if formula is None else str(formula), "" if formula is None else "formula")
    if isinstance(value, datetime | date | time | timedelta):
        return Cell(str(value), "date")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(value)
    return Cell(str(value))


def _number(value: float) -> Cell:
    if not abs(value) < EXACT_BELOW:  # or not a number at all
        return Cell(str(value), "shortened")
    return Cell(str(int(value)) if value == int(value) else str(value))
