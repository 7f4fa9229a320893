"""ISBT 128 codes of ICCBBA: one data structure after the other, each of a fixed length.

Sources: ICCBBA ST-001 (data structures 001, 004, 005, 008, 009, 017, 018, 023, 032, 034, 035), ST-011, ST-017;
IMDRF N48 appendix A.
"""

import re

import msgspec

from registerwatch.register.identifiers.check_digits import donation_value, is_number
from registerwatch.register.identifiers.code_dates import DateForm, read_date
from registerwatch.register.identifiers.parsed_code import UNCHECKED, Candidate, ParsedCode, Part, PartName

UNMARKED = re.compile(r"A[0-9]{4}[A-Z0-9]{5,15}")
_PRODUCT = re.compile(r"[A-Z][0-9]{4}[A-Z0-9]{6}[A-Z][0-9]{4}")
"""Facility, its product code, product description code."""
_STARTS = re.compile(r"[=&]")


class _Structure(msgspec.Struct, frozen=True):
    """A data structure: its identifier, the characters after that, and their meaning."""

    identifier: str
    length: int
    name: PartName = "other"
    title: str = ""
    form: DateForm | None = None


_DEVICE, _CONTAINER, _COMPOUND = "=/", "=)", "=+"
_STRUCTURES = (
    _Structure(_DEVICE, 16),
    _Structure(_CONTAINER, 10),
    _Structure(_COMPOUND, 5),
    _Structure("=,", 6, "serial"),
    _Structure("=>", 6, "expiry", form="CYYJJJ"),
    _Structure("=}", 6, "production-date", form="CYYJJJ"),
    _Structure("&>", 10, "expiry", form="CYYJJJHHMM"),
    _Structure("&}", 10, "production-date", form="CYYJJJHHMM"),
    _Structure("&,1", 18, "lot"),
    _Structure("&)", 10, "lot"),
    _Structure("=<", 8, title="Product code"),
    _Structure("=%", 4, title="Blood groups"),
)
_DONATION_LENGTH = 15
_FIRST_KEYED_FLAG = 60
"""Flag characters from 60 on are 60 and the checksum of the donation number (ST-001 appendix A)."""


def unmarked(text: str) -> Candidate | None:
    """A device identifier as the register writes it, None where the text cannot be one."""
    capital = text.upper()
    if not UNMARKED.fullmatch(capital) and not _PRODUCT.fullmatch(capital):
        return None
    also = (capital,) if capital != text else ()
    return Candidate("udi-di", text, "ISBT 128 product identification", "iccbba", UNCHECKED, also=also)


def starts(text: str) -> bool:
    """Whether a text begins with a data identifier of ISBT 128."""
    return text[:1] in {"=", "&"} and _starts(text)


def _starts(text: str) -> bool:
    return any(text.startswith(each.identifier) for each in _STRUCTURES) or bool(re.match("=[A-Z0-9][0-9]{4}", text))


def parse(text: str, this_year: int) -> ParsedCode:
    """Read a text that begins with `=` or `&`."""
    candidates: list[Candidate] = []
    parts: list[Part] = []
    warnings: list[str] = []
    rest = "".join(text.split())
    while rest:
        structure = _structure(rest)
        if structure is None:
            parts.append(Part("other", rest, rest, rest[:2], "ISBT 128 data"))
            break
        end = len(structure.identifier) + structure.length
        value, rest = rest[len(structure.identifier) : end], rest[end:]
        if len(value) < structure.length or _STARTS.search(value):
            warnings.append(f"{structure.identifier} is followed by {structure.length} characters, not by “{value}”.")
        if structure.identifier in {_DEVICE, _CONTAINER}:
            candidates.append(_device(structure, value))
        elif structure.identifier != _COMPOUND:
            parts.append(_part(structure, value, this_year))
            warnings += _problems(parts[-1])
    return ParsedCode(tuple(candidates), tuple(parts), tuple(warnings), is_marked=True)


def _structure(text: str) -> _Structure | None:
    named = next((each for each in _STRUCTURES if text.startswith(each.identifier)), None)
    if named is None and re.match("=[A-Z0-9]", text):
        return _Structure("=", _DONATION_LENGTH, "donation")
    return named


def _device(structure: _Structure, value: str) -> Candidate:
    form = "ISBT 128 product identification" if structure.identifier == _DEVICE else "ISBT 128 container code"
    also = (f"{structure.identifier}{value}",)
    return Candidate("udi-di", value, form, "iccbba", UNCHECKED, also=also, is_marked=True)


def _part(structure: _Structure, value: str, this_year: int) -> Part:
    read = read_date(value, structure.form, this_year) if structure.form else value
    return Part(structure.name, value, read, structure.identifier, structure.title)


def _problems(part: Part) -> list[str]:
    if part.value is None:
        return [f"“{part.written}” is no date ({part.label})."]
    if part.name != "donation" or not is_number(part.written[13:]):
        return []
    checksum = int(part.written[13:]) - _FIRST_KEYED_FLAG
    expected = donation_value(part.written[:13])
    if checksum < 0 or expected is None or checksum == expected:
        return []
    return [f"The last two digits of the donation identification number should be {_FIRST_KEYED_FLAG + expected}."]
