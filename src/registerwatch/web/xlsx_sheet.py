"""An Excel workbook with one sheet, written row by row. Loaded when the first one is downloaded."""

import re
import tempfile
from collections.abc import Sequence
from datetime import date, datetime
from typing import IO, Any

from openpyxl import Workbook
from openpyxl.cell import Cell as SheetCell
from openpyxl.cell import WriteOnlyCell
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter

from registerwatch.tables.csv_file import Cell, Row
from registerwatch.tables.formula_guard import FORMULA, NOT_IN_XML

MAX_CELL_LENGTH = 32_767
"""What Excel takes."""
FIRST_YEAR = 1900
"""Dates before it are text: Excel has no others."""
ESCAPED = "_x005F_"
_LIKE_ESCAPES = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
"""Excel takes `_x000D_` for the character of this number."""
DAY_FORMAT, INSTANT_FORMAT = "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"
MAX_WIDTH, MIN_WIDTH = 60, 8
"""Of a column, in characters."""


class XlsxSheet:
    """A workbook with one sheet, of which only the row that is being written is in memory."""

    def __init__(self, title: str, header: Sequence[str]) -> None:
        self._workbook = Workbook(write_only=True)
        self._sheet: Any = self._workbook.create_sheet(title)  # its stubs lack the filter and the widths of columns
        self._columns = len(header)
        self._rows = 1
        self._header = header
        self._is_begun = False

    def append(self, rows: Sequence[Row]) -> None:
        """Write rows. The first ones tell how wide the columns are."""
        if not self._is_begun:
            self._begin(rows)
        for row in rows:
            self._sheet.append([self._cell(value) for value in row])
        self._rows += len(rows)

    def save(self, file: IO[bytes]) -> int:
        """Write the file; its size in bytes."""
        self.append([])
        self._sheet.auto_filter.ref = f"A1:{get_column_letter(self._columns)}{self._rows}"
        self._workbook.save(file)
        size = file.tell()
        file.seek(0)
        return size

    def discard(self) -> None:
        """Let the library remove its own temporary file, which it does when it saves."""
        with tempfile.TemporaryFile() as nowhere:
            self._workbook.save(nowhere)

    def _begin(self, rows: Sequence[Row]) -> None:
        self._is_begun = True
        self._sheet.freeze_panes = "A2"
        for place, name in enumerate(self._header):
            longest = max((len(str(row[place] or "")) for row in rows), default=0)
            width = min(MAX_WIDTH, max(MIN_WIDTH, len(name), longest) + 2)
            self._sheet.column_dimensions[get_column_letter(place + 1)].width = width
        cells = [self._cell(name) for name in self._header]
        for cell in cells:
            cell.font = Font(bold=True)
        self._sheet.append(cells)

    def _cell(self, value: Cell) -> SheetCell:
        """A cell whose text stays text, also when somebody edits it."""
        cell = WriteOnlyCell(self._sheet)
        if isinstance(value, str):
            text = _LIKE_ESCAPES.sub(ESCAPED, NOT_IN_XML.sub("", value)[:MAX_CELL_LENGTH])
            cell.value = text
            cell.data_type = "s"
            if FORMULA.match(text):
                cell.quotePrefix = True
        elif isinstance(value, date) and value.year < FIRST_YEAR:
            cell.value = str(value)
        elif value is not None:
            cell.value = value
        if cell.is_date:
            cell.number_format = INSTANT_FORMAT if isinstance(value, datetime) else DAY_FORMAT
        return cell
