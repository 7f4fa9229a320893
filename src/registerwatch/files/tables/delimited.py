"""Rows of a text with separators: which separator it has, and where its cells end.

Quoted cells may hold line breaks. A quote that never ends makes a cell of the rest of its line, and of no other one.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from registerwatch.files.tables.cells import MIN_DIGITS

DELIMITERS: Sequence[str] = (";", "\t", "|", ",")
"""Those that can be chosen; of two that fit equally well the first is taken."""
MAX_LINES_OF_ROW = 50
"""A quote that has not ended by then never does."""
MAX_SAMPLE_ROWS = 200
"""The separator is looked for in so many rows that hold something."""

_NONE = "\x1f"
"""A separator that no text has."""
_ANNOUNCED = re.compile(r'"?sep=(.)"?', re.IGNORECASE)
"""The first line that Excel understands, and nobody else."""
_DECIMAL_COMMA = re.compile(r"(?<=[0-9]),(?=[0-9])")
_CODE_BEFORE_COMMA = re.compile(rf"(?<![0-9,.])[0-9]{{{MIN_DIGITS},}},[0-9]")

Row = tuple[int, list[str]]
"""The number of the row's first line, from 1, and its cells."""


def split_lines(text: str) -> list[str]:
    """The lines of a text as an editor counts them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def announced_delimiter(lines: Sequence[str]) -> str:
    """The separator that the first line names, as in `sep=;`; empty where it names none."""
    found = _ANNOUNCED.fullmatch(lines[0].strip(" ")) if lines else None
    return found[1] if found and found[1] in DELIMITERS else ""


def delimiter_of(lines: Sequence[str]) -> str:
    """The separator that most rows agree about; empty where each line is one cell.

    Commas of decimals are none: they do not count beside another separator, nor alone, unless they are behind a code.
    """
    first = [line for line in islice(lines, MAX_SAMPLE_ROWS * 5) if line.strip()][:MAX_SAMPLE_ROWS]
    found = {each: _agreement(first, each) for each in DELIMITERS[:-1]}
    has_other = max(found.values()) > 0
    is_decimal = has_other or not _has_other_commas(first)
    found[","] = _agreement([_DECIMAL_COMMA.sub(".", line) for line in first] if is_decimal else first, ",")
    best = max(found, key=lambda each: found[each])
    return best if found[best] > 0 else ""


def rows_of(lines: Sequence[str], delimiter: str, *, after: int = 0) -> Iterator[Row]:
    """The rows of lines that come `after` so many others, also empty ones; an empty separator splits none."""
    delimiter = delimiter or _NONE
    place = 0
    while place < len(lines):
        feed = _Feed(lines, place)
        reader = csv.reader(feed, delimiter=delimiter, strict=True)
        try:
            for cells in reader:
                yield after + place + 1, cells
                place = feed.begin_row()
        except csv.Error:
            yield after + place + 1, cells_of_line(lines[place], delimiter)
            place += 1
        else:
            return


class _Feed:
    """Lines for a reader of CSV, but no more than one row can have."""

    def __init__(self, lines: Sequence[str], place: int) -> None:
        self._lines = lines
        self._place = self._begin = place

    def begin_row(self) -> int:
        """The index of the line where the next row begins."""
        self._begin = self._place
        return self._place

    def __iter__(self) -> "_Feed":
        return self

    def __next__(self) -> str:
        if self._place >= len(self._lines) or self._place - self._begin >= MAX_LINES_OF_ROW:
            raise StopIteration
        line = self._lines[self._place]
        self._place += 1
        return f"{line}\n"


def cells_of_line(line: str, delimiter: str) -> list[str]:
    """The cells of a line, whatever quotes it has: one that never ends makes a cell of the rest."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return line.split(delimiter)


def _agreement(lines: Sequence[str], delimiter: str) -> float:
    """How well a separator fits: the share of rows with the most frequent number of cells, and a little more where
    they have many. 0 where most rows have one cell.
    """
    widths = Counter(len(cells) for _, cells in rows_of(lines, delimiter) if any(cells))
    if not widths:
        return 0
    width, count = max(widths.items(), key=lambda each: (each[1], each[0]))
    wide = sum(times for each, times in widths.items() if each > 1)
    if wide * 2 < widths.total() or (width == 1 and wide < 3):
        return 0
    return count / widths.total() + min(width, 50) / 100 if width > 1 else 0.01


def _has_other_commas(lines: Sequence[str]) -> bool:
    """Whether some commas cannot be those of decimals."""
    return any("," in _DECIMAL_COMMA.sub("", line) or _CODE_BEFORE_COMMA.search(line) for line in lines)
