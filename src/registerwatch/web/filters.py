"""Filters, facets and page numbers in query parameters: empty means none, an invalid value is refused."""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from registerwatch.copy.search.filters import UNKNOWN, Facet, Filters, same_country
from registerwatch.errors import InvalidInput
from registerwatch.register.codes import LegislationFilter, RiskFilter, StatusFilter, YesNo

Choice = TypeVar("Choice", bound=StrEnum)

CHOICES: Mapping[Facet, type[StrEnum]] = {
    Facet.STATUS: StatusFilter,
    Facet.RISK: RiskFilter,
    Facet.LEGISLATION: LegislationFilter,
    **dict.fromkeys((Facet.LEGACY, Facet.IMPLANTABLE, Facet.STERILE, Facet.LATEX, Facet.REUSABLE), YesNo),
}
"""Filters whose values are listed."""
PATTERNS = {
    Facet.MANUFACTURER: "^(?:[A-Za-z]{2}-[A-Za-z]{2}-[0-9]{1,12}|unknown)$",
    Facet.COUNTRY: "^(?:[A-Za-z]{2}|unknown)$",
    Facet.EMDN: "^(?:[A-Za-z](?:[0-9]{2}){0,6}|unknown)$",
    Facet.NOTIFIED_BODY: "^(?:[0-9]{4}|unknown)$",
}
"""The form of the others."""
_REFUSALS = {
    Facet.MANUFACTURER: "The manufacturer is an SRN such as DE-MF-000006413, or `unknown`.",
    Facet.COUNTRY: "The country is a code of two letters such as DE, or `unknown`.",
    Facet.EMDN: "The EMDN code is a letter and at most six pairs of digits, such as Q0106, or `unknown`.",
    Facet.NOTIFIED_BODY: "The notified body has a number of four digits, such as 0633, or is `unknown`.",
}
_FACET = "|".join(Facet)
FACETS_PATTERN = f"^(?:all|(?:{_FACET})(?:,(?:{_FACET})){{0,{len(Facet) - 1}}})$"


def filters_of(status: str, risk: str) -> Filters:
    """The filters in two values. Raises `InvalidInput`, which lists the allowed values."""
    return search_filters({Facet.STATUS: status, Facet.RISK: risk})


def search_filters(values: Mapping[str, str]) -> Filters:
    """The filters among parameters, by the names of `Facet`. Raises `InvalidInput`, which says what is allowed."""
    given: dict[str, Any] = {}
    for name, value in values.items():
        if value:
            facet = Facet(name)
            choices = CHOICES.get(facet)
            given[facet.value] = _text(facet, value) if choices is None else _one_of(choices, facet.value, value)
    return Filters(**given)


def facets_of(text: str | None) -> Sequence[Facet]:
    """The requested facets, separated by commas, or `all`; None for none. Raises `InvalidInput`."""
    if text is None:
        return ()
    if not re.fullmatch(FACETS_PATTERN, text):
        raise InvalidInput(f"`facets` is `all`, or some of {', '.join(Facet)} with commas between them.")
    return tuple(Facet) if text == "all" else [facet for facet in Facet if facet in text.split(",")]


def page_of(value: str) -> int:
    """A page number, 1 for an empty value. Raises `InvalidInput`."""
    if not value:
        return 1
    if not (value.isascii() and value.isdigit() and len(value) < 12 and int(value) > 0):
        raise InvalidInput("The page is a whole number from 1.")
    return int(value)


def _one_of(choices: type[Choice], name: str, value: str) -> Choice:
    try:
        return choices(value)
    except ValueError:
        known = ", ".join(choice.value for choice in choices)
        raise InvalidInput(f"There is no {name} “{value[:40]}”; known are {known}.") from None


def _text(facet: Facet, value: str) -> str:
    """A value as the index stores it."""
    if not re.fullmatch(PATTERNS[facet], value):
        raise InvalidInput(_REFUSALS[facet])
    if value == UNKNOWN:
        return value
    return same_country(value.upper()) if facet is Facet.COUNTRY else value.upper()
