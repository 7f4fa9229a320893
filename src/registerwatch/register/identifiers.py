"""UDI-DIs and SRNs: which of the two a text is, and how it is written.

UDI-DIs are issued by GS1 (14 digits, the last one a check digit), HIBCC (a labeller code of a letter and three
characters, a product, a digit for the unit; the bar code's check character is mostly left out in the register) and
ICCBBA (ISBT 128). Sources: GS1 General Specifications 7.9; ANSI/HIBC 2.6; MDCG 2019-1.
"""

import re
from typing import Literal

from registerwatch.errors import InvalidInput

MAX_LENGTH = 120
"""Longest identifier that is looked at; the longest that issuing agencies allow has 35 characters."""

Kind = Literal["udi", "srn"]

_MEANINGFUL = re.compile("[0-9A-Za-z]")
_SRN = re.compile(r"[A-Z]{2}-[A-Z]{2}-[0-9]{1,12}")
_HIBCC = re.compile(r"[A-Z](?=[A-Z]{0,2}[0-9])[A-Z0-9]{3}[A-Z0-9]{1,18}[0-9][A-Z0-9\-. $/+%]?")
_ICCBBA = re.compile(r"A[0-9]{4}[A-Z0-9]{5,15}")
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


def has_gs1_check_digit(digits: str) -> bool:
    """Whether the last digit is the GS1 check digit (modulus 10, weights 3 and 1 from the right) of the others."""
    total = sum(int(digit) * (3 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(digits[:-1])))
    return (10 - total % 10) % 10 == int(digits[-1])
