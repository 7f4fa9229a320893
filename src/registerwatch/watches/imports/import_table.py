"""The lines of a list, from the rows of a table: those that are taken, and counts of the others."""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.cells import CellProblem, bare
from registerwatch.files.tables.headings import names_codes
from registerwatch.files.tables.table import Table, column_letters
from registerwatch.platform.structs import replace
from registerwatch.watches.imports.import_text import HEADERS, MAX_LINES, first_cell

LIST_IS_DAMAGED = "The list did not come back as it was shown. Send it again."
MAX_LINE_NUMBER = 10_000_000


class ListLine(Struct, frozen=True, array_like=True):
    """A line of a list: its number, from 1, and what its cell holds."""

    number: int
    cell: str
    problem: CellProblem = ""


class LeftOut(Struct, frozen=True):
    """The lines beyond the limit of one import."""

    first: int
    last: int
    count: int


class ParsedList(Struct, frozen=True):
    """The lines of a list, and how they were read."""

    lines: Sequence[ListLine]
    heading: str = ""
    """The heading of the column that was used, if it names codes."""
    column: int = 0
    """The column that was used, from 0."""
    above: int = 0
    """Lines above the heading that are not empty; they were left out."""
    left_out: LeftOut | None = None
    sheet: str = ""
    """The sheet that was read, empty for a text."""
    other_sheets: int = 0
    """Visible sheets that were not read."""
    empty: int = 0
    """Lines that are not empty, but have no text in the column that was used."""
    is_guessed: bool = False
    """Whether the bytes are not UTF-8, so Windows-1252 was guessed."""

    @property
    def column_letter(self) -> str:
        """The column as spreadsheets name it."""
        return column_letters(self.column)


_line_decoder = msgspec.json.Decoder(list[ListLine])


def written_lines(lines: Sequence[ListLine]) -> str:
    """Lines as a text that a form sends to a browser and back."""
    return msgspec.json.encode(lines).decode()


def read_lines(text: str) -> list[ListLine]:
    """The lines in a text of `written_lines`. Raises `InvalidInput` for any other."""
    try:
        lines = _line_decoder.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        raise InvalidInput(LIST_IS_DAMAGED) from None
    if len(lines) > MAX_LINES or any(not (0 < line.number <= MAX_LINE_NUMBER) for line in lines):
        raise InvalidInput(LIST_IS_DAMAGED)
    return [replace(line, cell=bare(line.cell)) for line in lines]


def list_of(table: Table) -> ParsedList:
    """The lines of a table: the first cell of each in its column of codes, as separators may differ from line to line.

    A heading that names no codes and has a digit may be an identifier that was mistyped, so it is a line too.
    """
    choices, column = table.choices, table.choices.code_column or 0
    lines = [ListLine(row.number, row.code if row.problem else first_cell(row.code), row.problem) for row in table.rows]
    heading = table.headings[column] if choices.heading_row else ""
    if choices.heading_row and not names_codes(heading):
        if any(sign.isdigit() for sign in heading):
            lines.insert(0, ListLine(choices.heading_row, bare(heading)))
        heading = ""
    return replace(
        _taken(lines),
        heading=bare(heading),
        column=column,
        above=table.above,
        empty=sum(not line.cell for line in lines),
        sheet=choices.sheet,
        other_sheets=max(0, len(table.sheets) - 1),
        is_guessed=table.is_encoding_guessed,
    )


def _taken(lines: Iterable[ListLine]) -> ParsedList:
    """The first 500 lines with a cell that is not a heading; the others are counted."""
    kept = [line for line in lines if line.cell and line.cell.lower() not in HEADERS]
    left = kept[MAX_LINES:]
    left_out = LeftOut(left[0].number, left[-1].number, len(left)) if left else None
    return ParsedList(kept[:MAX_LINES], left_out=left_out)
