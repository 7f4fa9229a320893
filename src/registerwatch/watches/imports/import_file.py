"""The list in a file or in what was pasted: which kind of file it is, how its text is encoded, what its lines hold.

Files are foreign: whatever they hold, the answer is a list or `InvalidInput`. Excel workbooks are read by
`import_xlsx`, and by the service only in a process of their own (`import_process`).
"""

import re
import string
from collections.abc import Iterator, Sequence
from itertools import islice

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.cells import Cell
from registerwatch.files.tables.delimited import cells_of_line, rows_of, split_lines
from registerwatch.files.tables.encodings import decoded
from registerwatch.files.tables.file_kinds import NO_TEXT, check_is_no_page, check_is_text
from registerwatch.platform.structs import replace
from registerwatch.watches.imports.import_table import (
    MAX_HEADING_ROWS,
    MAX_ROWS,
    ColumnHeading,
    ListLine,
    ParsedList,
    headed,
    heading_of,
    taken,
    too_many_rows,
)
from registerwatch.watches.imports.import_text import first_cell

_DELIMITERS = ("\t", ";", ",")
_BLANK = string.whitespace + ';,"'
_CONTROL = re.compile("[\x00-\x08\x0e-\x19\x1b-\x1f]")
_SHORTENED = re.compile(r'\s*"?([0-9]+[.,][0-9]+E\+?[0-9]+)', re.IGNORECASE | re.ASCII)


def text_file_lines(content: bytes) -> ParsedList:
    """The lines of a file that is no workbook. Raises `InvalidInput`."""
    check_is_text(content)
    text, _, is_guessed = decoded(content)
    return replace(text_lines(text), is_guessed=is_guessed)


def text_lines(text: str) -> ParsedList:
    """The lines of a text. Where a heading names a column, its cells; else the first cell of each line, whichever of
    the three separators it has. Raises `InvalidInput`.
    """
    text = text.removeprefix("\ufeff")
    if _CONTROL.search(text):
        raise InvalidInput(NO_TEXT)
    check_is_no_page(text)
    lines = split_lines(text)
    if sum(map(bool, lines)) > MAX_ROWS:
        raise too_many_rows()
    found = _heading_in(lines)
    if found is None:
        return taken(_first_cells(lines))
    heading, delimiter, number = found
    if not delimiter:
        return headed(taken(_first_cells(lines, after=number)), heading)
    rows = rows_of(lines[number:], delimiter, after=number)
    below = (ListLine(line, "".join(cells[heading.column : heading.column + 1])) for line, cells in rows if any(cells))
    return headed(taken(below), heading)


def _first_cells(lines: Sequence[str], *, after: int = 0) -> Iterator[ListLine]:
    return (ListLine(number, _first_cell(line)) for number, line in _not_blank(lines) if number > after)


def _not_blank(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip(_BLANK))


def _first_cell(line: str) -> str:
    """The first cell; a number such as `4,01235E+12` is one cell, though it holds a separator."""
    shortened = _SHORTENED.match(line)
    return shortened.group(1) if shortened else first_cell(line)


def _heading_in(lines: Sequence[str]) -> tuple[ColumnHeading, str, int] | None:
    """The heading, the separator of its line, empty where it stands alone, and the line's number. Of several separators
    it is the one with most cells.
    """
    first = list(islice(_not_blank(lines), MAX_HEADING_ROWS))
    found: list[tuple[int, ColumnHeading, str, int]] = []
    for delimiter in _DELIMITERS:
        rows = [cells_of_line(line, delimiter) for _, line in first]
        heading = heading_of([[Cell(cell) for cell in row] for row in rows])
        if heading is not None:
            width = len(rows[heading.row])
            found.append((width, heading, delimiter if width > 1 else "", first[heading.row][0]))
    return max(found, key=lambda each: each[0])[1:] if found else None
