"""Codes of IFA: PPN, HPC, Master UDI-DI, Basic UDI-DI, and messages with data identifiers around them.

Sources: IFA, Specification UDI 2.5 and PPN-Code Specification for Retail Packaging; ISO/IEC 15434 format 06; DIN 16598.
"""

import re
from collections.abc import Iterator

from registerwatch.register.identifiers.check_digits import ifa_digits, is_number
from registerwatch.register.identifiers.code_dates import DateForm, read_date
from registerwatch.register.identifiers.gs1_numbers import GTIN_LENGTHS, gtin
from registerwatch.register.identifiers.parsed_code import Candidate, CheckDigits, ParsedCode, Part, PartName, in_order

_FORMS = (
    ("Pharmacy Product Number (PPN)", re.compile(r"11[0-9]{10}")),
    ("Health Product Code (HPC)", re.compile(r"13[0-9A-Z]{5}[0-9A-Z.-]{1,19}[0-9]{2}")),
    ("Master UDI-DI", re.compile(r"MA[0-9A-Z]{5}[0-9A-Z.-]{1,19}[0-9]{2}")),
    ("Pharmacy Product Number (PPN)", re.compile(r"(?:1[24-9]|2[0-4])[0-9A-Z]{4,18}[0-9]{2}")),
)
"""Names of codes, by their agency codes."""
_BASIC = re.compile(r"PP[0-9A-Z]{5}[0-9A-Z.]{1,16}[0-9]{2}")

_MESSAGE = re.compile(r"\[\)>\x1e?0[56]\x1d?|\.(?=9N)|(?=9N[0-9A-Z.-]{8,}(?:\x1d|$))")
_BRACKETED = re.compile(r"\(([0-9]{0,2}[A-Z])\)")
_IDENTIFIER = re.compile(r"9N|1T|16D|27Q|33L|8P|D|S|Q")
_NAMES: dict[str, tuple[PartName, str, DateForm | None]] = {
    "1T": ("lot", "", None),
    "S": ("serial", "", None),
    "D": ("expiry", "", "YYMMDD"),
    "16D": ("production-date", "", "YYYYMMDD"),
    "Q": ("quantity", "", None),
    "27Q": ("other", "Price", None),
    "33L": ("other", "Web address", None),
}
_ENDS = "\x1d\x1e\x04"


def unmarked(text: str) -> Candidate | None:
    """A code of IFA without a mark, None where its agency code or its check digits do not fit."""
    found = _candidate(text, is_marked=False)
    return found if found is not None and found.check.verdict == "right" else None


def basic_udi_di(text: str) -> Candidate | None:
    """A Basic UDI-DI of IFA, which begins with PP; None where the text is not one."""
    capital = text.upper()
    if not _BASIC.fullmatch(capital):
        return None
    check = _check(capital)
    if check.verdict == "wrong" and not is_number(capital[2:7]):
        return None
    return Candidate("basic-udi-di", capital, "IFA Basic UDI-DI", "ifa", check)


def is_message(text: str) -> bool:
    """Whether a text has the data identifiers of IFA: in brackets, in format 06, or in DIN 16598."""
    return bool(_MESSAGE.match(text)) or text.startswith("(9N)")


def parse(text: str, this_year: int) -> ParsedCode:
    """Read such a message."""
    fields = list(_bracketed_fields(text) if text.startswith("(") else _scanned_fields(text))
    candidates: list[Candidate] = []
    parts: list[Part] = []
    warnings: list[str] = []
    for identifier, value in fields:
        if identifier == "9N":
            found = _candidate(value, is_marked=True)
            candidates += [found] if found else []
            warnings += [] if found else [f"“{value}” is no PPN and no HPC."]
        elif identifier == "8P" and len(value) in GTIN_LENGTHS and is_number(value):
            candidates.append(gtin(value, is_marked=True, note="The code has it beside its PPN."))
        else:
            parts.append(_part(identifier, value, this_year))
    warnings += [f"“{part.written}” is no date ({part.label})." for part in parts if part.value is None]
    return ParsedCode(in_order(candidates), tuple(parts), tuple(warnings), is_marked=True)


def _bracketed_fields(text: str) -> Iterator[tuple[str, str]]:
    bare = "".join(text.split())
    pieces = _BRACKETED.split(bare)
    yield from zip(pieces[1::2], pieces[2::2], strict=True)


def _scanned_fields(text: str) -> Iterator[tuple[str, str]]:
    for field in _MESSAGE.sub("", text, count=1).rstrip(_ENDS).split("\x1d"):
        mark = _IDENTIFIER.match(field)
        if mark:
            yield mark.group(), field[mark.end() :]
        elif field:
            yield "", field


def _candidate(text: str, *, is_marked: bool) -> Candidate | None:
    capital = text.upper()
    form = next((name for name, pattern in _FORMS if pattern.fullmatch(capital)), None)
    if form is None:
        return None
    also = (capital,) if capital != text else ()
    return Candidate("udi-di", text, form, "ifa", _check(capital), also=also, is_marked=is_marked)


def _check(capital: str) -> CheckDigits:
    expected = ifa_digits(capital[:-2])
    return CheckDigits("right" if capital.endswith(expected) else "wrong", expected, "two digits")


def _part(identifier: str, value: str, this_year: int) -> Part:
    name, title, form = _NAMES.get(identifier, ("other", "", None))
    return Part(name, value, read_date(value, form, this_year) if form else value, identifier, title)
