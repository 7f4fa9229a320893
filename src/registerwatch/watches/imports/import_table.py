"""From the rows of a table to the lines of a list: which column holds the identifiers, and which lines are taken."""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.cells import MIN_DIGITS, Cell, CellProblem, bare
from registerwatch.files.tables.headings import HEADINGS, normal
from registerwatch.platform.structs import replace
from registerwatch.register.identifiers import as_registered, is_number, subject, why_none
from registerwatch.watches.imports.import_text import HEADERS, MAX_LINES

MAX_ROWS = 10_000
"""Rows of a file that hold something and are counted."""
MAX_HEADING_ROWS = 10
MAX_COLUMNS = 50
"""Columns of a list that are looked at: a line of text can have a million cells."""
"""The heading is looked for in so many rows that hold something: exports often begin with a title."""

LIST_IS_DAMAGED = "The list did not come back as it was shown. Send it again."
MAX_LINE_NUMBER = 10_000_000


class ListLine(Struct, frozen=True, array_like=True):
    """A line of a list: its number, from 1, and what its cell holds."""

    number: int
    cell: str
    problem: CellProblem = ""


class LeftOut(Struct, frozen=True):
    """Lines beyond the most that are taken at a time."""

    first: int
    last: int
    count: int


class ParsedList(Struct, frozen=True):
    """The lines of a list, and how they were read."""

    lines: Sequence[ListLine]
    heading: str = ""
    """The heading of the column that was used; empty where the first column was used."""
    column: int = 0
    """The column that was used, from 0."""
    above: int = 0
    """Lines above the heading, which were left out."""
    left_out: LeftOut | None = None
    sheet: str = ""
    """The sheet that was read, empty for a text."""
    other_sheets: int = 0
    """Sheets that were not read."""
    empty: int = 0
    """Lines that hold something, but nothing in the column that was used."""
    is_guessed: bool = False
    """Whether the bytes are no UTF-8, so Windows-1252 was guessed."""

    @property
    def column_letter(self) -> str:
        """The column as spreadsheets name it."""
        return chr(ord("A") + self.column) if self.column < 26 else str(self.column + 1)


_line_decoder = msgspec.json.Decoder(list[ListLine])


Row = tuple[int, Sequence[Cell]]
"""A row's number, from 1, and its cells."""


class ColumnHeading(msgspec.Struct, frozen=True):
    """Where the heading of the used column stands: the index among the rows that were given, the column, its words."""

    row: int
    column: int
    words: str


def heading_of(rows: Sequence[Sequence[Cell]]) -> ColumnHeading | None:
    """The heading of a column of identifiers in the first rows; none below a row that holds an identifier."""
    for index, row in enumerate(rows[:MAX_HEADING_ROWS]):
        cells = row[:MAX_COLUMNS]
        named = {normal(cell.text): place for place, cell in reversed(list(enumerate(cells)))}
        for name in HEADINGS:
            if name in named:
                return ColumnHeading(index, named[name], bare(cells[named[name]].text))
        if any(_is_identifier(cell.text) for cell in cells):
            return None
    return None


def written_lines(lines: Sequence[ListLine]) -> str:
    """Lines as text, to be sent to a browser and back."""
    return msgspec.json.encode(lines).decode()


def read_lines(text: str) -> list[ListLine]:
    """The lines in such a text. Raises `InvalidInput` for what is none."""
    try:
        lines = _line_decoder.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        raise InvalidInput(LIST_IS_DAMAGED) from None
    if len(lines) > MAX_LINES or any(not (0 < line.number <= MAX_LINE_NUMBER) for line in lines):
        raise InvalidInput(LIST_IS_DAMAGED)
    return [replace(line, cell=bare(line.cell)) for line in lines]


def table_lines(rows: Sequence[Row]) -> ParsedList:
    """The lines of a table, none of whose rows is empty."""
    heading = heading_of([cells for _, cells in rows[:MAX_HEADING_ROWS]])
    if heading is None:
        return taken(ListLine(number, cells[0].text, cells[0].problem) for number, cells in rows if cells)
    below = ((number, _cell_of(cells, heading.column)) for number, cells in rows[heading.row + 1 :])
    return headed(taken(ListLine(number, cell.text, cell.problem) for number, cell in below), heading)


def headed(lines: ParsedList, heading: ColumnHeading) -> ParsedList:
    """The lines below a heading."""
    return replace(lines, heading=heading.words, column=heading.column, above=heading.row)


def _cell_of(cells: Sequence[Cell], column: int) -> Cell:
    return cells[column] if column < len(cells) else Cell("")


def taken(lines: Iterable[ListLine]) -> ParsedList:
    """Of lines that are not blank, those that have a cell which is no heading: the first 500; the others are counted.

    Raises `InvalidInput` for so many that they are not even counted.
    """
    kept: list[ListLine] = []
    left: list[int] = []
    empty = 0
    for line in lines:
        cell = bare(line.cell)
        if not cell:
            empty += 1
        elif cell.lower() in HEADERS:
            continue
        elif len(kept) < MAX_LINES:
            kept.append(ListLine(line.number, cell, line.problem))
        else:
            left.append(line.number)
        if len(left) > MAX_ROWS:
            raise too_many_rows()
    return ParsedList(kept, left_out=LeftOut(left[0], left[-1], len(left)) if left else None, empty=empty)


def too_many_rows() -> InvalidInput:
    """What is said of a list that is much too long."""
    return InvalidInput(f"The list has more than {MAX_ROWS:,} lines. Split it into lists of {MAX_LINES} lines.")


def _is_identifier(text: str) -> bool:
    """Whether a cell holds an identifier, or one with a mistyped digit."""
    try:
        found = subject(bare(text))
        return (is_number(found) and len(found) >= MIN_DIGITS) or why_none(as_registered(found)) is None
    except InvalidInput:
        return False
