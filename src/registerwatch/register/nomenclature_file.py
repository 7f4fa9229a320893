"""Reading a file of the nomenclature (EMDN): CSV with a column of codes and one of their English names. Pure but for
reading the file.
"""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from registerwatch.errors import InvalidInput
from registerwatch.register.search.filters import EMDN_CODE

MAX_FILE_BYTES = 20_000_000
MAX_NAME_LENGTH = 500
MAX_HEADING_LINES = 10
"""The headings are looked for in so many lines: exports often begin with a title."""
CODE_HEADINGS = ("code", "emdn code", "emdncode", "cnd code")
NAME_HEADINGS = ("name", "name (en)", "emdn term", "term", "term (en)", "description", "description (en)", "english")
_SEPARATORS = (",", ";", "\t")

Line = tuple[int, Sequence[str]]
"""The number of a line, from 1, and its cells."""


def read_nomenclature(path: Path) -> dict[str, str]:
    """Names by code. Raises `InvalidInput`, with the line, where anything in the file is no code with a name."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise InvalidInput(f"{path} has more than {MAX_FILE_BYTES // 1_000_000} MB; this is no nomenclature.")
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is no text in UTF-8. Save it as “CSV UTF-8” where it is a workbook.") from None
    try:
        return parse_nomenclature(text)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error} Nothing was loaded.") from error


def parse_nomenclature(text: str) -> dict[str, str]:
    """Names by code, of the text of a file. Commas, semicolons or tabs separate its cells."""
    if "\0" in text:
        raise InvalidInput("This is no CSV: it holds a NUL character.")
    lines, code_column, name_column = _below_headings(text)
    names: dict[str, str] = {}
    for number, cells in lines:
        if not any(cell.strip() for cell in cells):
            continue
        code, name = _cell(cells, code_column).upper(), " ".join(_cell(cells, name_column).split())
        if not EMDN_CODE.fullmatch(code):
            raise InvalidInput(f"Line {number}: “{code[:40]}” is no EMDN code, which is a letter and pairs of digits.")
        if not name or len(name) > MAX_NAME_LENGTH:
            raise InvalidInput(f"Line {number}: {code} needs a name of 1 to {MAX_NAME_LENGTH} characters.")
        if names.setdefault(code, name) != name:
            raise InvalidInput(f"Line {number}: {code} has another name in an earlier line.")
    if not names:
        raise InvalidInput("It holds no codes.")
    return names


def _below_headings(text: str) -> tuple[Iterator[Line], int, int]:
    """The lines below the headings, and the columns of codes and names."""
    for separator in _SEPARATORS:
        lines = _lines(text, separator)
        for _ in range(MAX_HEADING_LINES):
            _, cells = next(lines, (0, ()))
            titles = [" ".join(cell.lower().replace("_", " ").split()) for cell in cells]
            code, name = _first(CODE_HEADINGS, titles), _first(NAME_HEADINGS, titles)
            if code is not None and name is not None:
                return lines, code, name
    raise InvalidInput("It has no line with the headings `code` and `name`, separated by commas, semicolons or tabs.")


def _lines(text: str, separator: str) -> Iterator[Line]:
    """The lines of a text; those of a cell with line breaks count as one, with the number of its last line."""
    reader = csv.reader(text.splitlines(keepends=True), delimiter=separator)
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise InvalidInput(f"Line {reader.line_num} is no CSV: {error}.") from error


def _first(headings: Sequence[str], titles: Sequence[str]) -> int | None:
    return next((titles.index(heading) for heading in headings if heading in titles), None)


def _cell(cells: Sequence[str], column: int) -> str:
    return cells[column].strip() if column < len(cells) else ""
