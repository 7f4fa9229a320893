"""The control interface under `/_control`, by which another process changes the register."""

from random import Random

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registerwatch_standins.register.drift import Difference, DriftLayer
from registerwatch_standins.register.faults import Faults, Rule
from registerwatch_standins.register.random_changes import make_random_changes, register_sibling
from registerwatch_standins.register.responses import json_response
from registerwatch_standins.register.world import World


class Control:
    """The control interface's endpoints. They trust who asks: an order that cannot be carried out is a defect."""

    def __init__(self, world: World, rng: Random, drift: DriftLayer, faults: Faults) -> None:
        self._world = world
        self._rng = rng
        self._drift = drift
        self._faults = faults

    def routes(self) -> list[Route]:
        """The routes, relative to `/_control`."""
        return [
            Route("/changes", self.changes),
            Route("/change", self.change, methods=["POST"]),
            Route("/certificate", self.certificate, methods=["POST"]),
            Route("/registration", self.registration, methods=["POST"]),
            Route("/random-changes", self.random_changes, methods=["POST"]),
            Route("/sample", self.sample),
            Route("/faults", self.faults, methods=["POST", "DELETE"]),
            Route("/tolerance", self.tolerance, methods=["PUT"]),
            Route("/differences", self.differences, methods=["GET", "PUT"]),
        ]

    async def changes(self, _request: Request) -> Response:
        """The latest changes, and how many there have been in all."""
        log = self._world.change_log
        return json_response({"written": log.written, "changes": list(log)})

    async def change(self, request: Request) -> Response:
        """Change `fields` of the registration `uuid`; the answer is what it is now."""
        order = await request.json()
        return json_response(self._world.change(order["uuid"], **order["fields"]))

    async def certificate(self, request: Request) -> Response:
        """Change `fields` of the certificate `uuid`, or list one of the manufacturer `srn`; the answer is its row."""
        order = await request.json()
        if "uuid" in order:
            return json_response(self._world.change_certificate(order["uuid"], **order["fields"]))
        return json_response(self._world.list_certificate(order["srn"], **order["fields"]))

    async def registration(self, request: Request) -> Response:
        """Register a new device beside the registration `uuid`, of the same manufacturer; the answer is what it is."""
        record = self._world.by_uuid((await request.json())["uuid"])
        if record is None:
            raise KeyError
        return json_response(register_sibling(self._world, self._rng, record))

    async def random_changes(self, request: Request) -> Response:
        """Make `n` random changes `among` these uuids or UDI-DIs; the answer has them."""
        order = await request.json()
        return json_response({"changes": make_random_changes(self._world, self._rng, order["n"], order["among"])})

    async def sample(self, request: Request) -> Response:
        """`n` registrations spread over the register, for who needs identifiers to ask for."""
        count = self._world.count
        n = min(int(request.query_params["n"]), count)
        records = [self._world.oldest(rank * count // n, 1)[0] for rank in range(n)]
        return json_response({"count": count, "records": records})

    async def faults(self, request: Request) -> Response:
        """Add a fault, whose fields are those of a `Rule`; `DELETE` drops all, and what is tolerated."""
        if request.method == "DELETE":
            self._faults.clear()
        else:
            self._faults.add(msgspec.json.decode(await request.body(), type=Rule))
        return json_response({})

    async def tolerance(self, request: Request) -> Response:
        """Answer `per_minute` requests in any minute and show `mode` to the others."""
        order = await request.json()
        self._faults.tolerate(order.pop("per_minute"), **order)
        return json_response({})

    async def differences(self, request: Request) -> Response:
        """Which differences are shown, all there are in `known`; `PUT` with `shown` shows these and no others."""
        if request.method == "PUT":
            self._drift.differences = {Difference(each) for each in (await request.json())["shown"]}
        return json_response({"shown": sorted(self._drift.differences), "known": list(Difference)})
