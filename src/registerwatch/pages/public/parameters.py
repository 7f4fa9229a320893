"""The query parameters of the pages. Missing and unknown ones are ignored, invalid values refused."""

from dataclasses import dataclass

from starlette.datastructures import QueryParams

from registerwatch.register.search.filters import Filters
from registerwatch.web.filters import filters_of, page_of


@dataclass(frozen=True, slots=True)
class PageQuery:
    """The query parameters of a page. `query` is trimmed; `page` counts from 1."""

    query: str
    filters: Filters
    page: int

    @property
    def is_nothing(self) -> bool:
        """Whether neither words nor filters were given."""
        return not self.query and self.filters == Filters()


def query_of(parameters: QueryParams) -> PageQuery:
    """Read `q`, `status`, `risk` and `page`; a form sends them empty where nothing was chosen.

    Raises `InvalidInput` with what would be right.
    """
    filters = filters_of(parameters.get("status", ""), parameters.get("risk", ""))
    return PageQuery(parameters.get("q", "").strip(), filters, page_of(parameters.get("page", "")))
