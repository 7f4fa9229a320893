"""The bulk Data Lake: exact filters, refusals of everything else, and `nextLink`, which says where to go on."""

import base64
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from urllib.parse import quote

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from registerwatch_standins.register.filters import ActorFilter, Also, DeviceFilter
from registerwatch_standins.register.records import Registration
from registerwatch_standins.register.responses import json_response
from registerwatch_standins.register.wire.codes import Fields
from registerwatch_standins.register.wire.datalake import actor_rows, body_row, csv_cells, udi_row
from registerwatch_standins.register.wire.reference import reference_rows
from registerwatch_standins.register.world import World

PAGE_ROWS = 1000
Reader = Callable[[int], Sequence[Fields]]
"""From a position to the rows of the page that begins there."""

_KEY = {"subscription-key"}
_PAGING = {"api-version", "format", "$after"}
_UDI_TEXTS = {"TRADE_NAME", "DEVICE_NAME", "DEVICE_MODEL", "REFERENCE", "MEDICAL_PURPOSE"}
_UDI_EXACT = {"PRIMARY_DI", "BASIC_UDI", "MF_SRN", "NOMENCLATURE_CODE"}
_UDI_NUMBERS = {"RISK_CLASS_ID", "APPLICABLE_LEGISLATION_ID", "PLACED_ON_THE_MARKET_ID", "SPECIAL_DEVICE_TYPE_ID"}
_ACTOR_EXACT = {"ACTOR_ID", "NAME", "ABBREVIATED_NAME", "ACTOR_TYPE", "CA_NAME", "CA_ACTOR_ID", "ACT_COUNTRY_ISO2_CODE"}


class DataLake:
    """The Data Lake's endpoints over a world, of which it shows the state of `lag` ago."""

    def __init__(self, world: World, lag: timedelta = timedelta()) -> None:
        self._world = world
        self._lag = lag

    def routes(self) -> list[Route]:
        """The routes, relative to the service's base."""
        return [Route("/udi", self.udi), Route("/actors", self.actors), Route("/reference", self.reference)]

    async def udi(self, request: Request) -> Response:
        """Devices, the oldest registration first, so that new ones do not shift the pages."""
        if refusal := _refusal(request, _UDI_TEXTS | _UDI_EXACT | _UDI_NUMBERS):
            return refusal
        asked = _asked(request.query_params)
        if asked:
            rows = await run_in_threadpool(self._found, asked)
            return await _page(request, lambda start: rows[start : start + PAGE_ROWS], len(rows))
        return await _page(request, self._devices, self._world.count)

    async def actors(self, request: Request) -> Response:
        """Actors by their SRNs, one row for each responsible person of each; behind them the notified bodies."""
        if refusal := _refusal(request, _ACTOR_EXACT):
            return refusal
        rows = await run_in_threadpool(self._actors, _asked(request.query_params))
        return await _page(request, lambda start: rows[start : start + PAGE_ROWS], len(rows))

    async def reference(self, request: Request) -> Response:
        """What the ids of the columns stand for."""
        rows = reference_rows()
        if refusal := _refusal(request, set()):
            return refusal
        return await _page(request, lambda start: rows[start : start + PAGE_ROWS], len(rows))

    def _devices(self, start: int) -> list[Fields]:
        return [udi_row(record) for record in self._then(self._world.oldest(start, PAGE_ROWS))]

    def _found(self, asked: Mapping[str, str]) -> list[Fields]:
        """All devices that pass the filters, the oldest first."""
        wanted = DeviceFilter(
            primary_di=asked.get("PRIMARY_DI"),
            basic_udi=asked.get("BASIC_UDI"),
            srn=asked.get("MF_SRN"),
            also=_passing(asked),
        )
        records = self._world.search(wanted, 0, self._world.count)[1]
        return [udi_row(record) for record in reversed(self._then(records))]

    def _then(self, records: Sequence[Registration]) -> Sequence[Registration]:
        """Registrations as they stood `lag` ago."""
        if not self._lag:
            return records
        moment = datetime.fromisoformat(self._world.now()) - self._lag
        past = (self._world.as_of(record, moment) for record in records)
        return [record for record in past if record is not None]

    def _actors(self, asked: Mapping[str, str]) -> list[Fields]:
        actors = self._world.search_actors(ActorFilter(), 0, 10**9)[1]
        rows = [row for actor in actors for row in actor_rows(actor)]
        rows += [body_row(number, name) for number, name in self._world.notified_bodies().items()]
        return [row for row in rows if all(row.get(column) == value for column, value in asked.items())]


