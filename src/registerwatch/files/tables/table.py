"""A table that was read from a file, and how it is to be read."""

from collections.abc import Sequence

from msgspec import Struct

from registerwatch.files.tables.cells import CellProblem

MAX_ROWS = 50_000
"""Rows of a table that hold something."""
MAX_COLUMNS = 50
"""Columns that are kept; those behind them are counted."""
MAX_CELLS_BYTES = 24 * 1024 * 1024
"""All cells together, in UTF-8."""
MAX_FILE_BYTES = 10 * 1024 * 1024


class ReadChoices(Struct, frozen=True, omit_defaults=True):
    """How a file is to be read; what is left empty is recognised."""

    encoding: str = ""
    """One of `ENCODINGS`, of texts alone."""
    delimiter: str = ""
    """One of `DELIMITERS`, of texts alone; empty in `Table.choices` where each line is one cell."""
    sheet: str = ""
    """The name of a visible sheet, of workbooks alone; else the first that holds something."""
    heading_row: int | None = None
    """The number in the file of the row with headings, from 1; 0 where there is none."""
    code_column: int | None = None
    """The column with the codes, from 0."""


class TableRow(Struct, frozen=True, array_like=True):
    """A row of a file."""

    number: int
    """In the file, from 1: that of the sheet's row, or of the first of the text's lines."""
    code: str
    """The text of the cell in the code column, without what spreadsheets write around a code; may be empty."""
    problem: CellProblem
    """What a spreadsheet has done to the cell in the code column."""
    cells: Sequence[str]
    """The texts of all columns, in the order of the headings, in one line and of at most 200 characters each; empty
    ones at the end are left out.
    """


class Table(Struct, frozen=True):
    """The rows of a file that hold something, below the heading."""

    headings: Sequence[str]
    """One for each column, distinct and never empty: `Column C` where the file has none."""
    rows: Sequence[TableRow]
    """By their numbers, also those with an empty code."""
    choices: ReadChoices
    """As the file was read: every field that applies is filled."""
    above: int = 0
    """Rows above the heading that hold something."""
    is_encoding_guessed: bool = False
    """Whether the bytes are no UTF-8 or UTF-16, so Windows-1252 was guessed."""
    sheets: Sequence[str] = ()
    """The names of the visible sheets, none for a text."""
    code_columns: Sequence[int] = ()
    """Columns whose headings or cells look like those of codes, best first. Where there are none, the first column was
    read as that of the codes.
    """
    left_out_columns: int = 0
    """Columns that hold something behind the 50 that are kept."""
    typed_columns: Sequence[int] = ()
    """Columns whose cells are numbers, days or truth values wherever they have the form of one."""


def column_letters(column: int) -> str:
    """A column, from 0, as spreadsheets name it: A to Z, then AA."""
    letters = ""
    column += 1
    while column:
        column, place = divmod(column - 1, 26)
        letters = chr(ord("A") + place) + letters
    return letters
