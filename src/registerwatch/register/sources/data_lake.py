"""The bulk Data Lake: every device in pages, without certificates and dates, hours later than the register."""

from collections.abc import AsyncIterator, Collection
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl, urlsplit

import msgspec

from registerwatch.register.codes import ACTOR_STATUS_PREFIX, LEGISLATION_PREFIX, RISK_PREFIX, STATUS_PREFIX, label
from registerwatch.register.models import Actor, ActorReference, Completeness, Device, DeviceReading
from registerwatch.register.outcomes import NoSuchRecord, RegisterFailure
from registerwatch.register.sources.budget_parts import RequestPriority
from registerwatch.register.sources.checks import (
    CheckName,
    Looked,
    Outcome,
    Shape,
    judge_shape,
    judge_values,
    outcome_of,
)
from registerwatch.register.sources.code_columns import codes_of_columns
from registerwatch.register.sources.fields import MAX_NUMBER, key, text
from registerwatch.register.sources.requests import ApiRequest, RegisterHttpClient
from registerwatch.register.sources.rows import readable
from registerwatch.register.sources.source import RecordBatch

Row = TypeVar("Row")

NAME = "data_lake"

FULL_PAGE = 1_000
"""A page of exactly so many rows without `nextLink` is taken as cut off."""

LOOKED_AT = 300
"""Rows of which a check looks at the columns."""
_PARAMETERS = {"api-version": "v1.0", "format": "json"}

_RISKS = {
    -203: "class-i", -204: "class-iia", -205: "class-iib", -10: "class-iii",
    -199: "class-a", -200: "class-b", -201: "class-c", -202: "class-d",
    -154: "aimdd", -155: "ivd-annex-ii-list-a", -156: "ivd-annex-ii-list-b",
    -157: "ivd-general", -219: "ivd-devices-self-testing",
}  # fmt: skip
_LEGISLATIONS = {-197: "mdr", -198: "ivdr", -53: "mdd", -54: "aimdd", -55: "ivdd"}
_STATUSES = {-11: "on-the-market", -12: "no-longer-on-the-market", -790: "not-intended-for-eu-market"}


class DeviceRow(msgspec.Struct, frozen=True, rename="upper", gc=False):
    """Columns of `/udi` that matter. Other columns are never decoded."""

    uuid: str | None = None
    primary_di: str | None = None
    basic_udi: str | None = None
    trade_name: str | None = None
    device_name: str | None = None
    device_model: str | None = None
    reference: str | None = None
    risk_class_id: int | str | None = None
    applicable_legislation_id: int | str | None = None
    device_status_type_id: int | str | None = None
    nomenclature_code: str | None = None
    mf_srn: str | None = None
    mf_name: str | None = None
    ar_srn: str | None = None
    ar_name: str | None = None
    sterile: bool | int | str | None = None
    latex: bool | int | str | None = None
    implantable: bool | int | str | None = None
    reusable: bool | int | str | None = None
    version_number: int | str | None = None
    latest_version: bool | int | str | None = None
    unit_of_use_di: Any = msgspec.UNSET
    direct_marketing_di: Any = msgspec.UNSET
    """The direct marking, by the name that the column has."""
    secondary_di: Any = msgspec.UNSET
    container_package_dis: Any = msgspec.UNSET


class ActorRow(msgspec.Struct, frozen=True, rename="upper", gc=False):
    """Columns of `/actors` that matter. The columns with personal data have no field here."""

    actor_id: str | None = None
    name: str | None = None
    status: str | None = None
    act_country_iso2_code: str | None = None


class Page(msgspec.Struct, Generic[Row], frozen=True):
    """One page of either list."""

    value: list[Row]
    next_link: str | None = msgspec.field(name="nextLink", default=None)


_pages = msgspec.json.Decoder(Page[msgspec.Raw])
_device_row = msgspec.json.Decoder(DeviceRow)
_actor_row = msgspec.json.Decoder(ActorRow)


