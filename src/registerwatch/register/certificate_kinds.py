"""Kinds of certificates: names for the register's codes, and what a notified body examined for them."""

import re
from functools import lru_cache

from registerwatch.register.codes import segment

LAWS = ("AIMDD", "IVDD", "IVDR", "MDD", "MDR")
_LAW = re.compile(rf"(?:^|[^a-z])({'|'.join(LAWS).lower()})(?:[^a-z]|$)")
_ANNEX = re.compile(r"(?P<annex>[ivx]+)(?:-(?P<without>ex-)?(?P<section>[0-9]+))?")

QUALITY = "The manufacturer’s quality system for a group of devices, not this device alone"
DOCUMENTATION = "The technical documentation of this device or of its group"
TYPE = "A sample of this type of device"
EXAMINED = {
    "quality-management-system": QUALITY,
    "quality-assurance": QUALITY,
    "technical-documentation": DOCUMENTATION,
    "type-examination": TYPE,
    "product-verification": "Each device or batch was examined",
    "mdd-ii-ex-4": "The manufacturer’s quality system, without the design of this device",
    "mdd-ii-4": "The design of this device",
    "mdd-iii": TYPE,
    "mdd-iv": "Each device or batch was examined",
    "mdd-v": "The quality system of production",
    "mdd-vi": "The quality system of the final inspection",
}
"""What a notified body examined for a certificate, by the end of the register's code of its kind."""


@lru_cache(maxsize=512)
def kind_of_certificate(code: str) -> str:
    """`refdata.legacy.mdd-certificate-type.ii-ex-4` or `MDD_II_EX_4` as `MDD Annex II without section 4`.

    An unknown form becomes its last segment made readable.
    """
    spelled = code.lower().replace("_", "-")
    found = _LAW.search(spelled)
    law = found.group(1) if found else ""
    kind = segment(spelled).removeprefix(f"{law}-")
    return f"{law.upper()} {_annex(kind) or kind.replace('-', ' ')}".strip()


def what_was_examined(code: str) -> str:
    """What a notified body examined for a certificate of this kind; empty for an unknown kind."""
    spelled = code.lower().replace("_", "-").replace("certificate-type.", "")
    ends = (words for end, words in EXAMINED.items() if spelled == end or spelled.endswith((f".{end}", f"-{end}")))
    return next(ends, "")


def _annex(kind: str) -> str | None:
    found = _ANNEX.fullmatch(kind)
    if found is None:
        return None
    section = found["section"]
    rest = f" {'without ' if found['without'] else ''}section {section}" if section else ""
    return f"Annex {found['annex'].upper()}{rest}"
