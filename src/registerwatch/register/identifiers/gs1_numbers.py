"""GTINs and Global Model Numbers of GS1.

Sources: GS1 General Specifications 3.3.2 (GTIN), 7.9 (check digits), 5.2.2.4 (UPC-E), 3.9.13 (GMN).
"""

import re
from collections.abc import Iterator

from registerwatch.register.identifiers.check_digits import character_pair, gs1_digit
from registerwatch.register.identifiers.parsed_code import UNCHECKED, Candidate, CheckDigits

GTIN_LENGTHS = (8, 12, 13, 14)
PADDED = "The register writes it with leading zeros, in 14 digits."

_MODEL = re.compile(r"[0-9]{5}[!\"%&'()*+,\-./0-9:;<=>?A-Z_a-z]{1,18}[2-9A-HJ-NP-Z]{2}")
_PLAIN_MODEL = re.compile(r"[0-9]{6}[0-9A-Za-z]*[A-Za-z][0-9A-Za-z]*")
_UPC_E = re.compile(r"[01][0-9]{7}")


def gtin(digits: str, *, is_marked: bool = False, note: str = "") -> Candidate:
    """A GTIN of 8, 12, 13 or 14 digits as a candidate, whatever its check digit says."""
    expected = gs1_digit(digits[:-1])
    check = CheckDigits("right" if expected == digits[-1] else "wrong", expected)
    padded = digits.zfill(14)
    notes = " ".join(filter(None, (note, PADDED if len(digits) < 14 else "")))
    also = (digits,) if digits != padded else ()
    return Candidate("udi-di", padded, f"GTIN-{len(digits)}", "gs1", check, notes, also, is_marked)


def upc_e(digits: str) -> Candidate | None:
    """The GTIN-12 for eight digits of a shortened UPC-E, if their check digit is right."""
    if not _UPC_E.fullmatch(digits):
        return None
    expanded = _expanded(digits)
    if expanded is None or gs1_digit(expanded[:-1]) != expanded[-1]:
        return None
    note = f"Eight digits under a small bar code can be short for {expanded}. {PADDED}"
    return Candidate("udi-di", expanded.zfill(14), "UPC-E", "gs1", CheckDigits("right", digits[-1]), note)


def model_number(text: str, *, is_marked: bool = False) -> Candidate | None:
    """A Global Model Number, the Basic UDI-DI of GS1, or None where the text cannot be one.

    Without a mark it needs right check characters, or a form that leaves no doubt.
    """
    check = _pair(text)
    if not _MODEL.fullmatch(text) or check is UNCHECKED:
        return None
    if check.verdict == "wrong" and not is_marked and not _PLAIN_MODEL.fullmatch(text):
        return None
    return Candidate("basic-udi-di", text, "Global Model Number", "gs1", check, is_marked=is_marked)


def individualised_device(text: str) -> Candidate:
    """A highly individualised device registration identifier, which is the Master UDI-DI of GS1."""
    return Candidate("udi-di", text, "Master UDI-DI (HIDRI)", "gs1", _pair(text), is_marked=True)


def unmarked_digits(digits: str) -> Iterator[Candidate]:
    """The meanings at GS1 of digits without any mark."""
    if len(digits) in GTIN_LENGTHS:
        yield gtin(digits)
    if short := upc_e(digits):
        yield short


def _pair(text: str) -> CheckDigits:
    expected = character_pair(text[:-2])
    if expected is None or len(text) < 3:
        return UNCHECKED
    return CheckDigits("right" if text.endswith(expected) else "wrong", expected, "two characters")


def _expanded(digits: str) -> str | None:
    """The twelve digits of a UPC-E with eight."""
    system, body, check = digits[0], digits[1:7], digits[7]
    last = body[5]
    if last in "012":
        number = f"{body[:2]}{last}0000{body[2:5]}"
    elif last == "3":
        number = f"{body[:3]}00000{body[3:5]}"
    elif last == "4":
        number = f"{body[:4]}00000{body[4]}"
    else:
        number = f"{body[:5]}0000{last}"
    return f"{system}{number}{check}"
