"""Identifiers that EUDAMED itself gives: SRNs of actors, and EUDAMED DI and ID of legacy devices without a UDI-DI.

Sources: MDCG 2021-13 (SRN); European Commission, Format of the EUDAMED DI identification number, and the pages on
identification details of legacy devices in EUDAMED's help.
"""

import re

from registerwatch.register.identifiers.check_digits import character_pair, has_gs1_check_digit, is_number
from registerwatch.register.identifiers.parsed_code import Candidate, CheckDigits

SRN = re.compile(r"[A-Z]{2}-[A-Z]{2}-[0-9]{1,12}")
ACTOR_ROLES = ("MF", "PR", "AR", "IM")
"""Manufacturer, producer of systems and procedure packs, authorised representative, importer."""

OF_EUDAMED = re.compile(r"[BD]-(?=[^0-9]*[0-9])[0-9A-Z.+/$%-]{4,40}")
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹘﹣－"), "-")
_SPACED_SRN = re.compile(r"([A-Z]{2})( ?-? ?)([A-Z]{2})( ?-? ?)([0-9][0-9 ]{0,22})")
_SRN_DIGITS = 9


def is_actor_of_devices(srn: str) -> bool:
    """Whether device rows of the register name this actor: manufacturers and procedure pack producers."""
    return srn[3:5] in {"MF", "PR"}


def with_plain_dashes(text: str) -> str:
    """A text whose dashes are all `-`: word processors put others into SRNs and numbers."""
    return text if text.isascii() else text.translate(_DASHES)


def srn(text: str) -> Candidate | None:
    """The SRN in a text, however it is spaced; None where there is none.

    Without its dashes it must have the role of an actor and nine digits.
    """
    match = _SPACED_SRN.fullmatch(" ".join(text.split()).upper())
    if match is None:
        return None
    country, first, role, second, number = match.groups()
    digits = number.replace(" ", "")
    has_dashes = "-" in first and "-" in second
    if len(digits) > 12 or not (has_dashes or (role in ACTOR_ROLES and len(digits) == _SRN_DIGITS)):
        return None
    return Candidate("srn", f"{country}-{role}-{digits}", "Single registration number (SRN)", "eudamed")


def of_legacy_device(text: str) -> tuple[Candidate, ...]:
    """The meanings of a EUDAMED DI (`B-…`) or EUDAMED ID (`D-…`): itself, and the UDI-DI that it stands for."""
    capital = text.upper()
    if not OF_EUDAMED.fullmatch(capital):
        return ()
    body = text[2:]
    gtin = len(body) == 14 and is_number(body)
    if gtin:
        check = CheckDigits("right" if has_gs1_check_digit(body) else "wrong", "")
    else:
        expected = character_pair(body[:-2])
        check = CheckDigits("right" if body[-2:] == expected else "unknown", expected or "", "two characters")
    also = (capital,) if capital != text else ()
    if capital.startswith("D-"):
        return (Candidate("udi-di", text, "EUDAMED ID", "eudamed", check, also=also),)
    basic = Candidate("basic-udi-di", text, "EUDAMED DI", "eudamed", check, also=also)
    if gtin and check.verdict == "right":
        note = "EUDAMED makes the EUDAMED DI of a legacy device by putting B- before its UDI-DI."
        return (basic, Candidate("udi-di", body, "UDI-DI of the EUDAMED DI", "gs1", check, note, is_derived=True))
    if not gtin and check.verdict == "right":
        note = "The EUDAMED ID of the same device differs by its first letter alone."
        return (basic, Candidate("udi-di", f"D-{body}", "EUDAMED ID", "eudamed", check, note, is_derived=True))
    return (basic,)
