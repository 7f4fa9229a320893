"""Lists in the REST interface: one identifier a line, in the first cell; commas, tabs or semicolons separate cells."""

import csv
from collections.abc import Iterator

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.delimited import split_lines

MAX_LINES = 500
"""Lines, without empty ones."""
MAX_ALL_LINES = 2_000
"""Lines, with empty ones."""
MAX_LINE_LENGTH = 2_000
HEADERS = frozenset({"udi", "srn", "udi-di", "subject", "identifier"})


def identifiers(text: str) -> list[tuple[int, str]]:
    """The first cell of every line that has one, with the line's number; headers are left out.

    Raises `InvalidInput` for more than 500 such lines, and for a text that is not a list of lines.
    """
    found: list[tuple[int, str]] = []
    for number, line in enumerate(_lines(text.removeprefix("\ufeff")), start=1):
        cell = first_cell(line)
        if not cell or cell.lower() in HEADERS:
            continue
        found.append((number, cell))
        if len(found) > MAX_LINES:
            raise InvalidInput(f"The list has more than {MAX_LINES} lines; nothing was added. Send it in parts.")
    return found


def _lines(text: str) -> Iterator[str]:
    if "\0" in text:
        raise InvalidInput("The list is not CSV: it holds a NUL character. Nothing was added.")
    if text.count("\n") + text.count("\r") - text.count("\r\n") > MAX_ALL_LINES:
        raise InvalidInput(f"The list has more than {MAX_ALL_LINES:,} lines, empty ones too; nothing was added.")
    for line in split_lines(text):
        if len(line) > MAX_LINE_LENGTH:
            raise InvalidInput(
                f"The list is not CSV: a line has more than {MAX_LINE_LENGTH:,} characters. Nothing was added."
            )
        yield line


def first_cell(line: str) -> str:
    """The first cell of a line, without quotes around it; a quote that never ends is part of the cell.

    A line may have any of three separators; a `csv` reader knows only one. Identifiers contain none of the three.
    """
    line = line.replace(";", ",").replace("\t", ",").strip()
    if not line.startswith('"'):
        return line.partition(",")[0].strip()
    cell = next(csv.reader([f"{line}\n"]))[0]
    return (line.partition(",")[0] if "\n" in cell else cell).strip()
