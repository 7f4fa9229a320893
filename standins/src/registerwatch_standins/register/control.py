"""The control interface under `/_control`, by which another process changes the register."""

from collections.abc import Callable
from random import Random

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registerwatch_standins.register.random_changes import make_random_changes
from registerwatch_standins.register.responses import json_response
from registerwatch_standins.register.world import World


class ChangeOrder(Struct, forbid_unknown_fields=True):
    """Change fields of a registration."""

    uuid: str
    fields: dict[str, object]


class RandomChangesOrder(Struct, forbid_unknown_fields=True):
    """Make `n` random changes, among these uuids or UDI-DIs if any."""

    n: int = 1
    among: list[str] = []


class Control:
    """The control interface's endpoints: each takes the request's body and gives what is sent as JSON."""

    def __init__(self, world: World, rng: Random) -> None:
        self._world = world
        self._rng = rng

    def routes(self) -> list[Route]:
        """The routes, relative to `/_control`."""
        return [
            _route("GET", "/changes", self.changes),
            _route("POST", "/change", self.change),
            _route("POST", "/random-changes", self.random_changes),
            _route("GET", "/sample", self.sample),
        ]

    def changes(self, request: Request, _body: bytes) -> object:
        """The changes after the first `since` ones, and how many there have been in all."""
        log = self._world.change_log
        return {"written": log.written, "changes": log.since(int(request.query_params.get("since", "0")))}

    def change(self, _request: Request, body: bytes) -> object:
        """Change a registration; the answer is what it is now."""
        order = msgspec.json.decode(body, type=ChangeOrder)
        return self._world.change(order.uuid, new_version=None, **order.fields)

    def random_changes(self, _request: Request, body: bytes) -> object:
        """Make random changes; the answer has them."""
        order = msgspec.json.decode(body, type=RandomChangesOrder)
        return {"changes": make_random_changes(self._world, self._rng, order.n, order.among)}

    def sample(self, request: Request, _body: bytes) -> object:
        """`n` registrations spread over the register, for who needs identifiers to ask for."""
        count = self._world.count
        n = max(1, min(int(request.query_params.get("n", "10")), count))
        records = [self._world.oldest(rank * count // n, 1)[0] for rank in range(n)]
        return {"count": count, "records": records}


def _route(method: str, path: str, endpoint: Callable[[Request, bytes], object]) -> Route:
    """A route that answers 400 with a message to an order that cannot be carried out."""

    async def respond(request: Request) -> Response:
        try:
            return json_response(endpoint(request, await request.body()))
        except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
            return json_response({"error": f"{type(error).__name__}: {error}"}, 400)

    return Route(path, respond, methods=[method])
