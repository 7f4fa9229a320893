"""The query parameters of the pages: forgiving about what is missing or unknown, clear about what makes no sense."""

from dataclasses import dataclass

from starlette.datastructures import QueryParams

from registerwatch.register.search.index import Filters
from registerwatch.web.filters import filters_of, page_of


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
    filters = filters_of(parameters.get("status", ""), parameters.get("risk", ""))
    return Asked(parameters.get("q", "").strip(), filters, page_of(parameters.get("page", "")))
