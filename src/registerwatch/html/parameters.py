"""The query parameters of the pages: forgiving about what is missing or unknown, clear about what makes no sense."""

from dataclasses import dataclass
from typing import TypeVar

from starlette.datastructures import QueryParams

from registerwatch.errors import InvalidInput
from registerwatch.register.codes import RiskFilter, StatusFilter
from registerwatch.register.index.searching import Filters

Choice = TypeVar("Choice", StatusFilter, RiskFilter)


@dataclass(frozen=True, slots=True)
class Asked:
    """What an address asks for. `query` is trimmed; `page` counts from 1."""

    query: str
    filters: Filters
    page: int

    @property
    def is_nothing(self) -> bool:
        """Whether neither words nor filters were given."""
        return not self.query and self.filters == Filters()


def asked(parameters: QueryParams) -> Asked:
    """Read `q`, `status`, `risk` and `page`; a form sends them empty where nothing was chosen.

    Raises `InvalidInput` with what would be right.
    """
    filters = Filters(
        _one_of(StatusFilter, "status", parameters.get("status", "")),
        _one_of(RiskFilter, "risk", parameters.get("risk", "")),
    )
    return Asked(parameters.get("q", "").strip(), filters, _page(parameters.get("page", "")))


def _one_of(choices: type[Choice], name: str, value: str) -> Choice | None:
    if not value:
        return None
    try:
        return choices(value)
    except ValueError:
        known = ", ".join(choice.value for choice in choices)
        raise InvalidInput(f"There is no {name} “{value[:40]}”; known are {known}.") from None


def _page(value: str) -> int:
    if not value:
        return 1
    if not (value.isascii() and value.isdigit() and len(value) < 12 and int(value) > 0):
        raise InvalidInput("The page is a whole number from 1.")
    return int(value)
