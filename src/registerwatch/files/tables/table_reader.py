"""Reads any file of a user as a table of texts. Pure; the result is a table or `InvalidInput`, whatever a file holds.

Files of strangers are read in bounded processes only: calamine allocates all cells between the first and the last one
of a sheet, and ends the process where memory runs out.
"""

import string
import zipfile
from collections.abc import Iterable, Sequence

import msgspec
from python_calamine import CalamineError

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.cell_values import typed_columns
from registerwatch.files.tables.cells import MAX_CELL_LENGTH, FileRow, bare, from_exponent, kept_as_text, one_line
from registerwatch.files.tables.delimited import DELIMITERS, announced_delimiter, delimiter_of, rows_of, split_lines
from registerwatch.files.tables.encodings import decoded, decoded_as
from registerwatch.files.tables.file_kinds import check_beginning, check_is_no_page, check_is_text, is_workbook
from registerwatch.files.tables.formula_guard import unguarded
from registerwatch.files.tables.headings import (
    MAX_HEADING_ROWS,
    MAX_SAMPLE_ROWS,
    code_columns_of,
    distinct_headings,
    heading_row_of,
)
from registerwatch.files.tables.table import (
    MAX_CELLS_BYTES,
    MAX_COLUMNS,
    MAX_FILE_BYTES,
    MAX_ROWS,
    ReadChoices,
    Table,
    TableRow,
)
from registerwatch.files.tables.workbook import Workbook

MAX_LINES = 500_000
"""Lines of a text, with empty ones and those in cells."""
BLANK = f'{string.whitespace}{"".join(DELIMITERS)}"'
_SECOND_SIGNS = frozenset(".,Ee")
"""The second characters of numbers with an exponent."""

UNREADABLE = (
    "This workbook cannot be read: it is damaged, has a password, or is of another kind. Save it anew as .xlsx, .ods "
    "or CSV."
)
NOTHING = "This file holds nothing. Upload one with a heading and rows below it."
TOO_MANY_ROWS = f"This file has more than {MAX_ROWS:,} rows. Split it, and upload the parts one by one."
TOO_MANY_LINES = f"This file has more than {MAX_LINES:,} lines. Leave out the empty ones, or split it."
TOO_MANY_CELLS = (
    f"The cells of this file have more than {MAX_CELLS_BYTES // 1024**2} MiB together. Save it with fewer columns, "
    "or split it."
)
TOO_LARGE = f"The file has more than {MAX_FILE_BYTES // 1024**2} MiB. Split it, or save fewer columns."


class _File(msgspec.Struct, frozen=True):
    """The rows of a file that hold something, and how it was read."""

    rows: Sequence[FileRow]
    choices: ReadChoices
    is_encoding_guessed: bool = False
    sheets: Sequence[str] = ()
    left_out_columns: int = 0


