"""Rows of a text with separators: finding its separator, and splitting its cells.

Quoted cells may hold line breaks. A quote that never ends makes the rest of its line a cell, but not further lines.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from registerwatch.files.tables.cells import MIN_DIGITS

DELIMITERS: Sequence[str] = (";", "\t", "|", ",")
"""Separators that can be chosen; of two that fit equally well the first is used."""
MAX_LINES_OF_ROW = 50
"""A quote that is open for longer never ends."""
MAX_SAMPLE_ROWS = 200
"""The separator is found from at most this many rows, empty ones not counted."""

_NONE = "\x1f"
"""A separator that no text has."""
_ANNOUNCED = re.compile(r'"?sep=(.)"?', re.IGNORECASE)
"""Excel's first line that names the separator."""
_DECIMAL_COMMA = re.compile(r"(?<=[0-9]),(?=[0-9])")
_CODE_BEFORE_COMMA = re.compile(rf"(?<![0-9,.])[0-9]{{{MIN_DIGITS},}},[0-9]")

Row = tuple[int, list[str]]
"""The number of the row's first line, from 1, and its cells."""


def split_lines(text: str) -> list[str]:
    """The lines of a text as an editor counts them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def announced_delimiter(lines: Sequence[str]) -> str:
    """The separator that the first line names, as in `sep=;`; empty if it names none."""
    found = _ANNOUNCED.fullmatch(lines[0].strip(" ")) if lines else None
    return found[1] if found and found[1] in DELIMITERS else ""


def delimiter_of(lines: Sequence[str]) -> str:
    """The separator that most rows agree about; empty if each line is one cell.

    Decimal commas are not separators: they do not count beside another separator, nor alone, unless after a code.
    """
    first = [line for line in islice(lines, MAX_SAMPLE_ROWS * 5) if line.strip()][:MAX_SAMPLE_ROWS]
    found = {each: _agreement(first, each) for each in DELIMITERS[:-1]}
    has_other = max(found.values()) > 0
    is_decimal = has_other or not _has_other_commas(first)
    found[","] = _agreement([_DECIMAL_COMMA.sub(".", line) for line in first] if is_decimal else first, ",")
    best = max(found, key=lambda each: found[each])
    return best if found[best] > 0 else ""


def rows_of(lines: Sequence[str], delimiter: str, *, after: int = 0) -> Iterator[Row]:
    """The rows of lines, with empty ones. `after` lines come before them. An empty separator splits nothing."""
    delimiter = delimiter or _NONE
    index = 0
    while index < len(lines):
        feed = _Feed(lines, index)
        reader = csv.reader(feed, delimiter=delimiter, strict=True)
        try:
            for cells in reader:
                yield after + index + 1, cells
                index = feed.begin_row()
        except csv.Error:
            yield after + index + 1, cells_of_line(lines[index], delimiter)
            index += 1
        else:
            return


class _Feed:
    """Lines for a CSV reader, at most `MAX_LINES_OF_ROW` for each row."""

    def __init__(self, lines: Sequence[str], index: int) -> None:
        self._lines = lines
        self._index = self._begin = index

    def begin_row(self) -> int:
        """The index of the line where the next row begins."""
        self._begin = self._index
        return self._index

    def __iter__(self) -> "_Feed":
        return self

    def __next__(self) -> str:
        if self._index >= len(self._lines) or self._index - self._begin >= MAX_LINES_OF_ROW:
            raise StopIteration
        line = self._lines[self._index]
        self._index += 1
        return f"{line}\n"


def cells_of_line(line: str, delimiter: str) -> list[str]:
    """The cells of a line, whatever quotes it has: a quote that never ends makes the rest one cell."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return line.split(delimiter)


def _agreement(lines: Sequence[str], delimiter: str) -> float:
    """How well a separator fits: the share of rows with the most frequent number of cells, and a little more if they
    have many. 0 if most rows have one cell.
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
    """Whether some commas cannot be decimal commas."""
    return any("," in _DECIMAL_COMMA.sub("", line) or _CODE_BEFORE_COMMA.search(line) for line in lines)