class DataLakeClient:
    """Pages through the Data Lake at `base_url`, at the pace of bulk loads. A cursor is the address of a page."""

    name = NAME
    load_name = "datalake"
    lags = True
    is_newest_first = False

    def __init__(self, requests: RegisterHttpClient, base_url: str) -> None:
        self._requests = requests
        self._base = base_url.rstrip("/")

    async def batches(self, cursor: str = "") -> AsyncIterator[RecordBatch]:
        """Pages of devices from the start or from a cursor. Raises `RegisterFailure`."""
        async for page in self._pages("/udi", cursor):
            rows = readable(page.value, _device_row, _is_keyed, listed="devices of the Data Lake")
            yield RecordBatch([reading_of_row(row) for row in rows], page.next_link or "")

    async def actors(self) -> AsyncIterator[list[Actor]]:
        """Pages of actors. Raises `RegisterFailure`."""
        async for page in self._pages("/actors", ""):
            rows = readable(
                page.value, _actor_row, lambda row: bool(key(row.actor_id)), listed="actors of the Data Lake"
            )
            yield [actor_of_row(row) for row in rows]

    async def first_rows(self) -> list[object]:
        """The rows of the first page of devices as they come, for a look at their columns. Raises `RegisterFailure`."""
        page = await self._page(self._base + "/udi", dict(_PARAMETERS))
        return [msgspec.json.decode(row) for row in page.value[:LOOKED_AT]]

    async def _pages(self, path: str, cursor: str) -> AsyncIterator["Page[msgspec.Raw]"]:
        url, params = self._base + path, dict(_PARAMETERS)
        if cursor:
            url, params = self._own(cursor)
        seen: set[str] = set()
        while True:
            page = await self._page(url, params)
            if page.next_link is None and len(page.value) == FULL_PAGE:
                raise RegisterFailure("The Data Lake broke off after a full page without saying where the next one is.")
            yield page
            if page.next_link is None:
                return
            link = self._own(page.next_link)
            if link == (url, params) or page.next_link in seen:
                raise RegisterFailure("The Data Lake's next page is one that it has given already.")
            seen.add(page.next_link)
            url, params = link

    async def _page(self, url: str, params: dict[str, str]) -> "Page[msgspec.Raw]":
        deadline = self._requests.deadline(RequestPriority.BULK_LOAD)
        try:
            return await self._requests.get(
                ApiRequest(url, params, _pages, _check_page), priority=RequestPriority.BULK_LOAD, deadline=deadline
            )
        except NoSuchRecord as redirect:
            raise RegisterFailure("The Data Lake redirected the request to another page.") from redirect

    def _own(self, link: str) -> tuple[str, dict[str, str]]:
        """A link's address and parameters. A link to another host is refused: it would lead us anywhere."""
        try:
            parts, own = urlsplit(link), urlsplit(self._base)
        except ValueError as error:
            raise RegisterFailure("The Data Lake's link to the next page is no address.") from error
        if (parts.scheme, parts.netloc) != (own.scheme, own.netloc):
            raise RegisterFailure("The Data Lake's link to the next page leads to another host.")
        return f"{parts.scheme}://{parts.netloc}{parts.path}", dict(parse_qsl(parts.query, keep_blank_values=True))


class DataLakeChecks:
    """The checks of the Data Lake: whether its devices have the columns that are read."""

    names = frozenset({CheckName.DATA_LAKE_ROW, CheckName.DATA_LAKE_VALUES})

    def __init__(self, client: DataLakeClient) -> None:
        self._client = client

    async def look(self, due: Collection[CheckName], certified: str = "") -> Looked:
        """Look at a page of devices."""
        try:
            rows = await self._client.first_rows()
        except RegisterFailure as failure:
            return Looked(dict.fromkeys(self.names, outcome_of(failure)))
        outcomes: dict[CheckName, Outcome] = {
            CheckName.DATA_LAKE_ROW: judge_shape(_SHAPE, rows),
            CheckName.DATA_LAKE_VALUES: judge_values(_SHAPE, rows),
        }
        return Looked(outcomes)


