"""The filters of a search, and a device's values for each of them. Pure.

`filter_values` gives the values that are indexed, counted in an index and counted in stored documents. A device with an
unknown value has `UNKNOWN`, so that the values of every filter add up to all devices.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache

import msgspec

from registerwatch.register.codes import (
    DIRECTIVES,
    REGULATIONS,
    RISK_BY_CODE,
    STATUS_BY_CODE,
    LegislationFilter,
    RiskFilter,
    StatusFilter,
    YesNo,
    segment,
)
from registerwatch.register.nomenclature import emdn_levels

UNKNOWN = "unknown"
OTHER = "other"
"""A value without a filter of its own, such as a legacy risk class."""

EMDN_LEVELS = 7
REMEMBERED = 20_000
"""Codes and SRNs whose values are kept: indexing millions of devices needs the same ones again and again."""
MAX_MANUFACTURERS = 10
MAX_VALUES = 300
"""Values of a facet that are returned: more than there are countries or notified bodies."""


class Facet(StrEnum):
    """A dimension to filter and count results by. The values are names of parameters and of fields of `Filters`."""

    STATUS = "status"
    RISK = "risk"
    MANUFACTURER = "manufacturer"
    COUNTRY = "country"
    EMDN = "emdn"
    LEGISLATION = "legislation"
    LEGACY = "legacy"
    IMPLANTABLE = "implantable"
    STERILE = "sterile"
    LATEX = "latex"
    REUSABLE = "reusable"
    NOTIFIED_BODY = "notified_body"

    __hash__ = str.__hash__
    """The text's hash: that of an enumeration is computed in Python, for every key that a device is indexed under."""

    @property
    def max_values(self) -> int:
        """How many values are returned, the most frequent ones."""
        return MAX_MANUFACTURERS if self is Facet.MANUFACTURER else MAX_VALUES


FLAG_FACETS = (Facet.IMPLANTABLE, Facet.STERILE, Facet.LATEX, Facet.REUSABLE)

COUNTRY = re.compile(r"[A-Z]{2}")
NOTIFIED_BODY = re.compile(r"[0-9]{4}")
_SRN_COUNTRY = re.compile(r"([A-Z]{2})-")
_OTHER_CODES = {"EL": "GR", "UK": "GB"}
"""Country codes in SRNs that differ from ISO 3166."""


class Filters(msgspec.Struct, frozen=True):
    """Values that results must have; None for any. Texts are as `filter_values` gives them."""

    status: StatusFilter | None = None
    risk: RiskFilter | None = None
    manufacturer: str | None = None
    """SRN."""
    country: str | None = None
    """Country of the manufacturer, ISO 3166 code of two letters."""
    emdn: str | None = None
    """EMDN code; devices with a code below it have it too."""
    legislation: LegislationFilter | None = None
    legacy: YesNo | None = None
    implantable: YesNo | None = None
    sterile: YesNo | None = None
    latex: YesNo | None = None
    reusable: YesNo | None = None
    notified_body: str | None = None
    """Number of the notified body of a known certificate."""

    @property
    def chosen(self) -> Sequence[tuple[Facet, str]]:
        """The filters that are set, with their values."""
        if self == _NONE:
            return ()
        return [(facet, str(value)) for facet in Facet if (value := getattr(self, facet.value))]

    @property
    def is_any(self) -> bool:
        """Whether no filter is set."""
        return self == _NONE


_NONE = Filters()

Values = Mapping[Facet, Collection[str]]
"""A device's values for each facet, at least one."""


class FilteredDevice(msgspec.Struct, frozen=True, gc=False):
    """The fields of a stored document that filters use."""

    manufacturer_srn: str = ""
    status_code: str = ""
    risk_class_code: str = ""
    legislation_code: str = ""
    emdn: tuple[str, ...] = ()
    sterile: bool | None = None
    latex: bool | None = None
    implantable: bool | None = None
    reusable: bool | None = None
    certs: tuple["_Certificate", ...] = ()


class _Certificate(msgspec.Struct, frozen=True, gc=False):
    notified_body: str = ""


_filtered = msgspec.json.Decoder(FilteredDevice)


