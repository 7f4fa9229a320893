"""Reading the register's query strings: what is required, what is refused, and what is silently ignored."""

from starlette.datastructures import QueryParams

from registerwatch_standins.register.filters import ActorFilter, CertificateFilter, DeviceFilter
from registerwatch_standins.register.records import (
    ACTOR_TYPES,
    DEVICE_STATUSES,
    LEGISLATIONS,
    RISK_CLASSES,
)
from registerwatch_standins.register.wire.codes import code_name
from registerwatch_standins.register.wire.pages import MOST_ROWS, Window

_REQUIRED_BY_DEVICE_SEARCH = ("page", "pageSize", "size", "iso2Code", "languageIso2Code")
_CRITERIA = ("STANDARD", "LEGACY", "SPP")


class QueryError(Exception):
    """The register's refusal of a query: an HTTP status and a message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def device_query(query: QueryParams) -> tuple[DeviceFilter, Window]:
    """The filter and the page of a device search. Raises `QueryError`."""
    for name in _REQUIRED_BY_DEVICE_SEARCH:
        require(query, name, 400)
    wanted = DeviceFilter(
        primary_di=query.get("primaryDi") or None,
        basic_udi=query.get("basicUdi") or None,
        srn=query.get("srn") or None,
        trade_name=query.get("tradeName") or None,
        reference=query.get("reference") or None,
        device_model=query.get("deviceModel") or None,
        emdn_prefix=query.get("cndCode") or None,
        risk_class=_known(query, "riskClassCode", "risk-class", RISK_CLASSES),
        status=_known(query, "deviceStatusCode", "device-model-status", DEVICE_STATUSES),
        legislation=_known(query, "applicableLegislation", "applicable-legislation", LEGISLATIONS),
        device_type=_device_type(query),
        criterion=_criterion(query),
    )
    return wanted, window(query)


def actor_query(query: QueryParams) -> tuple[ActorFilter, Window]:
    """The filter and the page of an actor search, where a missing language is the server's error.

    Raises `QueryError`.
    """
    require(query, "languageIso2Code", 500)
    wanted = ActorFilter(
        srn=query.get("srn") or None,
        name=query.get("name") or None,
        country=query.get("countryIso2Code") or None,
        type=_actor_type(query),
    )
    return wanted, window(query)


def certificate_query(query: QueryParams, *, basic_udi_filter_works: bool) -> tuple[CertificateFilter, Window]:
    """The filter and the page of a certificate search, which answers without any parameter.

    Raises `QueryError`.
    """
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
        raise QueryError(status, f"Required request parameter '{name}' is not present")


def window(query: QueryParams) -> Window:
    """The page that is asked for: from 0, 20 rows by default, never more than 300. Raises `QueryError`."""
    try:
        number, size = int(query.get("page") or 0), int(query.get("size") or query.get("pageSize") or 20)
    except ValueError:
        raise QueryError(400, "page and size must be numbers") from None
    if number < 0 or size < 1:
        raise QueryError(400, "page and size must not be negative")
    return Window(number, min(size, MOST_ROWS))


def _known(query: QueryParams, parameter: str, family: str, names: tuple[str, ...]) -> str | None:
    """The name in a code's filter; a value that the register does not know is refused."""
    value = query.get(parameter)
    if not value:
        return None
    name = code_name(family, value)
    if name not in names:
        raise QueryError(400, f"Invalid value of parameter '{parameter}'")
    return name


def _device_type(query: QueryParams) -> str | None:
    """A value that the register does not know is not refused: it finds nothing."""
    value = query.get("deviceTypes")
    return value.removeprefix("refdata.") if value else None


def _criterion(query: QueryParams) -> str | None:
    value = query.get("deviceCriteria")
    if value and value not in _CRITERIA:
        raise QueryError(400, "Invalid value of parameter 'deviceCriteria'")
    return value or None


def _actor_type(query: QueryParams) -> str | None:
    """The SRN's middle part for a code such as `refdata.actor-type.manufacturer`."""
    value = query.get("actorTypeCode")
    if not value:
        return None
    name = value.removeprefix("refdata.actor-type.")
    return next((role for role, known in ACTOR_TYPES.items() if name in (known, role)), name)
