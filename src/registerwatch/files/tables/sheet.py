"""The rows of a sheet: the cells as a person sees them, with the results of formulas that the spreadsheet stored.

Numbers become their digits; what a spreadsheet has destroyed (dates, numbers of more than 15 digits, formulas without a
result) is marked as such. Hidden rows and columns are read: a filter hides them too.

A sheet is read once, by handlers for each element: 500,000 cells take some two seconds, where openpyxl takes nine.
"""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.archive import TOO_LARGE, UNREADABLE, Attributes, LocalNames
from registerwatch.files.tables.cells import Cell, CellProblem, FileRow, number_cell
from registerwatch.files.tables.workbook import MAX_TEXT_LENGTH, Sheet, Workbook, unescaped

MAX_ROW_NUMBER, MAX_SHEET_COLUMNS = 2**20, 2**14
"""What a sheet can have."""
LAST_DAY = 2_958_465
"""The serial number of 9999-12-31. A number above it is no date, whatever its format says."""
_SECONDS_OF_DAY = 86_400
_TYPES_OF_VALUES = frozenset("nbd")
"""Numbers (and dates, which are numbers with such a format), truth values, and dates as texts."""


def sheet_rows(workbook: Workbook, sheet: Sheet, max_columns: int) -> Iterator[FileRow]:
    """The rows of a sheet that hold something, by their numbers."""
    reader = _SheetReader(workbook, max_columns)
    for _ in workbook.archive.pieces(sheet.part, reader.start, reader.end, reader.text):
        yield from reader.rows
        reader.rows.clear()


class _SheetReader:
    """What is called for each element of a sheet."""

    def __init__(self, workbook: Workbook, max_columns: int) -> None:
        self.rows: list[FileRow] = []
        self._texts = workbook.texts
        self._date_styles = workbook.date_styles
        self._is_from_1904 = workbook.is_from_1904
        self._max_columns = max_columns
        self._names = LocalNames()
        self._columns: dict[str, int] = {}
        self._row_number = 0
        self._cells: list[str] = []
        self._problems: dict[int, CellProblem] = {}
        self._typed: list[int] = []
        self._last_column = -1
        self._column = -1
        self._is_in_cell = self._is_pronounced = self._has_value = False
        self._type = self._style = ""
        self._formula: list[str] | None = None
        self._value: list[str] = []
        self._into: list[str] | None = None
        """Where text goes."""

    def start(self, name: str, attributes: Attributes) -> None:
        """An element begins."""
        element = self._names[name]
        if element == "c":
            self._begin_cell(attributes)
        elif element == "row":
            self._begin_row(attributes)
        elif self._is_in_cell:
            if element == "v":
                self._has_value, self._into = True, self._value
            elif element == "t":
                self._into = None if self._is_pronounced else self._value
            elif element == "f":
                self._into = self._formula = []
            elif element == "rPh":
                self._is_pronounced = True

    def text(self, piece: str) -> None:
        """A piece of text."""
        if self._into is not None:
            self._into.append(piece)

    def end(self, name: str) -> None:
        """An element ends."""
        element = self._names[name]
        if element == "c":
            self._end_cell()
        elif element == "row":
            self._end_row()
        elif element == "rPh":
            self._is_pronounced = False
        else:
            self._into = None

    def _begin_row(self, attributes: Attributes) -> None:
        number = self._row_number + 1
        if "r" in attributes[::2]:
            written = attributes[attributes.index("r") + 1]
            number = max(number, int(written) if written.isdigit() and len(written) < 12 else int(float(written)))
        if number > MAX_ROW_NUMBER:
            raise InvalidInput(TOO_LARGE)
        self._row_number, self._column, self._last_column = number, -1, -1
        self._cells, self._problems, self._typed = [], {}, []

    def _begin_cell(self, attributes: Attributes) -> None:
        self._type, self._style = "n", ""
        self._column += 1
        for place in range(0, len(attributes), 2):
            name = attributes[place]
            if name == "r":
                letters = attributes[place + 1].rstrip("0123456789")
                column = self._columns.get(letters)
                self._column = self._column_of(letters) if column is None else column
            elif name == "t":
                self._type = attributes[place + 1]
            elif name == "s":
                self._style = attributes[place + 1]
        self._is_in_cell, self._has_value, self._formula, self._into = True, False, None, None
        if self._value:
            self._value = []

    def _column_of(self, letters: str) -> int:
        column = 0
        if not 1 <= len(letters) <= 3 or not (letters.isascii() and letters.isalpha()):
            raise InvalidInput(UNREADABLE)
        for letter in letters.upper():
            column = column * 26 + ord(letter) - ord("A") + 1
        if column > MAX_SHEET_COLUMNS:
            raise InvalidInput(UNREADABLE)
        self._columns[letters] = column - 1
        return column - 1

    def _end_cell(self) -> None:
        self._is_in_cell, self._into = False, None
        value = self._value[0] if len(self._value) == 1 else "".join(self._value)
        if self._type == "s" and value:
            text, problem = self._texts[int(value)], ""
        elif self._formula is None and not value:
            return
        else:
            cell = self._read_cell(value)
            text, problem = cell.text, cell.problem
        if not text:
            return
        column = self._column
        self._last_column = max(self._last_column, column)
        if column >= self._max_columns:
            return
        cells = self._cells
        missing = column - len(cells)
        if missing == 0:
            cells.append(text)
        elif missing > 0:
            cells.extend([""] * missing)
            cells.append(text)
        else:
            cells[column] = text
        if problem:
            self._problems[column] = problem  # type: ignore[assignment]  # it is that of a cell
        if self._type in _TYPES_OF_VALUES:
            self._typed.append(column)

    def _read_cell(self, value: str) -> Cell:
        """A cell that is no shared text, by its type."""
        kind = self._type
        if not value and self._formula is not None and not (self._has_value and kind == "str"):
            return Cell(f"={''.join(self._formula)[:MAX_TEXT_LENGTH]}", "formula")
        if kind == "n":
            value = value.strip()
            return self._number(value) if value else Cell("")
        if kind == "b":
            return Cell(str(value.strip() in {"1", "true"}))
        if kind == "d":
            return Cell(value.replace("T", " ").removesuffix("Z"), "date")
        return Cell(value[:MAX_TEXT_LENGTH] if kind == "e" else unescaped(value[:MAX_TEXT_LENGTH]))

    def _number(self, value: str) -> Cell:
        if self._style in self._date_styles:
            serial = float(value)
            if 0 <= serial <= LAST_DAY:
                return Cell(shown_instant(serial, is_from_1904=self._is_from_1904), "date")
        return number_cell(value)

    def _end_row(self) -> None:
        left_out = max(0, self._last_column + 1 - self._max_columns)
        if any(self._cells) or left_out:
            self.rows.append(FileRow(self._row_number, self._cells, self._problems, left_out, self._typed))
        self._cells, self._problems, self._typed = [], {}, []


def shown_instant(serial: float, *, is_from_1904: bool) -> str:
    """A day, an instant or a time of day by its serial number."""
    days, part = divmod(serial, 1)
    seconds = timedelta(seconds=round(part * _SECONDS_OF_DAY))
    if serial < 1 and not is_from_1904:
        return str((datetime.combine(date(2000, 1, 1), time()) + seconds).time())
    first = datetime(1904, 1, 1) if is_from_1904 else datetime(1899, 12, 30)  # noqa: DTZ001  # sheets have no zones
    if 0 < serial < 60 and not is_from_1904:
        days += 1  # there was no 1900-02-29, which is number 60
    try:
        return str(first + timedelta(days=days) + seconds)
    except OverflowError:
        return str(serial)
