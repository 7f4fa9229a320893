"""Addresses of pages. Identifiers, which may hold any character, `/` and `+` too, are percent-encoded."""

from collections.abc import Iterable
from urllib.parse import quote, urlencode

from registerwatch.copy.search.filters import Filters


def with_query(path: str, parameters: Iterable[tuple[str, str]]) -> str:
    """An address with parameters; empty ones are left out."""
    query = urlencode([(name, value) for name, value in parameters if value])
    return f"{path}?{query}" if query else path


def with_more(address: str, parameters: Iterable[tuple[str, str]]) -> str:
    """An address, which may have parameters, with more of them; empty ones are left out."""
    added = with_query("", parameters)
    return address + (added.replace("?", "&", 1) if "?" in address else added)


def device_address(udi: str) -> str:
    """`/d/04012345678901`."""
    return f"/d/{quote(udi, safe='')}"


def actor_address(srn: str, filters: Filters | None = None, page: int = 1) -> str:
    """`/a/DE-MF-000006413?risk=iii&page=2`."""
    return with_query(f"/a/{quote(srn, safe='')}", _parameters("", filters, page))


def certificate_address(certificate_id: str) -> str:
    """`/c/01KTRNZDXJ464K52YBH502R56Q`."""
    return f"/c/{quote(certificate_id, safe='')}"


def search_address(query: str = "", filters: Filters | None = None, page: int = 1, *, facets: bool = False) -> str:
    """`/?q=titan&status=on&facets=all&page=2`, without empty parameters."""
    return with_query("/", _parameters(query, filters, page, facets=facets))


def compare_address(codes: Iterable[str], dates: Iterable[str] = (), *, only_differences: bool = False) -> str:
    """`/compare?d=04012345678901&at=2026-06-01&only=differences`."""
    devices, days = [("d", code) for code in codes], [("at", each) for each in dates]
    return with_query("/compare", [*devices, *days, ("only", "differences" if only_differences else "")])


def _parameters(query: str, filters: Filters | None, page: int, *, facets: bool = False) -> Iterable[tuple[str, str]]:
    chosen = [(facet.value, value) for facet, value in (filters or Filters()).chosen]
    return ("q", query), *chosen, ("facets", "all" if facets else ""), ("page", page_parameter(page))


def page_parameter(page: int) -> str:
    """The number of a page in an address, empty for the first."""
    return str(page) if page > 1 else ""
