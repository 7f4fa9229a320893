"""The bulk Data Lake, which refuses unknown parameters and says with `nextLink` where to go on. JSON only, no CSV."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registerwatch_standins.register.responses import json_response
from registerwatch_standins.register.wire.datalake import actor_row, udi_row
from registerwatch_standins.register.wire.reference import reference_rows
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
        return [Route("/udi", self.udi), Route("/actors", self.actors), Route("/reference", self.reference)]

    async def udi(self, request: Request) -> Response:
        """Devices, the oldest registration first, so that new ones do not shift the pages."""
        return await _page(request, self._devices, self._world.count)

    async def actors(self, request: Request) -> Response:
        """Actors, by their SRNs."""
        total = (await run_in_threadpool(self._world.search_actors, None, 0, 0))[0]
        return await _page(request, self._actors, total)

    async def reference(self, request: Request) -> Response:
        """What the ids of the columns stand for."""
        rows = reference_rows()
        return await _page(request, lambda start: rows[start : start + PAGE_ROWS], len(rows))

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
    try:
        start = _start(request.query_params)
    except ValueError as error:
        return json_response({"error": {"code": "BadRequest", "message": str(error), "status": 400}}, 400)
    body: dict[str, object] = {"value": await run_in_threadpool(read, start)}
    if start + PAGE_ROWS <= total:
        token = f"{start + PAGE_ROWS:08x}"
        body["nextLink"] = f"{request.url.replace(query='')}?api-version=v1.0&format=json&$after={token}"
    return json_response(body)


def _start(query: QueryParams) -> int:
    """The position at which a page begins. Raises `ValueError` that says what is wrong with the query."""
    if unknown := query.keys() - {"api-version", "format", "$after"}:
        raise ValueError(f"Invalid Query Parameter: {', '.join(sorted(unknown))}")
    for name, value in (("api-version", "v1.0"), ("format", "json")):
        if query.get(name) != value:
            raise ValueError(f"Required Query Parameter: {name}")
    return int(query.get("$after", "0"), 16)
