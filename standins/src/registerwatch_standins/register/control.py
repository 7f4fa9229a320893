"""The control interface under `/_control`, by which another process steers the stand-in and reads what it
did.
"""

from collections.abc import Awaitable, Callable
from random import Random

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registerwatch_standins.register.answers import json_response
from registerwatch_standins.register.drift import drift
from registerwatch_standins.register.eudamed import Eudamed
from registerwatch_standins.register.faults import Faults, Rule
from registerwatch_standins.register.layers.logged import RequestLog
from registerwatch_standins.register.layers.throttled import ClientCheck, Throttle
from registerwatch_standins.register.world import World

Endpoint = Callable[[Request], Awaitable[Response]]


class ChangeOrder(Struct, forbid_unknown_fields=True):
    """Change a registration (by `uuid`, or by a `primary_di` of its own) or an actor (by `srn`)."""

    fields: dict[str, object]
    uuid: str | None = None
    primary_di: str | None = None
    srn: str | None = None
    new_version: bool | None = None


class DriftOrder(Struct, forbid_unknown_fields=True):
    """Make `n` random changes, among these uuids or UDI-DIs if any, by this seed if there is one."""

    n: int = 1
    among: list[str] = []
    seed: int | None = None


class SettingsOrder(Struct, forbid_unknown_fields=True):
    """Change switches; what is left out stays. `requests_per_minute` 0 takes the throttle off."""

    basic_udi_filter_works: bool | None = None
    refuses_python: bool | None = None
    requests_per_minute: int | None = None
    build: str | None = None


class Control:
    """The control interface's endpoints."""

    def __init__(
        self,
        world: World,
        faults: Faults,
        eudamed: Eudamed,
        log: RequestLog,
        throttle: Throttle,
        clients: ClientCheck,
        rng: Random,
    ) -> None:
        self._world = world
        self._faults = faults
        self._eudamed = eudamed
        self._log = log
        self._throttle = throttle
        self._clients = clients
        self._rng = rng

    def routes(self) -> list[Route]:
        """The routes, relative to `/_control`."""
        routes: list[tuple[str, str, Endpoint]] = [
            ("GET", "/journal", self.journal),
            ("GET", "/faults", self.faults),
            ("POST", "/faults", self.add_fault),
            ("POST", "/faults/clear", self.clear_faults),
            ("POST", "/change", self.change),
            ("POST", "/drift", self.drift),
            ("GET", "/requests", self.requests),
            ("POST", "/requests/clear", self.clear_requests),
            ("GET", "/sample", self.sample),
            ("POST", "/settings", self.settings),
        ]
        return [Route(path, _answering(endpoint), methods=[method]) for method, path, endpoint in routes]

    async def journal(self, request: Request) -> Response:
        """The changes after the first `since` ones, and how many have been written in all."""
        journal = self._world.journal
        since = int(request.query_params.get("since", "0"))
        return json_response({"written": journal.written, "changes": journal.since(since)})

    async def faults(self, request: Request) -> Response:
        """The rules in force."""
        return json_response({"rules": self._faults.rules, "shown": self._faults.shown})

    async def add_fault(self, request: Request) -> Response:
        """Add a rule."""
        self._faults.add(msgspec.json.decode(await request.body(), type=Rule))
        return await self.faults(request)

    async def clear_faults(self, request: Request) -> Response:
        """Drop all rules."""
        self._faults.clear()
        return await self.faults(request)

    async def change(self, request: Request) -> Response:
        """Change a registration or an actor; the answer is what it is now."""
        order = msgspec.json.decode(await request.body(), type=ChangeOrder)
        if order.srn:
            return json_response(self._world.change_actor(order.srn, **order.fields))
        uuid = order.uuid or self._only_uuid(order.primary_di or "")
        return json_response(self._world.change(uuid, new_version=order.new_version, **order.fields))

    async def drift(self, request: Request) -> Response:
        """Make random changes; the answer is what they wrote into the journal."""
        order = msgspec.json.decode(await request.body() or b"{}", type=DriftOrder)
        rng = self._rng if order.seed is None else Random(order.seed)
        return json_response({"changes": drift(self._world, rng, order.n, order.among)})

    async def requests(self, request: Request) -> Response:
        """Counters, and the last requests (`limit`, 100 by default)."""
        log, limit = self._log, int(request.query_params.get("limit", "100"))
        return json_response(
            {
                "total": log.total,
                "kinds": log.kinds,
                "statuses": {str(status): count for status, count in log.statuses.items()},
                "open": log.open,
                "most_open": log.most_open,
                "requests": list(log.requests)[-limit:] if limit else [],
            }
        )

    async def clear_requests(self, request: Request) -> Response:
        """Forget all requests."""
        self._log.clear()
        return json_response({"total": 0})

    async def sample(self, request: Request) -> Response:
        """`n` registrations spread over the register, for who needs identifiers to ask for."""
        count = self._world.count
        n = max(1, min(int(request.query_params.get("n", "10")), count))
        records = [self._world.oldest(rank * count // n, 1)[0] for rank in range(n)]
        return json_response({"count": count, "records": records})

    async def settings(self, request: Request) -> Response:
        """Change the switches; the answer is how they stand."""
        order = msgspec.json.decode(await request.body() or b"{}", type=SettingsOrder)
        if order.basic_udi_filter_works is not None:
            self._eudamed.basic_udi_filter_works = order.basic_udi_filter_works
        if order.refuses_python is not None:
            self._clients.refuses_python = order.refuses_python
        if order.requests_per_minute is not None:
            self._throttle.requests_per_minute = order.requests_per_minute or None
        self._eudamed.build = order.build or self._eudamed.build
        return json_response(
            SettingsOrder(
                self._eudamed.basic_udi_filter_works,
                self._clients.refuses_python,
                self._throttle.requests_per_minute or 0,
                self._eudamed.build,
            )
        )

    def _only_uuid(self, primary_di: str) -> str:
        records = self._world.by_primary_di(primary_di)
        if len(records) != 1:
            raise ValueError(f"{len(records)} registrations have the UDI-DI {primary_di!r}: name a uuid")
        return records[0].uuid


def _answering(endpoint: Endpoint) -> Endpoint:
    """400 with a message for an order that cannot be carried out."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
            return json_response({"error": f"{type(error).__name__}: {error}"}, 400)

    return answer
