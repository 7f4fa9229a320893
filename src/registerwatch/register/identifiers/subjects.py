"""Subjects in texts: whether one is a UDI-DI or an SRN, and how it is written.

Other modules of this package read codes, each those of one issuing agency.
"""

import re
from typing import Literal

from registerwatch.errors import InvalidInput
from registerwatch.register.identifiers import eudamed, hibc, iccbba
from registerwatch.register.identifiers.check_digits import is_number
from registerwatch.register.identifiers.gs1_numbers import GTIN_LENGTHS
from registerwatch.register.identifiers.parse import ANY_YEAR, parse
from registerwatch.register.identifiers.parsed_code import ParsedCode

MAX_LENGTH = 120
"""Longest identifier that is read; the longest that issuing agencies allow has 35 characters."""

Kind = Literal["udi", "srn"]

_MEANINGFUL = re.compile("[0-9A-Za-z]")
_DIGIT = re.compile("[0-9]")
_SHORTENED = re.compile(r"[0-9]+([.,][0-9]+)?E\+?[0-9]+", re.IGNORECASE)


def subject(text: str) -> str:
    """The identifier in a text that names one device or actor: no white space, an SRN in its usual form however
    it is spaced.

    Raises `InvalidInput` when it is too long or has neither letter nor digit.
    """
    if len(text) > MAX_LENGTH:
        raise InvalidInput(f"The identifier has {len(text)} characters; the longest that is possible has {MAX_LENGTH}.")
    bare = "".join(text.split())
    if not _MEANINGFUL.search(bare):
        raise InvalidInput(
            "The identifier is empty. Send a UDI-DI such as 04012345678901 or an SRN such as DE-MF-000006413."
        )
    actor = eudamed.srn(eudamed.with_plain_dashes(text))
    return actor.value if actor else bare


def kind(identifier: str) -> Kind:
    """`srn` for the form CC-XX-digits, `udi` for anything else."""
    return "srn" if eudamed.SRN.fullmatch(identifier) else "udi"


def can_be_stored(identifier: str) -> bool:
    """Whether a record can be stored under this identifier: it has no invisible character (no database holds NUL, nor
    half of a surrogate pair), and a possible length. The copy is to be queried for no other.
    """
    return 0 < len(identifier) <= MAX_LENGTH and identifier.isprintable()


def udis_like_srn(text: str) -> tuple[str, ...]:
    """The UDI-DIs that a text without dashes can be, if it can also be an SRN; none for any other text.

    The four letters may be a labeler code of HIBCC, as in `BEPR000000011`: only the copy shows which.
    """
    bare = "".join(text.split())
    if kind(eudamed.with_plain_dashes(bare).upper()) == "srn" or eudamed.srn(eudamed.with_plain_dashes(text)) is None:
        return ()
    return tuple(dict.fromkeys((bare, bare.upper())))


def read_code(text: str) -> ParsedCode:
    """Read what a text identifies; its dates are not to be used."""
    return parse(text, ANY_YEAR)


def udi_spellings(text: str, read: ParsedCode | None = None) -> tuple[str, ...]:
    """The UDI-DIs and Basic UDI-DIs that a typed or scanned text can mean, most likely first.

    The text as typed comes first, unless brackets say how it is to be read. `read` is the result of `read_code`, where
    that is known already.
    """
    read = read or read_code(text)
    devices = [each for kind in ("udi-di", "basic-udi-di") for each in read.candidates if each.kind == kind]
    meant = [spelling for each in devices for spelling in each.spellings]
    bare = "".join(text.split())
    digits = bare.replace("-", "")
    typed = [bare, bare.upper(), bare.upper().lstrip("+")]
    if 8 <= len(digits) < 14 and is_number(digits):
        typed.append(digits.zfill(14))
    spellings = meant if meant and bare.startswith("(") else [*typed, *meant]
    return tuple(dict.fromkeys(spelling for spelling in spellings if spelling))


def looks_like_udi(text: str, read: ParsedCode | None = None) -> bool:
    """Whether a text has the form of one UDI-DI, so that the register can be asked for it."""
    bare = text.strip().lstrip("+").upper()
    if is_number(bare) and len(bare) == 14:
        return True
    if any(form.fullmatch(bare) for form in (hibc.UNMARKED, iccbba.UNMARKED)):
        return True
    read = read or read_code(text)
    return any(each.is_marked or each.check.verdict == "right" for each in read.devices)


def as_registered(identifier: str) -> str:
    """An identifier as the register writes it, where it certainly means one UDI-DI or SRN: the digits of a GS1 element
    string, a shorter GTIN with its leading zeros, other codes without the signs around them. Else unchanged.
    """
    return read_code(identifier).subject or identifier


def is_word(identifier: str) -> bool:
    """Whether an identifier has no digit: every code of an issuing agency and every SRN has one."""
    return not _DIGIT.search(identifier)


def why_none(identifier: str, read: ParsedCode | None = None) -> str | None:
    """Why an identifier, as the register writes it, cannot belong to a device or an actor; None where it can. `read` is
    the result of `read_code`, where that is known already.
    """
    read = read or read_code(identifier)
    if read.subject is not None or kind(identifier) == "srn":
        return None
    if any(each.kind == "basic-udi-di" and each.check.verdict == "right" for each in read.candidates):
        return "this is a Basic UDI-DI, which many devices share; list their UDI-DIs."
    if len({each.value for each in read.devices if each.check.verdict != "wrong"}) > 1:
        return f"this can be {' or '.join(each.value for each in read.devices)}; write the one that you mean."
    return _what_is_wrong(identifier, read)


def _what_is_wrong(identifier: str, read: ParsedCode) -> str | None:
    if is_number(identifier):
        return _what_is_wrong_with_number(identifier)
    if _SHORTENED.fullmatch(identifier):
        return "a spreadsheet has shortened this number; format its column as text and export the list again."
    if read.is_marked and read.warnings:
        return f"this names no device. {read.warnings[0]}"
    if identifier.startswith(("=", '"')):
        return "this is a spreadsheet's formula; write the identifier alone."
    if is_word(identifier):
        return "this has no digit, so it is no identifier."
    if eudamed.OF_EUDAMED.fullmatch(identifier.upper()):
        return None
    wrong = next((each.check.problem for each in read.devices if each.check.problem), None)
    return wrong or "this has the form of no UDI-DI (GS1, HIBCC, ICCBBA, IFA) and of no SRN."


def _what_is_wrong_with_number(digits: str) -> str:
    if len(digits) not in GTIN_LENGTHS:
        return f"this has {len(digits)} digits; a UDI-DI of GS1 has 14."
    return "its check digit is wrong, so a digit is mistyped or this is another number."
