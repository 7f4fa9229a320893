"""HIBC supplier codes: primary, secondary, both in one, and the Basic UDI-DI.

Sources: ANSI/HIBC 2.6 (sections 2.2 and 2.3, appendices B and F); HIBC Basic UDI-DI; IMDRF N48 appendix A.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

import msgspec

from registerwatch.register.identifiers.check_digits import HibcSums, character_pair, hibc_character, is_number
from registerwatch.register.identifiers.code_dates import DateForm, read_date
from registerwatch.register.identifiers.parsed_code import (
    ABSENT,
    UNCHECKED,
    Candidate,
    CheckDigits,
    ParsedCode,
    Part,
    PartName,
)

PRIMARY = re.compile(r"[A-Z][A-Z0-9]{3}[A-Z0-9]{1,18}[0-9]")
"""Labeler identification code, product or catalogue number, unit of measure."""
UNMARKED = re.compile(r"[A-Z](?=[A-Z]{0,2}[0-9])[A-Z0-9]{3}[A-Z0-9]{1,18}[0-9][A-Z0-9\-. $/+%]?")
"""The code without its `+`, perhaps with a check character; a labeler code of letters alone also begins words."""

OF_PROVIDER = "This is a HIBC code of a provider, for patients or places and no device."
MIN_LENGTH = 7
"""Characters of the shortest primary code, with its `+` and without a check character."""
ONLY_SECONDARY = "This is a secondary code, which names no device; the primary code beside it does."

_CONCATENATED = re.compile(rf"({PRIMARY.pattern})/(?=[$0-9SQ])")
_BASIC = re.compile(r"\+\+[A-Z][A-Z0-9]{3}[A-Z0-9]{1,17}[2-9A-HJ-NP-Z]{2}")
_NEXT_CODE = re.compile(r"\+(?=[$0-9S].{2})")
_DATE_FORMS: dict[str, DateForm] = {
    "2": "MMDDYY",
    "3": "YYMMDD",
    "4": "YYMMDDHH",
    "5": "YYJJJ",
    "6": "YYJJJHH",
}
_SUPPLEMENTS: dict[str, tuple[PartName, bool]] = {
    "14D": ("expiry", True),
    "16D": ("production-date", True),
    "S": ("serial", False),
    "Q": ("quantity", False),
}
_QUANTITY_DIGITS = {"8": 2, "9": 5}


class _Ending(msgspec.Struct, frozen=True):
    """A code without its check character."""

    body: str
    check: CheckDigits
    warning: str = ""


def basic_udi_di(text: str) -> Candidate | None:
    """A Basic UDI-DI of HIBCC with its `++`, or None where the text is not one."""
    capital = text.upper()
    if not _BASIC.fullmatch(capital):
        return None
    expected = character_pair(capital[:-2])
    check = CheckDigits("right" if capital[-2:] == expected else "wrong", expected or "", "two characters")
    return Candidate("basic-udi-di", capital, "HIBC Basic UDI-DI", "hibcc", check, also=(capital[2:],), is_marked=True)


def unmarked(text: str) -> Candidate | None:
    """A UDI-DI of HIBCC without its `+`, as the register writes it; None where the text cannot be one."""
    capital = text.upper()
    if not UNMARKED.fullmatch(capital):
        return None
    also = [capital] if capital != text else []
    note = ""
    if hibc_character(f"+{capital[:-1]}") == capital[-1] and PRIMARY.fullmatch(capital[:-1]):
        also.append(capital[:-1])
        note = "Its last character can be the check character of a bar code, which the register mostly leaves out."
    return Candidate("udi-di", text, "HIBC UDI-DI", "hibcc", UNCHECKED, note, tuple(also))


def is_concatenated(text: str) -> bool:
    """Whether a text without `+` is a primary code with a secondary one."""
    return "/" in text and bool(_CONCATENATED.match(text.upper()))


def parse(text: str, this_year: int) -> ParsedCode:
    """Read a text that begins with `+`. Blanks at its end may be check characters."""
    code = text.upper()
    if code.startswith("+/"):
        return ParsedCode(warnings=(OF_PROVIDER,), is_marked=True)
    if basic := basic_udi_di(code.strip()):
        return ParsedCode((basic,), is_marked=True)
    first, others = _codes(code)
    if not all(_is_checked(each) for each in (first, *others)):
        first, others = _codes(_without_inner_blanks(code))
    if first[1:2].isalpha():
        return _with_primary(first, others, this_year)
    found = _of_secondaries([first, *others], this_year)
    return replace(found, warnings=(ONLY_SECONDARY, *found.warnings))


def _is_checked(code: str) -> bool:
    """Whether the last character is the check character of the others."""
    return len(code) > 1 and hibc_character(code[:-1]) == code[-1]


def _without_inner_blanks(code: str) -> str:
    """A code without the blanks typed into it; those at its end can be check characters."""
    return "".join(code.split()) + " " * min(len(code) - len(code.rstrip(" ")), 2)


def _codes(code: str) -> tuple[str, list[str]]:
    """The primary code and the secondary ones that were scanned after it.

    A code may have a mark at every third character, so the characters before a mark are checked in constant time.
    """
    sums = HibcSums(code)
    starts, slash = [0], code.find("/")
    for mark in _NEXT_CODE.finditer(code, MIN_LENGTH):
        start, end = starts[-1], mark.start()
        while -1 < slash < start:
            slash = code.find("/", slash + 1)
        has_slash = start <= slash < end - 1
        if end - start > 3 and not has_slash and sums.is_checked(start, end):
            starts.append(end)
    pieces = [code[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
    return pieces[0], pieces[1:]


def _with_primary(code: str, others: list[str], this_year: int) -> ParsedCode:
    ending = _ending(code)
    primary, *fields = ending.body[1:].split("/")
    if not PRIMARY.fullmatch(primary):
        return ParsedCode(
            warnings=("A HIBC code begins with +, four characters of the labeler, its product and a digit.",)
        )
    parts, warnings = _parts(fields, this_year)
    more = _of_secondaries(others, this_year)
    also = (f"+{primary}",) if fields else _spellings(code.strip(), primary)
    candidate = Candidate("udi-di", primary, "HIBC UDI-DI", "hibcc", ending.check, also=also, is_marked=True)
    all_warnings = [ending.warning, *warnings] if ending.warning else warnings
    return ParsedCode((candidate,), (*parts, *more.parts), (*all_warnings, *more.warnings), is_marked=True)


def _spellings(code: str, primary: str) -> tuple[str, ...]:
    """Other ways to write a primary code: with its check character, and with the `+`."""
    also = [each for each in (code[1:], code, f"+{primary}") if each != primary]
    return tuple(dict.fromkeys(also))


def _ending(code: str) -> _Ending:
    """A primary or concatenated code without its check character, as far as it is known to have one."""
    whole = code.rstrip()
    for each in (code, whole):
        if len(each) > MIN_LENGTH and _is_checked(each):
            return _Ending(each[:-1], CheckDigits("right", each[-1], "character"))
    if hibc_character(whole) == " ":
        return _Ending(whole, CheckDigits("right", " ", "character"))
    is_primary = "/" not in whole.rstrip("/")
    if is_primary and PRIMARY.fullmatch(whole[1:]):
        return _Ending(whole, ABSENT)
    expected = hibc_character(whole[:-1]) or ""
    check = CheckDigits("wrong", expected, "character")
    left_out = f"Where the check character was left out, “{whole[-1]}” belongs to what stands before it."
    return _Ending(whole[:-1], check, "" if is_primary else left_out)


def _of_secondaries(codes: list[str], this_year: int) -> ParsedCode:
    """Secondary codes, each with a link character and a check character at its end."""
    parts: list[Part] = []
    warnings: list[str] = []
    for code in codes:
        body, warning = _without_link(code)
        found, of_parts = _parts([body], this_year)
        parts += found
        warnings += [warning, *of_parts] if warning else of_parts
    return ParsedCode((), tuple(parts), tuple(warnings), is_marked=True)


def _without_link(code: str) -> tuple[str, str]:
    whole = code.rstrip()
    for each in (code, whole):
        if _is_checked(each):
            return each[1:-2], ""
    if hibc_character(whole) == " ":
        return whole[1:-1], ""
    return whole[1:-2], f"The last character of {whole} should be {hibc_character(whole[:-1]) or 'another one'}."


def _parts(fields: list[str], this_year: int) -> tuple[list[Part], list[str]]:
    parts = [part for written in fields for part in _field(written, this_year)]
    return parts, [f"“{part.written}” is no date ({part.label})." for part in parts if part.value is None]


def _field(written: str, this_year: int) -> Iterator[Part]:
    """The parts of one field of a secondary code."""
    for flag in ("$$+", "$$", "$+", "$"):
        if written.startswith(flag):
            rest = written[len(flag) :]
            name: PartName = "serial" if flag.endswith("+") else "lot"
            yield from _dated(flag, rest, name, this_year) if flag.startswith("$$") else _named(flag, rest, name)
            return
    for qualifier, (name, is_date) in _SUPPLEMENTS.items():
        if written.startswith(qualifier):
            value = written[len(qualifier) :]
            yield Part(name, value, read_date(value, "YYYYMMDD", this_year) if is_date else value, qualifier)
            return
    if len(written) >= 5 and is_number(written[:5]):
        yield Part("expiry", written[:5], read_date(written[:5], "YYJJJ", this_year), "")
        yield from _named("", written[5:], "lot")
    elif written:
        yield Part("other", written, written, "")


def _dated(flag: str, rest: str, name: PartName, this_year: int) -> Iterator[Part]:
    """The parts after `$$`: perhaps a quantity, perhaps a date, perhaps a lot or a serial number."""
    indicator = rest[:1]
    if indicator in _QUANTITY_DIGITS and name == "lot":
        end = 1 + _QUANTITY_DIGITS[indicator]
        yield Part("quantity", rest[1:end], rest[1:end].lstrip("0") or "0", f"{flag}{indicator}")
        yield from _dated(flag, rest[end:], name, this_year)
    elif indicator in _DATE_FORMS:
        form = _DATE_FORMS[indicator]
        end = 1 + len(form)
        yield Part("expiry", rest[1:end], read_date(rest[1:end], form, this_year), f"{flag}{indicator}")
        yield from _named(flag, rest[end:], name)
    elif indicator == "7":
        yield from _named(f"{flag}7", rest[1:], name)
    elif indicator in {"0", "1"}:
        yield Part("expiry", rest[:4], read_date(rest[:4], "MMYY", this_year), flag)
        yield from _named(flag, rest[4:], name)
    else:
        yield from _named(flag, rest, name)


def _named(qualifier: str, value: str, name: PartName) -> Iterator[Part]:
    if value:
        yield Part(name, value, value, qualifier)
