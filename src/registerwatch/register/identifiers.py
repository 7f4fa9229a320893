"""UDI-DIs and SRNs: which of the two a text is, and how it is written.

UDI-DIs are issued by GS1 (14 digits, the last one a check digit), HIBCC (a labeller code of a letter and three
characters, a product, a digit for the unit; the bar code's check character is mostly left out in the register), ICCBBA
(ISBT 128) and IFA (a PPN, whose last two digits are check digits); legacy devices without one get theirs from EUDAMED.
Sources: GS1 General Specifications 7.9; ANSI/HIBC 2.6; IFA's specification of the PPN; MDCG 2019-1.
"""

import re
from typing import Literal

from registerwatch.errors import InvalidInput

MAX_LENGTH = 120
"""Longest identifier that is looked at; the longest that issuing agencies allow has 35 characters."""

GTIN_LENGTHS = (8, 12, 13, 14)

Kind = Literal["udi", "srn"]

_MEANINGFUL = re.compile("[0-9A-Za-z]")
_SRN = re.compile(r"[A-Z]{2}-[A-Z]{2}-[0-9]{1,12}")
_HIBCC = re.compile(r"[A-Z](?=[A-Z]{0,2}[0-9])[A-Z0-9]{3}[A-Z0-9]{1,18}[0-9][A-Z0-9\-. $/+%]?")
_ICCBBA = re.compile(r"A[0-9]{4}[A-Z0-9]{5,15}")
_IFA = re.compile(r"[1-9][0-9][0-9A-Z]{2,18}[0-9]{2}")
_OF_EUDAMED = re.compile(r"[BD]-(?=[^0-9]*[0-9])[0-9A-Z.+/$%-]{4,40}")
_SHORTENED = re.compile(r"[0-9]+([.,][0-9]+)?E\+?[0-9]+", re.IGNORECASE)
_GS1_ELEMENT = re.compile(r"\(01\)([0-9]{14})")


def subject(text: str) -> str:
    """The identifier in a text that names one device or actor: no white space, an SRN in capitals.

    Raises `InvalidInput` when it is too long or has neither letter nor digit.
    """
    if len(text) > MAX_LENGTH:
        raise InvalidInput(f"The identifier has {len(text)} characters; the longest that is possible has {MAX_LENGTH}.")
    bare = "".join(text.split())
    if not _MEANINGFUL.search(bare):
        raise InvalidInput(
            "The identifier is empty. Send a UDI-DI such as 04012345678901 or an SRN such as DE-MF-000006413."
        )
    capital = bare.upper()
    return capital if _SRN.fullmatch(capital) else bare


def kind(identifier: str) -> Kind:
    """`srn` for the form CC-XX-digits, `udi` for anything else."""
    return "srn" if _SRN.fullmatch(identifier) else "udi"


def is_actor_of_devices(srn: str) -> bool:
    """Whether the register names this actor in the device rows: manufacturers and procedure pack producers."""
    return srn[3:5] in {"MF", "PR"}


def udi_spellings(text: str) -> tuple[str, ...]:
    """The UDI-DIs that a typed or scanned text can mean, most likely first.

    A GS1 element string `(01)…` means its 14 digits; a shorter GTIN gets its leading zeros; HIBCC bar codes begin
    with `+`, which is no part of the identifier; letters are capitals.
    """
    bare = "".join(text.split())
    element = _GS1_ELEMENT.match(bare)
    if element:
        return (element.group(1),)
    spellings = [bare, bare.upper(), bare.upper().lstrip("+")]
    if bare.isascii() and bare.isdigit() and 8 <= len(bare) < 14:
        spellings.append(bare.zfill(14))
    return tuple(dict.fromkeys(spelling for spelling in spellings if spelling))


def looks_like_udi(text: str) -> bool:
    """Whether a text is written like one UDI-DI, so that the register can be asked for it."""
    bare = text.strip().lstrip("+").upper()
    if bare.isascii() and bare.isdigit():
        return len(bare) == 14 or (8 <= len(bare) < 14 and has_gs1_check_digit(bare.zfill(14)))
    return any(form.fullmatch(bare) for form in (_HIBCC, _ICCBBA)) or bool(_GS1_ELEMENT.match(bare))


def may_be_certificate_number(text: str) -> bool:
    """Whether a text may be the number of a certificate, whose form every notified body decides for itself: it has a
    digit, and is neither too short nor too long for one.
    """
    return 3 <= len(text) <= MAX_LENGTH and any(sign.isdigit() for sign in text)


def has_gs1_check_digit(digits: str) -> bool:
    """Whether the last digit is the GS1 check digit (modulus 10, weights 3 and 1 from the right) of the others."""
    total = sum(int(digit) * (3 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(digits[:-1])))
    return (10 - total % 10) % 10 == int(digits[-1])


def as_registered(identifier: str) -> str:
    """An identifier as the register writes it: the digits of a GS1 element string, a shorter GTIN with its leading
    zeros, HIBCC and ICCBBA without the signs that begin their bar codes.
    """
    element = _GS1_ELEMENT.match(identifier)
    if element:
        return element.group(1)
    if _is_number(identifier):
        return identifier.zfill(14) if _is_gtin(identifier) else identifier
    bare = identifier.removeprefix("=/").lstrip("+")
    return bare if _has_letter_form(bare) else identifier


def why_none(identifier: str) -> str | None:
    """Why an identifier, as the register writes it, can be that of no device and no actor; None where it can be."""
    if kind(identifier) == "srn" or _is_ppn(identifier):
        return None
    if _is_number(identifier):
        return None if _is_gtin(identifier) else _what_is_wrong_with_number(identifier)
    if _SHORTENED.fullmatch(identifier):
        return "a spreadsheet has shortened this number; format its column as text and export the list again."
    if identifier.startswith(("=", '"')):
        return "this is a spreadsheet's formula; write the identifier alone."
    if not re.search("[0-9]", identifier):
        return "this has no digit, so it is no identifier."
    if _has_letter_form(identifier):
        return None
    return "this has the form of no UDI-DI (GS1, HIBCC, ICCBBA, IFA) and of no SRN."


def _what_is_wrong_with_number(digits: str) -> str:
    if len(digits) not in GTIN_LENGTHS:
        return f"this has {len(digits)} digits; a UDI-DI of GS1 has 14."
    return "its check digit is wrong, so a digit is mistyped or this is another number."


def _is_number(identifier: str) -> bool:
    return identifier.isascii() and identifier.isdigit()


def _is_gtin(digits: str) -> bool:
    return len(digits) in GTIN_LENGTHS and has_gs1_check_digit(digits.zfill(14))


def _has_letter_form(identifier: str) -> bool:
    return any(form.fullmatch(identifier.upper()) for form in (_HIBCC, _ICCBBA, _OF_EUDAMED))


def _is_ppn(identifier: str) -> bool:
    """Whether the last two digits are the check digits of a PPN: modulus 97, weights from 2 on from the left."""
    capital = identifier.upper()
    if not _IFA.fullmatch(capital):
        return False
    total = sum(ord(sign) * weight for weight, sign in enumerate(capital[:-2], start=2))
    return total % 97 == int(capital[-2:])
