"""The bulk Data Lake, which refuses unknown parameters and says with `nextLink` where to go on. JSON only, no CSV."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registerwatch_standins.register.responses import json_response
from registerwatch_standins.register.wire.datalake import actor_row, udi_row
from registerwatch_standins.register.world import World

PAGE_ROWS = 1000
Reader = Callable[[int], Sequence[Mapping[str, object]]]
"""From a position to the rows of the page that begins there."""


class DataLake:
    """The Data Lake's endpoints over a world, of which it shows the state of `lag` ago."""

    def __init__(self, world: World, lag: timedelta = timedelta()) -> None:
        self._world = world
        self._lag = lag

    def routes(self) -> list[Route]:
        """The routes, relative to the service's base."""
        return [Route("/udi", self.udi), Route("/actors", self.actors)]

    async def udi(self, request: Request) -> Response:
        """Devices, the oldest registration first, so that new ones do not shift the pages."""
        return await _page(request, self._devices, self._world.count)

    async def actors(self, request: Request) -> Response:
        """Actors, by their SRNs."""
        total = (await run_in_threadpool(self._world.search_actors, None, 0, 0))[0]
        return await _page(request, self._actors, total)

    def _devices(self, start: int) -> list[dict[str, object]]:
        records = self._world.oldest(start, PAGE_ROWS)
        if not self._lag:
            return [udi_row(record) for record in records]
        moment = datetime.fromisoformat(self._world.now()) - self._lag
        past = (self._world.as_of(record, moment) for record in records)
        return [udi_row(record) for record in past if record is not None]

    def _actors(self, start: int) -> list[dict[str, object]]:
        return [actor_row(actor) for actor in self._world.search_actors(None, start, PAGE_ROWS)[1]]


async def _page(request: Request, read: Reader, total: int) -> Response:
    """A page; each full one has a `nextLink`, since a full page without would count as cut off."""
    start = _start(request.query_params.get("$after"))
    problem = _problem(request) or ("Invalid Query Parameter: $after" if start is None else None)
    if problem is not None or start is None:
        return json_response({"error": {"code": "BadRequest", "message": problem, "status": 400}}, 400)
    body: dict[str, object] = {"value": await run_in_threadpool(read, start)}
    if start + PAGE_ROWS <= total:
        token = urlsafe_b64encode(f"after {start + PAGE_ROWS}".encode()).decode().rstrip("=")
        body["nextLink"] = f"{request.url.replace(query='')}?api-version=v1.0&format=json&$after={token}"
    return json_response(body)


def _problem(request: Request) -> str | None:
    """What is wrong with a query: an unknown parameter, or a required one that is missing."""
    query = request.query_params
    for name in query:
        if name not in ("api-version", "format", "$after"):
            return f"Invalid Query Parameter: {name}"
    if query.get("api-version") != "v1.0":
        return "Required Query Parameter: api-version"
    return None if query.get("format") == "json" else "Required Query Parameter: format"


def _start(token: str | None) -> int | None:
    """The position that a token stands for; 0 without one, `None` for one that was not given out here."""
    if token is None:
        return 0
    try:
        word, _, position = urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode().partition(" ")
        return int(position) if word == "after" and int(position) >= 0 else None
    except ValueError:
        return None
