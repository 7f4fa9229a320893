"""The list in a file or in what was pasted: which kind of file it is, how its text is encoded, what its lines hold.

Files are foreign: whatever they hold, the answer is a list or `InvalidInput`. Excel workbooks are read by
`import_xlsx`, and by the service only in a process of their own (`import_process`).
"""

import csv
import re
import string
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.watches.import_table import (
    MAX_HEADING_ROWS,
    MAX_ROWS,
    Cell,
    ColumnHeading,
    ListLine,
    ParsedList,
    headed,
    heading_of,
    taken,
    too_many_rows,
)
from registerwatch.watches.import_text import first_cell, split_lines

ZIP = b"PK\x03\x04"
NO_LIST = "Upload a list as CSV or as an Excel workbook (.xlsx), or paste it."
OTHER_FILES: Sequence[tuple[bytes, str]] = (
    (b"\xd0\xcf\x11\xe0", "This is an old Excel file (.xls), or one with a password. Save it as .xlsx without one."),
    (b"%PDF", f"This is a PDF. {NO_LIST}"),
    (b"\x89PNG", f"This is an image. {NO_LIST}"),
    (b"\xff\xd8\xff", f"This is an image. {NO_LIST}"),
    (b"GIF8", f"This is an image. {NO_LIST}"),
    (b"\x1f\x8b", f"This file is packed (gzip). {NO_LIST}"),
    (b"7z\xbc\xaf", f"This file is packed (7z). {NO_LIST}"),
    (b"Rar!", f"This file is packed (rar). {NO_LIST}"),
    (b"{\\rtf", f"This is a text document (RTF). {NO_LIST}"),
)
"""How files begin that people upload instead of a list, and what they are told."""
WEB_PAGE = "This is a web page that is named like a spreadsheet. Open it, and save it as .xlsx or CSV."
NO_TEXT = f"This file is no text: it holds signs that no list has. {NO_LIST}"

_DELIMITERS = ("\t", ";", ",")
_BLANK = string.whitespace + ';,"'
_CONTROL = re.compile("[\x00-\x08\x0e-\x19\x1b-\x1f]")
_SHORTENED = re.compile(r'\s*"?([0-9]+[.,][0-9]+E\+?[0-9]+)', re.IGNORECASE | re.ASCII)
_MARKUP = re.compile(r"\s*(<!doctype html|<html|<table|<\?xml)", re.IGNORECASE)


def is_workbook(content: bytes) -> bool:
    """Whether a file is packed as Excel workbooks are."""
    return content.startswith(ZIP)


def text_file_lines(content: bytes) -> ParsedList:
    """The lines of a file that is no workbook. Raises `InvalidInput`."""
    for beginning, message in OTHER_FILES:
        if content.startswith(beginning):
            raise InvalidInput(message)
    text, is_guessed = decoded(content)
    return msgspec.structs.replace(text_lines(text), is_guessed=is_guessed)


def decoded(content: bytes) -> tuple[str, bool]:
    """The text of a file, and whether its encoding was guessed: UTF-8, UTF-16, else Windows-1252."""
    for mark, charset in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), *_utf_16_without_mark(content)):
        if content.startswith(mark):
            return content.decode(charset, "replace"), False
    try:
        return content.decode("utf-8"), False
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace"), True


def text_lines(text: str) -> ParsedList:
    """The lines of a text. Where a heading names a column, its cells; else the first cell of each line, whichever of
    the three separators it has. Raises `InvalidInput`.
    """
    text = text.removeprefix("\ufeff")
    if _CONTROL.search(text):
        raise InvalidInput(NO_TEXT)
    if _MARKUP.match(text):
        raise InvalidInput(WEB_PAGE)
    lines = split_lines(text)
    if sum(map(bool, lines)) > MAX_ROWS:
        raise too_many_rows()
    found = _heading_in(lines)
    if found is None:
        return taken(_first_cells(lines))
    heading, delimiter, number = found
    if not delimiter:
        return headed(taken(_first_cells(lines, after=number)), heading)
    rows = _rows(lines[number:], delimiter, after=number)
    below = (ListLine(line, "".join(cells[heading.column : heading.column + 1])) for line, cells in rows if any(cells))
    return headed(taken(below), heading)


def _first_cells(lines: Sequence[str], *, after: int = 0) -> Iterator[ListLine]:
    return (ListLine(number, _first_cell(line)) for number, line in _not_blank(lines) if number > after)


def _not_blank(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip(_BLANK))


def _utf_16_without_mark(content: bytes) -> Sequence[tuple[bytes, str]]:
    """UTF-16 of Western signs has a NUL in every second place."""
    start = content[:200]
    if len(start) >= 4 and start.count(0) * 3 >= len(start):
        return ((b"", "utf-16-le" if start[1::2].count(0) > start[::2].count(0) else "utf-16-be"),)
    return ()


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
        rows = [_cells(line, delimiter) for _, line in first]
        heading = heading_of([[Cell(cell) for cell in row] for row in rows])
        if heading is not None:
            width = len(rows[heading.row])
            found.append((width, heading, delimiter if width > 1 else "", first[heading.row][0]))
    return max(found, key=lambda each: each[0])[1:] if found else None


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return line.split(delimiter)


def _rows(lines: Sequence[str], delimiter: str, *, after: int) -> Iterator[tuple[int, list[str]]]:
    """Rows with the numbers of their first lines. Where quotes are not in pairs, each line is a row."""
    try:
        yield from list(_quoted_rows(lines, delimiter, after))
    except csv.Error:
        yield from ((number, _cells(line, delimiter)) for number, line in enumerate(lines, start=after + 1))


def _quoted_rows(lines: Sequence[str], delimiter: str, after: int) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader([f"{line}\n" for line in lines], delimiter=delimiter, strict=True)
    begins = after + 1
    for row in reader:
        yield begins, row
        begins = after + reader.line_num + 1
