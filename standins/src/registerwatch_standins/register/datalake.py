"""The routes of the bulk Data Lake, which refuses what it does not know and says with `nextLink` where to go
on.
"""

import csv
import io
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registerwatch_standins.register.answers import json_response
from registerwatch_standins.register.filters import ActorFilter
from registerwatch_standins.register.wire.datalake import actor_row, reference_rows, udi_row
from registerwatch_standins.register.world import World

PAGE_ROWS = 1000
_PARAMETERS = frozenset({"api-version", "format", "$after"})
Rows = Sequence[Mapping[str, object]]
Reader = Callable[[int], Rows]


class DataLake:
    """The Data Lake's endpoints over a world, of which it shows the state of `lag` ago."""

    def __init__(self, world: World, lag: timedelta = timedelta()) -> None:
        self._world = world
        self._lag = lag

    def routes(self) -> list[Route]:
        """The routes, relative to the service's base."""
        return [
            Route("/udi", self.udi),
            Route("/actors", self.actors),
            Route("/reference", self.reference),
            Route("/{path:path}", self.unknown),
        ]

    async def udi(self, request: Request) -> Response:
        """Devices, the oldest registration first, so that new ones do not shift a walk."""
        return await self._page(request, self._devices, self._world.count)

    async def actors(self, request: Request) -> Response:
        """Actors, by their SRNs."""
        total = (await run_in_threadpool(self._world.search_actors, ActorFilter(), 0, 0))[0]
        return await self._page(request, self._actors, total)

    async def reference(self, request: Request) -> Response:
        """The code lists."""
        return refusal(request) or _rendered(request, reference_rows(), None)

    async def unknown(self, request: Request) -> Response:
        """Any other path."""
        return _error("Resource not found", 404)

    async def _page(self, request: Request, read: Reader, total: int) -> Response:
        """A page; each full one has a `nextLink`, since a full page without would count as cut off."""
        if refused := refusal(request):
            return refused
        start = _start(request.query_params.get("$after"))
        if start is None:
            return _error("Invalid Query Parameter: $after", 400)
        rows = await run_in_threadpool(read, start)
        end = start + PAGE_ROWS
        return _rendered(request, rows, _next_link(request, end) if end <= total else None)

    def _devices(self, start: int) -> list[dict[str, object]]:
        records = self._world.oldest(start, PAGE_ROWS)
        if not self._lag:
            return [udi_row(record) for record in records]
        moment = datetime.fromisoformat(self._world.now()) - self._lag
        past = (self._world.as_of(record, moment) for record in records)
        return [udi_row(record) for record in past if record is not None]

    def _actors(self, start: int) -> list[dict[str, object]]:
        return [actor_row(actor) for actor in self._world.search_actors(ActorFilter(), start, PAGE_ROWS)[1]]


def refusal(request: Request) -> Response | None:
    """What is wrong with a query: an unknown parameter, or a required one that is missing."""
    query = request.query_params
    for name in query:
        if name not in _PARAMETERS:
            return _error(f"Invalid Query Parameter: {name}", 400)
    if query.get("api-version") != "v1.0":
        return _error("Required Query Parameter: api-version", 400)
    if query.get("format") not in ("json", "csv"):
        return _error("Required Query Parameter: format", 400)
    return None


def _error(message: str, status: int) -> Response:
    kind = "BadRequest" if status == 400 else "NotFound"
    return json_response({"error": {"code": kind, "message": message, "status": status}}, status)


def _rendered(request: Request, rows: Rows, next_link: str | None) -> Response:
    if request.query_params["format"] == "csv":
        return Response(_csv(rows), headers={"content-type": "text/csv"})
    body: dict[str, object] = {"value": rows}
    if next_link:
        body["nextLink"] = next_link
    return json_response(body)


def _csv(rows: Rows) -> bytes:
    """UTF-8, a header line, nothing for null. Unlike JSON, CSV has no place for a `nextLink`."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _next_link(request: Request, position: int) -> str:
    token = urlsafe_b64encode(f"after {position}".encode()).decode().rstrip("=")
    kind = request.query_params["format"]
    return f"{request.url.replace(query='')}?api-version=v1.0&format={kind}&$after={token}"


def _start(token: str | None) -> int | None:
    """The position that a token stands for; 0 without one, `None` for one that was not given out here."""
    if token is None:
        return 0
    try:
        word, _, position = urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode().partition(" ")
        return int(position) if word == "after" and int(position) >= 0 else None
    except ValueError:
        return None
