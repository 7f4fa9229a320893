"""What a cell holds, as text, and what a spreadsheet has done to it."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

CellProblem = Literal["", "date", "shortened"]

PROBLEMS = {
    "date": "the spreadsheet has made a date of it; format its column as text and type it anew.",
    "shortened": "a spreadsheet has shortened this number; format its column as text and export the list again.",
}
"""Why a cell has lost its identifier."""

MAX_CELL_LENGTH = 200
"""Characters of a cell that are kept; no identifier has as many."""
EXACT_BELOW = 10**15
"""Spreadsheets keep 15 digits of a number."""
MIN_DIGITS = 8
"""The shortest GTIN."""
SEPARATORS = {"\x1d": "<GS>", "\x1e": "<RS>", "\x04": "<EOT>"}
"""Separators in scanned codes, as they are written where a control character cannot stand."""

_SEPARATORS = re.compile("[\x1d\x1e\x04]")
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
"""Control characters that are no white space."""
_NUMBER_WITH_ZEROS = re.compile(r"([0-9]{8,15})[.,]0+")
_QUOTED_FORMULA = re.compile(r'="([^"]*)"')
_EXPONENT = re.compile(r"([0-9])(?:[.,]([0-9]+))?E\+?([0-9]{1,2})", re.IGNORECASE | re.ASCII)


class Cell(msgspec.Struct, frozen=True):
    """What a cell holds, as text."""

    text: str
    problem: CellProblem = ""


class FileRow(msgspec.Struct, frozen=True):
    """A row of a file that holds something."""

    number: int
    """In the file, from 1."""
    texts: Sequence[str]
    """The cells until the last that holds something."""
    problems: Mapping[int, CellProblem] = msgspec.field(default_factory=dict)
    """Of the cells that have one, by their columns, from 0."""
    left_out: int = 0
    """How many columns it has behind those that are kept."""
    typed: Sequence[int] = ()
    """The columns, from 0, whose cells a workbook has as numbers, dates or truth values; none in a text."""


def one_line(text: str, max_length: int = MAX_CELL_LENGTH) -> str:
    """The text of a cell in one line, without what cannot be seen, cut where no identifier is as long."""
    if text.isascii() and text.isprintable() and "  " not in text and len(text) <= max_length:
        return text.strip()  # quickly, since most cells are like that
    seen = _SEPARATORS.sub(lambda sign: SEPARATORS[sign.group()], text)
    cell = " ".join(_UNSEEN.sub("", seen).split())[:max_length].rstrip()
    return cell.encode("utf-8", "replace").decode()  # half signs fit into no answer


def bare(text: str) -> str:
    """The text of a cell in one line, without what spreadsheets write around an identifier to keep it a text."""
    cell = one_line(text)
    quoted = _QUOTED_FORMULA.fullmatch(cell)
    cell = quoted.group(1).strip() if quoted else cell.removeprefix("'").strip()
    number = _NUMBER_WITH_ZEROS.fullmatch(cell)
    return number.group(1) if number else cell


def kept_as_text(text: str) -> str:
    """A cell of a CSV file without the formula that keeps it a text, as in `="04012345678901"`."""
    quoted = _QUOTED_FORMULA.fullmatch(text)
    return quoted.group(1) if quoted else text


def from_exponent(text: str) -> Cell:
    """A number as long as a code, such as `4.012345678901E+12`, by its digits; one that has too few is shortened."""
    found = _EXPONENT.fullmatch(text)
    first, decimals, places = (found[1], found[2] or "", int(found[3])) if found else ("", "", 0)
    if places < MIN_DIGITS - 1:
        return Cell(text)
    if len(decimals) == places or (len(decimals) > places and not decimals[places:].strip("0")):
        return Cell(first + decimals[:places])
    return Cell(text, "shortened")


def number_cell(value: float) -> Cell:
    """A number of a workbook as a person would type it."""
    if not abs(value) < EXACT_BELOW:  # or not a number at all
        return Cell(f"{value:.15g}", "shortened")
    return Cell(str(int(value)) if value == int(value) else f"{value:.15g}")
