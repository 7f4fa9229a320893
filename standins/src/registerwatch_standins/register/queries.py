"""The register's query strings: what is required, what is refused, what is silently ignored; and its pages."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from registerwatch_standins.register.filters import ActorFilter, Also, CertificateFilter, DeviceFilter
from registerwatch_standins.register.records import ACTOR_TYPES, DEVICE_STATUSES, Registration

MAX_ROWS = 300
_REQUIRED_BY_DEVICE_SEARCH = ("page", "pageSize", "size", "iso2Code", "languageIso2Code")
_RISKS = "class-i class-iia class-iib class-iii class-a class-b class-c class-d"
_CODES: Mapping[str, tuple[str, frozenset[str]]] = {
    "riskClassCode": ("refdata.risk-class.", frozenset(_RISKS.split())),
    "deviceStatusCode": ("refdata.device-model-status.", frozenset(DEVICE_STATUSES)),
}
"""Filters of which a value that is none of these is refused. The classes of the directives are not among them."""


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
    wanted = DeviceFilter(
        query.get("primaryDi") or None,
        query.get("basicUdi") or None,
        query.get("srn") or None,
        _also(query),
    )
    return wanted, window(query)


def actor_query(query: QueryParams) -> tuple[ActorFilter, Window]:
    """The filter and the page of an actor search, where a missing language is the server's error."""
    require(query, "languageIso2Code", 500)
    role = query.get("actorTypeCode", "").removeprefix("refdata.actor-type.")
    wanted = ActorFilter(
        srn=query.get("srn") or None,
        name=query.get("name") or None,
        country=query.get("countryIso2Code") or None,
        type=next((short for short, name in ACTOR_TYPES.items() if name == role), role) or None,
    )
    return wanted, window(query)


def _also(query: QueryParams) -> Also | None:
    """What the filters that name nothing exactly want of a registration. Raises `HTTPException` for an unknown code."""
    for name, (prefix, known) in _CODES.items():
        if query.get(name) and query[name].removeprefix(prefix) not in known:
            raise HTTPException(400, f"Unknown value of '{name}'")
    asked = [(find, query[name]) for name, find in _FILTERS.items() if query.get(name)]
    return (lambda record: all(find(record, value) for find, value in asked)) if asked else None


def _within(text: str | None, part: str) -> bool:
    return part.lower() in (text or "").lower()


_FILTERS: Mapping[str, Callable[[Registration, str], bool]] = {
    "tradeName": lambda record, value: _within(record.trade_name, value),
    "reference": lambda record, value: _within(record.reference, value),
    "deviceModel": lambda record, value: _within(record.model, value),
    "cndCode": lambda record, value: any(code.startswith(value) for code in record.emdn),
    "riskClassCode": lambda record, value: f"refdata.risk-class.{record.risk_class}" == value,
    "deviceStatusCode": lambda record, value: f"refdata.device-model-status.{record.status}" == value,
    "applicableLegislation": lambda record, value: f"refdata.applicable-legislation.{record.legislation}" == value,
    "deviceTypes": lambda record, value: f"refdata.special-device-type.{record.special_type}" == value,
    "deviceCriteria": lambda record, value: record.criterion == value,
}


def certificate_query(query: QueryParams, *, basic_udi_filter_works: bool) -> tuple[CertificateFilter, Window]:
    """The filter and the page of a certificate search, which answers without any parameter."""
    wanted = CertificateFilter(
        actor_srn=query.get("actorSrn") or None,
        notified_body=query.get("notifiedBodySrn") or None,
        number=query.get("certificateNumber") or None,
        basic_udi=(query.get("basicUdi") or None) if basic_udi_filter_works else None,
    )
    return wanted, window(query, "size", "pageSize")


def require(query: QueryParams, name: str, status: int) -> None:
    """Refuse a query in which this parameter is missing or empty."""
    if not query.get(name):
        raise HTTPException(status, f"Required request parameter '{name}' is not present")


def window(query: QueryParams, *names: str) -> Window:
    """The page that is asked for: from 0, 20 rows where no parameter of these names says how many, at most 300.

    Raises `HTTPException`.
    """
    asked = next((query[name] for name in names or ("size",) if query.get(name)), 20)
    try:
        number, size = int(query.get("page") or 0), int(asked)
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