def _passing(asked: Mapping[str, str]) -> Also:
    """Whether a device's row has what is asked for: texts in any case, numbers however they are written."""

    def has(row: Fields, column: str, value: str) -> bool:
        cell = row[column]
        if column in _UDI_NUMBERS:
            return cell is not None and _is_number(value) and float(value) == cell
        if column in _UDI_TEXTS:
            return cell is not None and str(cell).lower() == value.lower()
        return bool(cell == value)

    return lambda record: all(has(udi_row(record), column, value) for column, value in asked.items())


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _asked(query: QueryParams) -> dict[str, str]:
    """The columns that are asked for."""
    return {name: value for name, value in query.items() if name not in _PAGING | _KEY}


def _refusal(request: Request, filters: set[str]) -> Response | None:
    """What a query that cannot be answered is told, each in a form of its own."""
    query = request.query_params
    if query.get("api-version") != "v1.0":
        return json_response({"statusCode": 404, "message": "Resource not found"}, 404)
    if query.get("format") not in ("json", "csv"):
        return PlainTextResponse("Required parameter format missing.", 400)
    unknown = sorted(_asked(query).keys() - filters)
    if not unknown and ("$after" not in query or _position(query["$after"]) is not None):
        return None
    if query["format"] == "csv":
        return Response(b"", 400)
    message = f"Invalid Query Parameter: {', '.join(unknown or ['$after'])}"
    return json_response({"error": {"code": "BadRequest", "message": message, "status": 400}}, 400)


async def _page(request: Request, read: Reader, total: int) -> Response:
    """A page; in JSON each full one has a `nextLink`, since a full page without would count as cut off."""
    query = request.query_params
    start = _position(query["$after"]) or 0 if "$after" in query else 0
    rows = await run_in_threadpool(read, start)
    if query["format"] == "csv":
        return _csv(rows)
    body: dict[str, object] = {"value": rows}
    if start + PAGE_ROWS <= total:
        kept = "".join(f"&{name}={quote(value)}" for name, value in _asked(query).items() if name not in _KEY)
        after = _token(start + PAGE_ROWS)
        body["nextLink"] = f"{request.url.replace(query='')}?$after={after}{kept}&format=json&api-version=v1.0"
    return json_response(body)


def _csv(rows: Sequence[Fields]) -> Response:
    """The same rows as CSV, which has no place for a link and no charset in its header."""
    lines = [",".join(f'"{name}"' for name in rows[0])] if rows else []
    lines += map(csv_cells, rows)
    return Response("".join(f"{line}\n" for line in lines).encode(), headers={"content-type": "text/csv"})


def _token(position: int) -> str:
    """Where a page begins, in the form of the real one: JSON in base64 that names a column of hashes."""
    place = {
        "EntityName": "EUDAMEDSCH_UDI_DI_DATA_PUBLIC_VIEW",
        "FieldName": "hash_column",
        "FieldValue": f"{position:08x}",
        "Direction": 0,
    }
    return base64.b64encode(msgspec.json.encode([place])).decode()


def _position(token: str) -> int | None:
    """The position of a token, None for another text."""
    try:
        return int(msgspec.json.decode(base64.b64decode(token))[0]["FieldValue"], 16)
    except (ValueError, LookupError, TypeError, msgspec.DecodeError):
        return None
