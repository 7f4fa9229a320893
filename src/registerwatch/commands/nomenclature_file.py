"""Files of the nomenclature (EMDN): the Commission's workbook of any version, or the same as CSV.

Titles above the headings, blanks at the ends of headings and terms, and the number and order of columns do not matter.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.headings import MAX_HEADING_ROWS, normal
from registerwatch.files.tables.table import MAX_FILE_BYTES, ReadChoices, Table, TableRow
from registerwatch.files.tables.table_reader import read_table
from registerwatch.platform.structs import replace
from registerwatch.register.nomenclature import MAX_NAME_LENGTH, Nomenclature, Term, nomenclature_of

CODE_HEADINGS = ("code", "emdncode", "codeemdn", "cndcode", "codecnd")
NAME_HEADINGS = (
    *("term", "termemdn", "emdnterm", "termen", "termemdnen", "emdntermen", "name", "nameen"),
    *("description", "descriptionen", "english"),
)
"""Headings without blanks and signs; of several columns the one listed first is used."""
LOOKED_FOR = (
    "a row with the headings CODE (or EMDN CODE) and TERM (or TERM EMDN, EMDN TERM, NAME, DESCRIPTION), among the first"
    f" {MAX_HEADING_ROWS} rows of a sheet"
)
MAX_SHOWN = 8
"""Headings of an unknown file that a message shows."""


def read_nomenclature(path: Path) -> tuple[Nomenclature, str]:
    """The terms in a file, and the workbook's sheet that has them. Raises `InvalidInput` for another file."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise InvalidInput(f"{path} has more than {MAX_FILE_BYTES // 1024**2} MiB; this is no nomenclature.")
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    try:
        return parse_nomenclature(content)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from error


def parse_nomenclature(content: bytes) -> tuple[Nomenclature, str]:
    """The terms in a file's content, and their sheet: of several the one with the most terms."""
    tables = _tables(content)
    found = [(nomenclature_of(terms), table.choices.sheet) for table in tables if (terms := _terms(table)) is not None]
    if not found:
        raise InvalidInput(f"This is no nomenclature. Looked for: {LOOKED_FOR}. Found: {_seen(tables)}.")
    return max(found, key=lambda each: len(each[0].names))


def _tables(content: bytes) -> list[Table]:
    """Each visible sheet that is not empty, or the text, with all rows and uncut cells."""
    choices = ReadChoices(heading_row=0)
    first = read_table(content, choices, max_cell_length=MAX_NAME_LENGTH + 1)
    others = [each for each in first.sheets if each != first.choices.sheet]
    tables = [first]
    for sheet in others:
        try:
            tables.append(read_table(content, replace(choices, sheet=sheet), max_cell_length=MAX_NAME_LENGTH + 1))
        except InvalidInput:
            continue  # a sheet without rows, or not a table
    return tables


def _terms(table: Table) -> Sequence[Term] | None:
    """The terms below the headings, None without any headings."""
    for index, row in enumerate(table.rows[:MAX_HEADING_ROWS]):
        headings = [normal(cell) for cell in row.cells]
        code, name = _first(CODE_HEADINGS, headings), _first(NAME_HEADINGS, headings)
        if code is not None and name is not None:
            below = table.rows[index + 1 :]
            return (*_below(below, code, name), *_categories(below, headings, code))
    return None


def _below(rows: Sequence[TableRow], code: int, name: int) -> Iterator[Term]:
    """Terms of rows with a code or a name; other rows are remarks."""
    for row in rows:
        term = Term(f"Line {row.number}", _cell(row, code), _cell(row, name))
        if term.code or term.name:
            yield term


def _categories(rows: Sequence[TableRow], headings: Sequence[str], code: int) -> Iterator[Term]:
    """The codes of the first level without a row of their own, from the columns of categories."""
    category, description = _first(("category",), headings), _first(("categorydescription",), headings)
    if category is None or description is None:
        return
    found = {_cell(row, code) for row in rows}
    for row in rows:
        term = Term(f"Line {row.number}", _cell(row, category), _cell(row, description))
        if term.code and term.name and term.code not in found:
            found.add(term.code)
            yield term


def _seen(tables: Sequence[Table]) -> str:
    """What a file has instead, for people: the row of each sheet that looks most like its headings."""
    rows = [max(table.rows[:MAX_HEADING_ROWS], key=lambda row: sum(map(bool, row.cells))) for table in tables]
    seen = []
    for table, row in zip(tables, rows, strict=True):
        cells = [f"“{cell[:40]}”" for cell in row.cells if cell]
        more = f" and {len(cells) - MAX_SHOWN} more" if len(cells) > MAX_SHOWN else ""
        sheet = f" of the sheet “{table.choices.sheet}”" if table.choices.sheet else ""
        seen.append(f"{', '.join(cells[:MAX_SHOWN])}{more} in row {row.number}{sheet}")
    return "; ".join(seen)


def _first(wanted: Sequence[str], headings: Sequence[str]) -> int | None:
    return next((headings.index(each) for each in wanted if each in headings), None)


def _cell(row: TableRow, column: int) -> str:
    return row.cells[column] if column < len(row.cells) else ""
