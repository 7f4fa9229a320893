"""The query parameters of public pages. Missing and unknown ones are ignored, invalid values refused."""

from collections.abc import Sequence

import msgspec
from starlette.datastructures import QueryParams

from registerwatch.copy.search.filters import Facet, Filters
from registerwatch.web.filters import facets_of, page_of, search_filters


class PageQuery(msgspec.Struct, frozen=True):
    """The query parameters of a page. `query` is trimmed; `page` counts from 1."""

    query: str
    filters: Filters
    page: int
    facets: Sequence[Facet] = ()
    """Facets to count beside results."""

    @property
    def is_nothing(self) -> bool:
        """Whether there are neither words nor filters."""
        return not self.query and self.filters.is_any

    @property
    def shows_facets(self) -> bool:
        """Whether any facet is counted."""
        return bool(self.facets)

    @property
    def hidden_fields(self) -> Sequence[tuple[str, str]]:
        """Names and values of the search form's hidden fields."""
        chosen = [(name.value, value) for name, value in self.filters.chosen if name not in (Facet.STATUS, Facet.RISK)]
        return [*chosen, *([("facets", "all")] if self.shows_facets else [])]


def query_of(parameters: QueryParams) -> PageQuery:
    """Read `q`, filters, `facets` and `page`; forms also send empty ones.

    Raises `InvalidInput` with what would be right.
    """
    filters = search_filters({facet.value: parameters.get(facet.value, "").strip() for facet in Facet})
    facets = facets_of(parameters.get("facets") or None)
    return PageQuery(parameters.get("q", "").strip(), filters, page_of(parameters.get("page", "")), facets)
