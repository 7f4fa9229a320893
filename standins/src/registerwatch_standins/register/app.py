"""The stand-in as one ASGI application: the register under `/eudamed`, the Data Lake under `/datalake`."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import timedelta
from random import Random

from starlette.applications import Starlette
from starlette.routing import Mount

from registerwatch_standins.register.answers import refused
from registerwatch_standins.register.control import Control
from registerwatch_standins.register.datalake import DataLake
from registerwatch_standins.register.drift import drift
from registerwatch_standins.register.eudamed import Eudamed
from registerwatch_standins.register.faults import Faults
from registerwatch_standins.register.layers.faulty import FaultLayer
from registerwatch_standins.register.layers.logged import RequestLog
from registerwatch_standins.register.layers.throttled import ClientCheck, Throttle
from registerwatch_standins.register.queries import QueryError
from registerwatch_standins.register.world import World

_RECENTLY_READ_SHARE = 0.5
"""How many of the changes that come by themselves concern a device that was read lately."""


def create_app(
    world: World,
    faults: Faults | None = None,
    *,
    basic_udi_filter_works: bool = True,
    refuses_python: bool = True,
    requests_per_minute: int | None = None,
    datalake_lag: timedelta = timedelta(),
    changes_per_minute: float = 0,
    seed: int = 1,
) -> Starlette:
    """The stand-in over a world.

    `requests_per_minute` throttles each client address (about 60 is the live service's measure);
    `changes_per_minute` lets the world drift while the application's lifespan lasts. `app.state` has `world`,
    `faults`, `log` (a `RequestLog`) and `eudamed`.
    """
    faults = Faults() if faults is None else faults
    rng = Random(seed)
    eudamed = Eudamed(world, basic_udi_filter_works=basic_udi_filter_works)
    services = Starlette(
        routes=[
            Mount("/eudamed", routes=eudamed.routes()),
            Mount("/datalake", routes=DataLake(world, datalake_lag).routes()),
        ],
        exception_handlers={QueryError: refused},
    )
    throttle = Throttle(FaultLayer(services, faults, world), requests_per_minute)
    clients = ClientCheck(throttle, refuses_python=refuses_python)
    log = RequestLog(clients)
    control = Control(world, faults, eudamed, log, throttle, clients, rng)
    app = Starlette(
        routes=[Mount("/_control", routes=control.routes()), Mount("/", app=log)],
        lifespan=_drifting(world, log, rng, changes_per_minute),
    )
    app.state.world, app.state.faults, app.state.log, app.state.eudamed = world, faults, log, eudamed
    return app


def drift_once(world: World, log: RequestLog, rng: Random) -> None:
    """One change; as often as not of a device that was read lately, so that who watches sees something."""
    recent = list(log.recent_devices) if rng.random() < _RECENTLY_READ_SHARE else []
    drift(world, rng, 1, recent)


def _drifting(
    world: World, log: RequestLog, rng: Random, changes_per_minute: float
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    async def keep_drifting() -> None:
        while True:
            await asyncio.sleep(60 / changes_per_minute)
            drift_once(world, log, rng)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if changes_per_minute <= 0:
            yield
            return
        task = asyncio.create_task(keep_drifting())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    return lifespan
