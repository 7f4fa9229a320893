"""A table that was read from a file, and the choices for reading it."""

from collections.abc import Sequence

from msgspec import Struct

from registerwatch.files.tables.cells import CellProblem

MAX_ROWS = 50_000
"""Rows of a table, without empty ones."""
MAX_COLUMNS = 50
"""The most columns that are kept; further ones are counted."""
MAX_CELLS_BYTES = 24 * 1024 * 1024
"""Bytes of all cells, in UTF-8."""
MAX_FILE_BYTES = 10 * 1024 * 1024


class ReadChoices(Struct, frozen=True, omit_defaults=True):
    """How to read a file; an empty field is recognised."""

    encoding: str = ""
    """One of `ENCODINGS`, for texts only."""
    delimiter: str = ""
    """One of `DELIMITERS`, for texts only; empty in `Table.choices` if each line is one cell."""
    sheet: str = ""
    """The name of a visible sheet, for workbooks only; else the first that is not empty."""
    heading_row: int | None = None
    """The number in the file of the row with headings, from 1; 0 if there is none."""
    code_column: int | None = None
    """The column with the codes, from 0."""


class TableRow(Struct, frozen=True, array_like=True):
    """A row of a file."""

    number: int
    """Its number in the file, from 1: of the row in a sheet, of its first line in a text."""
    code: str
    """The text of the code column, without the signs that mark it as text in spreadsheets; may be empty."""
    problem: CellProblem
    """The damage of a spreadsheet to the cell in the code column."""
    cells: Sequence[str]
    """The texts of all columns, in the order of the headings, in one line and of at most 200 characters each; empty
    ones at the end are left out.
    """


class Table(Struct, frozen=True):
    """The rows of a file below the heading, without empty ones."""

    headings: Sequence[str]
    """One for each column, distinct and never empty: `Column C` if the file has none."""
    rows: Sequence[TableRow]
    """Rows in order, with those whose code is empty."""
    choices: ReadChoices
    """How the file was read: every field that applies is filled."""
    above: int = 0
    """Rows above the heading that are not empty."""
    is_encoding_guessed: bool = False
    """Whether Windows-1252 was guessed, since the bytes are not UTF-8 or UTF-16."""
    sheets: Sequence[str] = ()
    """The names of the visible sheets, none for a text."""
    code_columns: Sequence[int] = ()
    """Columns whose headings or cells look like those of codes, best first. If there are none, the first column was
    read as the column of codes.
    """
    left_out_columns: int = 0
    """Columns after the 50 that are kept, empty ones not counted."""
    typed_columns: Sequence[int] = ()
    """Columns in which a cell in the form of a number, day or truth value is one."""


def column_letters(column: int) -> str:
    """A column, from 0, as spreadsheets name it: A to Z, then AA."""
    letters = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters
