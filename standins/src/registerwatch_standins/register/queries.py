"""The register's query strings: what is required, what is refused, what is silently ignored; and its pages."""

from collections.abc import Sequence

from msgspec import Struct
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from registerwatch_standins.register.filters import CertificateFilter, DeviceFilter

MAX_ROWS = 300
_REQUIRED_BY_DEVICE_SEARCH = ("page", "pageSize", "size", "iso2Code", "languageIso2Code")
_FILTER_NAMES = """
tradeName reference deviceModel cndCode riskClassCode deviceStatusCode applicableLegislation deviceTypes deviceCriteria
name countryIso2Code actorTypeCode
"""
_NOT_SERVED = frozenset(_FILTER_NAMES.split())
"""Filters of the real register that the stand-in has not. It says so, since the real one does not ignore them."""


class Window(Struct, frozen=True):
    """Which page is asked for: 0-based, and how many rows a page has."""

    number: int
    size: int

    @property
    def offset(self) -> int:
        """How many rows lie before the page."""
        return self.number * self.size


def device_query(query: QueryParams) -> tuple[DeviceFilter, Window]:
    """The filter and the page of a device search. Raises `HTTPException`."""
    for name in _REQUIRED_BY_DEVICE_SEARCH:
        require(query, name, 400)
    wanted = DeviceFilter(query.get("primaryDi") or None, query.get("basicUdi") or None, query.get("srn") or None)
    return wanted, window(query)


def actor_query(query: QueryParams) -> tuple[str | None, Window]:
    """The SRN and the page of an actor search, where a missing language is the server's error."""
    require(query, "languageIso2Code", 500)
    return query.get("srn") or None, window(query)


def certificate_query(query: QueryParams, *, basic_udi_filter_works: bool) -> tuple[CertificateFilter, Window]:
    """The filter and the page of a certificate search, which answers without any parameter."""
    wanted = CertificateFilter(
        actor_srn=query.get("actorSrn") or None,
        notified_body=query.get("notifiedBodySrn") or None,
        number=query.get("certificateNumber") or None,
        basic_udi=(query.get("basicUdi") or None) if basic_udi_filter_works else None,
    )
    return wanted, window(query)


def require(query: QueryParams, name: str, status: int) -> None:
    """Refuse a query in which this parameter is missing or empty."""
    if not query.get(name):
        raise HTTPException(status, f"Required request parameter '{name}' is not present")


def window(query: QueryParams) -> Window:
    """The page that is asked for: from 0, 20 rows by default, never more than 300. Raises `HTTPException`."""
    if missing := _NOT_SERVED & query.keys():
        raise HTTPException(501, f"The stand-in has no filter {', '.join(sorted(missing))}")
    try:
        number, size = int(query.get("page") or 0), int(query.get("size") or query.get("pageSize") or 20)
    except ValueError:
        raise HTTPException(400, "page and size must be numbers") from None
    if number < 0 or size < 1:
        raise HTTPException(400, "page and size must not be negative")
    return Window(number, min(size, MAX_ROWS))


def envelope(rows: Sequence[object], total: int, window: Window) -> dict[str, object]:
    """A page of rows and how it stands among all pages, in the form of Spring."""
    pages = -(-total // window.size)
    return {
        "content": list(rows),
        "totalPages": pages,
        "totalElements": total,
        "first": window.number == 0,
        "last": window.number >= pages - 1,
        "size": window.size,
        "number": window.number,
        "sort": None,
        "numberOfElements": len(rows),
    }
