"""Filters and page numbers in query parameters: empty means none, an invalid value is refused."""

from typing import TypeVar

from registerwatch.errors import InvalidInput
from registerwatch.register.codes import RiskFilter, StatusFilter
from registerwatch.register.search.filters import Filters

Choice = TypeVar("Choice", StatusFilter, RiskFilter)


def filters_of(status: str, risk: str) -> Filters:
    """The filters in two values. Raises `InvalidInput` that names the values there are."""
    return Filters(_one_of(StatusFilter, "status", status), _one_of(RiskFilter, "risk", risk))


def page_of(value: str) -> int:
    """A page number, 1 for an empty value. Raises `InvalidInput`."""
    if not value:
        return 1
    if not (value.isascii() and value.isdigit() and len(value) < 12 and int(value) > 0):
        raise InvalidInput("The page is a whole number from 1.")
    return int(value)


def _one_of(choices: type[Choice], name: str, value: str) -> Choice | None:
    if not value:
        return None
    try:
        return choices(value)
    except ValueError:
        known = ", ".join(choice.value for choice in choices)
        raise InvalidInput(f"There is no {name} “{value[:40]}”; known are {known}.") from None
