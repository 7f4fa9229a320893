"""Identifiers of devices, actors and certificates: how they are written, typed and scanned. Pure.

`parse` reads any text; the other functions read one as a subject.
"""

from registerwatch.register.identifiers.check_digits import has_gs1_check_digit, is_number
from registerwatch.register.identifiers.eudamed import is_actor_of_devices
from registerwatch.register.identifiers.gs1_numbers import GTIN_LENGTHS
from registerwatch.register.identifiers.parse import MAX_CODE_LENGTH, may_be_certificate_number, parse
from registerwatch.register.identifiers.parsed_code import (
    Agency,
    Candidate,
    CandidateKind,
    ParsedCode,
    Part,
    PartName,
    Verdict,
)
from registerwatch.register.identifiers.subjects import (
    MAX_LENGTH,
    Kind,
    as_registered,
    can_be_stored,
    is_word,
    kind,
    looks_like_udi,
    read_code,
    subject,
    udi_spellings,
    udis_like_srn,
    why_none,
)

__all__ = [
    "GTIN_LENGTHS",
    "MAX_CODE_LENGTH",
    "MAX_LENGTH",
    "Agency",
    "Candidate",
    "CandidateKind",
    "Kind",
    "ParsedCode",
    "Part",
    "PartName",
    "Verdict",
    "as_registered",
    "can_be_stored",
    "has_gs1_check_digit",
    "is_actor_of_devices",
    "is_number",
    "is_word",
    "kind",
    "looks_like_udi",
    "may_be_certificate_number",
    "parse",
    "read_code",
    "subject",
    "udi_spellings",
    "udis_like_srn",
    "why_none",
]
