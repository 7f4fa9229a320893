"""Cells as text, with the damage that a spreadsheet has done to them."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

CellProblem = Literal["", "date", "shortened"]

PROBLEMS = {
    "date": "the spreadsheet has made a date of it; format its column as text and type it anew.",
    "shortened": "a spreadsheet has shortened this number; format its column as text and export the list again.",
}
"""Reasons why a cell has lost its identifier."""

MAX_CELL_LENGTH = 200
"""Characters of a cell that are kept; every identifier is shorter."""
EXACT_BELOW = 10**15
"""Spreadsheets keep 15 digits of a number."""
MIN_DIGITS = 8
"""Digits of the shortest GTIN."""
SEPARATORS = {"\x1d": "<GS>", "\x1e": "<RS>", "\x04": "<EOT>"}
"""The written form of separators in scanned codes, for texts that cannot hold control characters."""

_SEPARATORS = re.compile("[\x1d\x1e\x04]")
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
"""Control characters, without white space."""
_NUMBER_WITH_ZEROS = re.compile(r"([0-9]{8,15})[.,]0+")
_QUOTED_FORMULA = re.compile(r'="([^"]*)"')
_EXPONENT = re.compile(r"([0-9])(?:[.,]([0-9]+))?E\+?([0-9]{1,2})", re.IGNORECASE | re.ASCII)


class Cell(msgspec.Struct, frozen=True):
    """A cell as text."""

    text: str
    problem: CellProblem = ""


class FileRow(msgspec.Struct, frozen=True):
    """A row of a file that is not empty."""

    number: int
    """Its number in the file, from 1."""
    texts: Sequence[str]
    """The cells up to the last that is not empty."""
    problems: Mapping[int, CellProblem] = msgspec.field(default_factory=dict)
    """The problems of cells by column, from 0."""
    left_out: int = 0
    """How many columns it has after those that are kept."""
    typed: Sequence[int] = ()
    """The columns, from 0, whose cells a workbook has as numbers, dates or truth values; none in a text."""


def one_line(text: str, max_length: int = MAX_CELL_LENGTH) -> str:
    """The text of a cell in one line, without invisible characters, cut to `max_length`."""
    if text.isascii() and text.isprintable() and "  " not in text and len(text) <= max_length:
        return text.strip()  # quickly, since most cells are like that
    seen = _SEPARATORS.sub(lambda sign: SEPARATORS[sign.group()], text)
    cell = " ".join(_UNSEEN.sub("", seen).split())[:max_length].rstrip()
    return cell.encode("utf-8", "replace").decode()  # no answer can hold lone surrogates


def bare(text: str) -> str:
    """The text of a cell in one line, without the signs that mark an identifier as text in spreadsheets."""
    cell = one_line(text)
    quoted = _QUOTED_FORMULA.fullmatch(cell)
    cell = quoted.group(1).strip() if quoted else cell.removeprefix("'").strip()
    number = _NUMBER_WITH_ZEROS.fullmatch(cell)
    return number.group(1) if number else cell


def kept_as_text(text: str) -> str:
    """A cell of a CSV file without the formula that marks it as text, as in `="04012345678901"`."""
    quoted = _QUOTED_FORMULA.fullmatch(text)
    return quoted.group(1) if quoted else text


def from_exponent(text: str) -> Cell:
    """A number as long as a code, such as `4.012345678901E+12`, as digits; one with too few digits is `shortened`."""
    found = _EXPONENT.fullmatch(text)
    first, decimals, exponent = (found[1], found[2] or "", int(found[3])) if found else ("", "", 0)
    if exponent < MIN_DIGITS - 1:
        return Cell(text)
    if len(decimals) == exponent or (len(decimals) > exponent and not decimals[exponent:].strip("0")):
        return Cell(first + decimals[:exponent])
    return Cell(text, "shortened")


def number_cell(value: float) -> Cell:
    """A number of a workbook as a person would type it."""
    if not abs(value) < EXACT_BELOW:  # or not a number at all
        return Cell(f"{value:.15g}", "shortened")
    return Cell(str(int(value)) if value == int(value) else f"{value:.15g}")