def read_table(content: bytes, choices: ReadChoices, *, max_cell_length: int = MAX_CELL_LENGTH) -> Table:
    """The table in a file, its cells cut to `max_cell_length` characters. Raises only `InvalidInput`."""
    if len(content) > MAX_FILE_BYTES:
        raise InvalidInput(TOO_LARGE)
    check_beginning(content, choices.encoding)
    if not is_workbook(content):
        return _table(_text_file(content, choices, max_cell_length), choices)
    try:
        file = _workbook_file(content, choices, max_cell_length)
    except (CalamineError, zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise InvalidInput(UNREADABLE) from None
    return _table(file, choices)


def _text_file(content: bytes, choices: ReadChoices, max_cell_length: int) -> _File:
    """The rows of a text. Raises `InvalidInput`."""
    if choices.encoding:
        text, encoding, is_guessed = decoded_as(content, choices.encoding), choices.encoding, False
    else:
        text, encoding, is_guessed = decoded(content)
    text = text.removeprefix("\ufeff").removesuffix("\x1a")
    check_is_text(text)
    check_is_no_page(text)
    if not text.strip(BLANK):
        raise InvalidInput(NOTHING)
    lines = split_lines(text)
    if len(lines) > MAX_LINES:
        raise InvalidInput(TOO_MANY_LINES)
    announced = announced_delimiter(lines)
    after = 1 if announced else 0
    delimiter = _chosen_delimiter(choices) or announced or delimiter_of(lines)
    found = rows_of(lines[after:], delimiter, after=after)
    rows = _bounded(_text_row(number, cells, max_cell_length) for number, cells in found)
    read = ReadChoices(encoding=encoding, delimiter=delimiter)
    return _File(rows, read, is_guessed, (), max((row.left_out for row in rows), default=0))


def _chosen_delimiter(choices: ReadChoices) -> str:
    if choices.delimiter and choices.delimiter not in DELIMITERS:
        raise InvalidInput("The separator is none of comma, semicolon, tab and vertical bar.")
    return choices.delimiter


def _text_row(number: int, cells: Sequence[str], max_cell_length: int) -> FileRow:
    texts = [one_line(kept_as_text(written), max_cell_length) for written in cells[:MAX_COLUMNS]]
    behind = [column for column, text in enumerate(cells[MAX_COLUMNS:], start=1) if text.strip()]
    return _read_row(FileRow(number, texts, left_out=behind[-1] if behind else 0))


def _read_row(row: FileRow) -> FileRow:
    """The row with all digits of its numbers, and its texts without guards against formulas."""
    texts: list[str] = []
    problems = dict(row.problems)
    for column, written in enumerate(row.texts):
        text = written
        if written[1:2] in _SECOND_SIGNS and written[:1].isdigit():
            cell = from_exponent(written)
            text = cell.text
            if cell.problem:
                problems[column] = cell.problem
        texts.append(unguarded(text).strip())
    return FileRow(row.number, texts, problems, row.left_out, row.typed)


def _workbook_file(content: bytes, choices: ReadChoices, max_cell_length: int) -> _File:
    """The rows of the chosen sheet, else of the first visible one that holds something."""
    workbook = Workbook(content)
    names = workbook.sheets
    positions = [position for position, name in enumerate(names) if choices.sheet in ("", name)]
    if not positions:
        raise InvalidInput(f"The workbook has no visible sheet of the name {one_line(choices.sheet)}.")
    for position in positions[:1] if choices.sheet else positions:
        rows = _bounded(_sheet_row(row, max_cell_length) for row in workbook.rows(position))
        if rows:
            left_out = max(row.left_out for row in rows)
            return _File(rows, ReadChoices(sheet=names[position]), sheets=names, left_out_columns=left_out)
    raise InvalidInput(NOTHING)


def _sheet_row(row: FileRow, max_cell_length: int) -> FileRow:
    texts = [one_line(text, max_cell_length) for text in row.texts]
    return _read_row(FileRow(row.number, texts, row.problems, row.left_out, row.typed))


def _bounded(rows: Iterable[FileRow]) -> Sequence[FileRow]:
    """The rows that hold something. Raises `InvalidInput` where they are too many or too long."""
    found: list[FileRow] = []
    size = 0
    for row in rows:
        if not any(row.texts):
            continue
        found.append(row)
        size += len("".join(row.texts).encode())
        if len(found) > MAX_ROWS + MAX_HEADING_ROWS:
            raise InvalidInput(TOO_MANY_ROWS)
        if size > MAX_CELLS_BYTES:
            raise InvalidInput(TOO_MANY_CELLS)
    return found


def _table(file: _File, choices: ReadChoices) -> Table:
    """The table with its heading and its column of codes."""
    if not file.rows:
        raise InvalidInput(NOTHING)
    first = file.rows[: MAX_HEADING_ROWS + MAX_SAMPLE_ROWS]
    heading = heading_row_of(first) if choices.heading_row is None else _index_of(file.rows, choices.heading_row)
    below = file.rows[heading + 1 :]
    if len(below) > MAX_ROWS:
        raise InvalidInput(TOO_MANY_ROWS)
    written = file.rows[heading].texts if heading >= 0 else ()
    width = max(map(_width, file.rows[max(heading, 0) :]))
    headings = distinct_headings(written, width)
    sample = below[:MAX_SAMPLE_ROWS]
    code_columns = code_columns_of(
        [written[column] if column < len(written) else "" for column in range(width)], sample
    )
    column = _code_column(choices, code_columns, width)
    read = ReadChoices(
        encoding=file.choices.encoding,
        delimiter=file.choices.delimiter,
        sheet=file.choices.sheet,
        heading_row=file.rows[heading].number if heading >= 0 else 0,
        code_column=column,
    )
    rows = [_table_row(row, column) for row in below]
    return Table(
        headings,
        rows,
        read,
        above=max(0, heading),
        is_encoding_guessed=file.is_encoding_guessed,
        sheets=file.sheets,
        code_columns=code_columns,
        left_out_columns=file.left_out_columns,
        typed_columns=typed_columns(below, width, {column, *code_columns}, has_types=bool(file.sheets)),
    )


def _index_of(rows: Sequence[FileRow], number: int) -> int:
    """The index of a row by its number in the file, -1 for 0."""
    if number == 0:
        return -1
    for index, row in enumerate(rows):
        if row.number == number:
            return index
    raise InvalidInput(f"Row {number} of the file holds nothing, so it cannot have the headings.")


def _code_column(choices: ReadChoices, found: Sequence[int], width: int) -> int:
    column = choices.code_column
    if column is None:
        return found[0] if found else 0
    if not 0 <= column < width:
        raise InvalidInput(f"The file has {width} columns, so the column of codes cannot be the {column + 1}.")
    return column


def _width(row: FileRow) -> int:
    """Number of columns up to the last filled one."""
    return next((column for column in range(len(row.texts), 0, -1) if row.texts[column - 1]), 0)


def _table_row(row: FileRow, column: int) -> TableRow:
    code = bare(row.texts[column]) if column < len(row.texts) else ""
    return TableRow(row.number, code, row.problems.get(column, ""), row.texts[: _width(row)])
