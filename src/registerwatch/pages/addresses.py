"""Addresses of the pages. Identifiers hold any character, `/` and `+` too, so all of them are percent-encoded."""

from urllib.parse import quote, urlencode

from registerwatch.register.search.index import Filters


def device_address(udi: str) -> str:
    """`/d/04012345678901`."""
    return f"/d/{quote(udi, safe='')}"


def actor_address(srn: str, filters: Filters | None = None, page: int = 1) -> str:
    """`/a/DE-MF-000006413?risk=iii&page=2`."""
    return f"/a/{quote(srn, safe='')}" + _query("", filters, page)


def search_address(query: str = "", filters: Filters | None = None, page: int = 1) -> str:
    """`/?q=titan&status=on&page=2`, with what says something only."""
    return "/" + _query(query, filters, page)


def _query(query: str, filters: Filters | None, page: int) -> str:
    filters = filters or Filters()
    parameters = {
        "q": query,
        "status": filters.status.value if filters.status else "",
        "risk": filters.risk.value if filters.risk else "",
        "page": str(page) if page > 1 else "",
    }
    given = {name: value for name, value in parameters.items() if value}
    return f"?{urlencode(given)}" if given else ""
