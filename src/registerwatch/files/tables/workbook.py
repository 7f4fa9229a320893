"""The sheets of a workbook (.xlsx, .xlsb or .ods), read by calamine: their cells as a person sees them.

Numbers become their digits. Cells that a spreadsheet has damaged (dates, numbers of more than 15 digits) are marked.
Formulas have their stored results; errors and formulas without a result are empty. Hidden rows and columns are read,
since a filter hides them too.
"""

import io
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta

from python_calamine import CalamineSheet, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.cells import Cell, CellProblem, FileRow, number_cell, one_line
from registerwatch.files.tables.table import MAX_COLUMNS

MAX_UNPACKED_BYTES = 200 * 1024 * 1024
"""Sizes are those in the archive's directory. calamine refuses a part that is larger."""
MAX_SHEETS = 50
MAX_TEXT_LENGTH = 1_000
"""Characters of a text that are read."""

TOO_LARGE = "This workbook is too large when it is unpacked. Save the column of identifiers alone, as .xlsx or CSV."

Value = str | float | bool | date | datetime | time | timedelta


class Workbook:
    """The visible sheets of a workbook. Raises `InvalidInput` if it is too large, and any error of calamine and
    `zipfile` if it is damaged or not a workbook.
    """

    def __init__(self, content: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(part.file_size for part in archive.infolist()) > MAX_UNPACKED_BYTES:
                raise InvalidInput(TOO_LARGE)
        self._workbook = CalamineWorkbook.from_object(io.BytesIO(content))
        self._indexes = [
            index
            for index, sheet in enumerate(self._workbook.sheets_metadata[:MAX_SHEETS])
            if (sheet.typ, sheet.visible) == (SheetTypeEnum.WorkSheet, SheetVisibleEnum.Visible)
        ]
        self.sheets: Sequence[str] = [one_line(self._workbook.sheet_names[index]) for index in self._indexes]
        """Names of sheets in the workbook's order; cut names may be alike."""

    def rows(self, position: int) -> Iterator[FileRow]:
        """The rows of the sheet at a position in `sheets`, in order, without empty ones."""
        sheet = self._workbook.get_sheet_by_index(self._indexes[position])
        return _rows(sheet)


def _rows(sheet: CalamineSheet) -> Iterator[FileRow]:
    """The rows that are not empty. Calamine gives all rows, with cells from the first column that is not empty."""
    first_column = sheet.start[1] if sheet.start else 0
    for number, values in enumerate(sheet.iter_rows(), start=1):
        if any(value != "" for value in values):
            yield _row(number, first_column, values)


def _row(number: int, first_column: int, values: Sequence[Value]) -> FileRow:
    kept = max(0, MAX_COLUMNS - first_column)
    texts = [""] * min(first_column, MAX_COLUMNS)
    problems: dict[int, CellProblem] = {}
    typed: list[int] = []
    for column, value in enumerate(values[:kept], start=first_column):
        cell = _cell(value)
        texts.append(cell.text)
        if cell.problem:
            problems[column] = cell.problem
        if not isinstance(value, str):
            typed.append(column)
    last = next((column for column in range(len(values), kept, -1) if values[column - 1] != ""), kept)
    left_out = max(0, first_column + last - MAX_COLUMNS)
    return FileRow(number, texts, problems, left_out, typed)


def _cell(value: Value) -> Cell:
    match value:
        case str():
            return Cell(value[:MAX_TEXT_LENGTH])
        case bool():
            return Cell(str(value))
        case int() | float():
            return number_cell(value)
        case datetime():
            return Cell(value.isoformat(" ", "seconds").removesuffix(" 00:00:00"), "date")
        case time():
            return Cell(value.isoformat("seconds"), "date")
        case timedelta():
            return Cell(str(timedelta(seconds=round(value.total_seconds()))), "date")
        case date():
            return Cell(value.isoformat(), "date")
