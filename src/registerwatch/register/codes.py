"""EUDAMED's codes and their English labels.

A code is a path such as `refdata.risk-class.class-iia`; its last segment carries the meaning. A code that is not
listed here is shown as its last segment made readable, never dropped and never an error.
Source: EUDAMED's public pages.
"""

import re
from enum import StrEnum

STATUS_PREFIX = "refdata.device-model-status."
RISK_PREFIX = "refdata.risk-class."
LEGISLATION_PREFIX = "refdata.applicable-legislation."
CERTIFICATE_STATUS_PREFIX = "refdata.certificate-status."
ACTOR_STATUS_PREFIX = "refdata.actor-status."
SPECIAL_TYPE_PREFIX = "refdata.special-device-type."

_LABELS = {
    STATUS_PREFIX + "on-the-market": "On the EU market",
    STATUS_PREFIX + "no-longer-on-the-market": "No longer placed on the EU market",
    STATUS_PREFIX + "not-intended-for-eu-market": "Not intended for the EU market",
    RISK_PREFIX + "class-i": "Class I",
    RISK_PREFIX + "class-iia": "Class IIa",
    RISK_PREFIX + "class-iib": "Class IIb",
    RISK_PREFIX + "class-iii": "Class III",
    RISK_PREFIX + "class-a": "Class A",
    RISK_PREFIX + "class-b": "Class B",
    RISK_PREFIX + "class-c": "Class C",
    RISK_PREFIX + "class-d": "Class D",
    RISK_PREFIX + "aimdd": "Active implantable (AIMDD)",
    RISK_PREFIX + "ivd-general": "IVD general",
    RISK_PREFIX + "ivd-annex-ii-list-a": "IVD Annex II List A",
    RISK_PREFIX + "ivd-annex-ii-list-b": "IVD Annex II List B",
    RISK_PREFIX + "ivd-devices-self-testing": "IVD self-testing",
    LEGISLATION_PREFIX + "mdr": "MDR",
    LEGISLATION_PREFIX + "ivdr": "IVDR",
    LEGISLATION_PREFIX + "mdd": "MDD",
    LEGISLATION_PREFIX + "aimdd": "AIMDD",
    LEGISLATION_PREFIX + "ivdd": "IVDD",
    SPECIAL_TYPE_PREFIX + "mdr-software": "MDR software",
    SPECIAL_TYPE_PREFIX + "ivdr-software": "IVDR software",
}

REGULATIONS = frozenset({"mdr", "ivdr"})
"""Legislations in force, as last segments."""
DIRECTIVES = frozenset({"mdd", "aimdd", "ivdd"})
"""The directives before them, whose registrations are legacy."""


CERTIFICATE_STATUSES = (
    "issued",
    "supplemented",
    "amended",
    "reissued",
    "reinstated",
    "restricted",
    "suspended",
    "withdrawn",
    "cancelled",
    "expired",
)
"""Known statuses of certificates, as last segments. `expired` and `reinstated` are in the register's reference data; no
measured list had them.
"""


class StatusFilter(StrEnum):
    """Values of the search filter `status`."""

    ON = "on"
    OFF = "off"
    NOT_EU = "not-eu"

    @property
    def code(self) -> str:
        """The register's code of this market status."""
        return STATUS_PREFIX + _STATUS_SEGMENTS[self]


_STATUS_SEGMENTS = {
    StatusFilter.ON: "on-the-market",
    StatusFilter.OFF: "no-longer-on-the-market",
    StatusFilter.NOT_EU: "not-intended-for-eu-market",
}


class RiskFilter(StrEnum):
    """Values of the search filter `risk`. Legacy risk classes have none."""

    I = "i"  # noqa: E741  # the class's name
    IIA = "iia"
    IIB = "iib"
    III = "iii"
    A = "a"
    B = "b"
    C = "c"
    D = "d"

    @property
    def code(self) -> str:
        """The register's code of this risk class."""
        return f"{RISK_PREFIX}class-{self.value}"


class LegislationFilter(StrEnum):
    """Values of the search filter `legislation`."""

    MDR = "mdr"
    IVDR = "ivdr"
    MDD = "mdd"
    AIMDD = "aimdd"
    IVDD = "ivdd"
    UNKNOWN = "unknown"


class YesNo(StrEnum):
    """Values of search filters for what a device is or is not. What nobody has told is neither."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


_SHORT = re.compile("[A-Z]{2,4}[0-9]{1,5}")
"""Segments that are short codes of their own, such as `SHC005`."""
STATUS_BY_CODE = {status.code: status for status in StatusFilter}
RISK_BY_CODE = {risk.code: risk for risk in RiskFilter}


def label(code: str) -> str:
    """The English label of a code; of an unknown one, its last segment made readable; of an empty one, empty."""
    known = _LABELS.get(code)
    if known is not None:
        return known
    words = segment(code).replace("-", " ").replace("_", " ")
    return words if _SHORT.fullmatch(words) else words.capitalize()


def segment(code: str) -> str:
    """The last segment of a code: `mdr` of `refdata.applicable-legislation.mdr`."""
    return code.rpartition(".")[2]