_USUAL = frozenset(
    {
        "APPLICABLE_LEGISLATION_ID",
        "AR_NAME",
        "AR_SRN",
        "BASIC_UDI",
        "DEVICE_MODEL",
        "DEVICE_NAME",
        "IMPLANTABLE",
        "LATEX",
        "NOMENCLATURE_CODE",
        "REFERENCE",
        "REUSABLE",
        "RISK_CLASS_ID",
        "STERILE",
        "TRADE_NAME",
    }
)
"""Whether a column that is empty in a row is named there has not been seen."""
_SHAPE = Shape(
    DeviceRow,
    keys=frozenset({"UUID", "PRIMARY_DI"}),
    filled=frozenset({"DEVICE_STATUS_TYPE_ID", "LATEST_VERSION", "MF_NAME", "MF_SRN", "VERSION_NUMBER"}),
    optional=_USUAL | {"CONTAINER_PACKAGE_DIS", "DIRECT_MARKETING_DI", "SECONDARY_DI", "UNIT_OF_USE_DI"},
    usual=_USUAL,
)


def _is_keyed(row: DeviceRow) -> bool:
    return bool(key(row.uuid) and key(row.primary_di))


def _check_page(page: "Page[Row]") -> None:
    if not page.value and page.next_link is not None:
        raise RegisterFailure("The Data Lake answered with an empty page that is not the last.", transient=True)


def reading_of_row(row: DeviceRow) -> DeviceReading:
    """A bulk row as a reading of a part of a device, which lags behind the register."""
    status, risk, legislation = (
        _code(STATUS_PREFIX, _STATUSES, row.device_status_type_id),
        _code(RISK_PREFIX, _RISKS, row.risk_class_id),
        _code(LEGISLATION_PREFIX, _LEGISLATIONS, row.applicable_legislation_id),
    )
    device = Device(
        uuid=key(row.uuid),
        udi=key(row.primary_di),
        basic_udi=key(row.basic_udi),
        trade_name=text(row.trade_name),
        device_name=text(row.device_name),
        device_model=text(row.device_model),
        reference=text(row.reference),
        status=label(status),
        status_code=status,
        risk_class=label(risk),
        risk_class_code=risk,
        legislation=label(legislation),
        legislation_code=legislation,
        emdn=tuple(term.strip() for term in text(row.nomenclature_code).split(",") if term.strip()),
        manufacturer_srn=key(row.mf_srn),
        manufacturer_name=text(row.mf_name),
        sterile=_flag(row.sterile),
        latex=_flag(row.latex),
        implantable=_flag(row.implantable),
        reusable=_flag(row.reusable),
        authorised_representative=ActorReference(text(row.ar_srn), text(row.ar_name)) if text(row.ar_srn) else None,
        version=_whole(row.version_number),
        other_codes=codes_of_columns(
            {
                "unit_of_use": row.unit_of_use_di,
                "direct_marking": row.direct_marketing_di,
                "secondary": row.secondary_di,
                "container_package": row.container_package_dis,
            },
            key(row.primary_di),
        ),
    )
    superseded = text(row.latest_version).lower() in {"false", "0", "n", "no"}
    return DeviceReading(
        device=device, completeness=Completeness.SOME, source=NAME, latest_version=not superseded, lags=True
    )


def actor_of_row(row: ActorRow) -> Actor:
    """A bulk actor. Its status is `ACTIVE` there: the end of the register's code in capitals."""
    status = "-".join(text(row.status).lower().replace("_", " ").split())
    return Actor(
        srn=key(row.actor_id),
        name=text(row.name),
        country=text(row.act_country_iso2_code),
        status_code=ACTOR_STATUS_PREFIX + status if status else "",
    )


def _code(prefix: str, segments: dict[int, str], identity: int | str | None) -> str:
    """The register's code for a Data Lake id; an unknown id stays readable as `…unknown-<id>`."""
    number = _whole(identity)
    if number is None:
        return ""
    return prefix + segments.get(number, f"unknown-{abs(number)}")


def _flag(value: bool | int | str | None) -> bool | None:
    """A column that is 1, 0 or empty. Empty, or anything else, is not known."""
    return _FLAGS.get(text(value).lower())


_FLAGS = {"1": True, "true": True, "0": False, "false": False}


def _whole(value: int | str | None) -> int | None:
    try:
        number = None if value is None else int(value)
    except ValueError:
        return None
    return number if number is not None and abs(number) <= MAX_NUMBER else None