def filter_values(device: FilteredDevice) -> dict[Facet, Collection[str]]:
    """A device's values for every filter. For an EMDN code, every level is a value."""
    bodies = {each.notified_body for each in device.certs if NOTIFIED_BODY.fullmatch(each.notified_body)}
    legislation, legacy = _legislation(device.legislation_code)
    return {
        Facet.STATUS: _STATUS_VALUES.get(device.status_code) or _unnamed(device.status_code),
        Facet.RISK: _RISK_VALUES.get(device.risk_class_code) or _unnamed(device.risk_class_code),
        Facet.MANUFACTURER: (device.manufacturer_srn or UNKNOWN,),
        Facet.COUNTRY: (country_of(device.manufacturer_srn),),
        Facet.EMDN: _every_level(device.emdn),
        Facet.LEGISLATION: legislation,
        Facet.LEGACY: legacy,
        Facet.IMPLANTABLE: _FLAG_VALUES[device.implantable],
        Facet.STERILE: _FLAG_VALUES[device.sterile],
        Facet.LATEX: _FLAG_VALUES[device.latex],
        Facet.REUSABLE: _FLAG_VALUES[device.reusable],
        Facet.NOTIFIED_BODY: bodies or (UNKNOWN,),
    }


def values_of_document(stored: bytes) -> dict[Facet, Collection[str]]:
    """A document's values for every filter."""
    return filter_values(_filtered.decode(stored))


def passes(stored: bytes, filters: Filters) -> bool:
    """Whether a stored document passes the filters."""
    if filters.is_any:
        return True
    values = values_of_document(stored)
    return all(value in values[facet] for facet, value in filters.chosen)


@lru_cache(REMEMBERED)
def country_of(srn: str) -> str:
    """The country in an SRN, by its code of ISO 3166."""
    match = _SRN_COUNTRY.match(srn)
    return same_country(match[1]) if match else UNKNOWN


def same_country(code: str) -> str:
    """The ISO 3166 code for a country code in an SRN."""
    return _OTHER_CODES.get(code, code)


@lru_cache(REMEMBERED)
def _every_level(codes: tuple[str, ...]) -> Collection[str]:
    return {level for code in codes for level in emdn_levels(code)} or (UNKNOWN,)


def emdn_level(code: str) -> int:
    """The level of a code, from 1; `UNKNOWN` is on the first one."""
    return 1 if code == UNKNOWN else (len(code) + 1) // 2


class FacetCounts(msgspec.Struct, frozen=True):
    """How many of the found devices have each value, the most frequent first.

    `others` counts values that are not listed, once for every device that has one.
    """

    values: Sequence[tuple[str, int]] = ()
    others: int = 0

    @classmethod
    def of(cls, counts: Iterable[tuple[str, int]], facet: Facet, others: int = 0) -> "FacetCounts":
        """Sorted and cut to the facet's maximum."""
        ordered = sorted((each for each in counts if each[1]), key=lambda each: (-each[1], each[0]))
        most = facet.max_values
        return cls(tuple(ordered[:most]), others + sum(number for _, number in ordered[most:]))

    def with_more(self, more: "FacetCounts", facet: Facet) -> "FacetCounts":
        """These counts and those of other devices together. Exact where neither leaves values out."""
        counts = Counter(dict(self.values))
        counts.update(dict(more.values))
        return FacetCounts.of(counts.items(), facet, self.others + more.others)


Counts = Mapping[Facet, FacetCounts]


def counted(devices: Collection[Values], facets: Collection[Facet], filters: Filters) -> Counts:
    """Count the values of devices one by one. EMDN codes are counted on the level below the filter's."""
    counts = {}
    for facet in facets:
        of_facet = Counter(value for values in devices for value in values[facet] if is_shown(facet, value, filters))
        counts[facet] = FacetCounts.of(of_facet.items(), facet)
    return counts


def is_shown(facet: Facet, value: str, filters: Filters) -> bool:
    """Whether a value belongs to a facet: only EMDN has values that do not."""
    above = filters.emdn or ""
    return facet is not Facet.EMDN or (emdn_level(value) == shown_emdn_level(above) and value.startswith(above))


def shown_emdn_level(above: str) -> int:
    """The level whose codes are counted below a code, which is empty for none."""
    return emdn_level(above) + 1 if above and above != UNKNOWN else 1


_STATUS_VALUES = {code: (status.value,) for code, status in STATUS_BY_CODE.items()}
_RISK_VALUES = {code: (risk.value,) for code, risk in RISK_BY_CODE.items()}


def _unnamed(code: str) -> Collection[str]:
    return (OTHER if code else UNKNOWN,)


@lru_cache(REMEMBERED)
def _legislation(code: str) -> tuple[Collection[str], Collection[str]]:
    """The legislation, and whether it is a legacy one."""
    name = segment(code)
    if name in REGULATIONS:
        return (name,), ("no",)
    if name in DIRECTIVES:
        return (name,), ("yes",)
    return _unnamed(code), (UNKNOWN,)


_FLAG_VALUES: Mapping[bool | None, Collection[str]] = {True: ("yes",), False: ("no",), None: (UNKNOWN,)}
