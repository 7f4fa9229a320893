"""The stand-in as one ASGI application: the register under `/eudamed`, the Data Lake under `/datalake`."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from random import Random

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse
from starlette.routing import Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from registerwatch_standins.register.control import Control
from registerwatch_standins.register.datalake import DataLake
from registerwatch_standins.register.drift import Difference, DriftLayer
from registerwatch_standins.register.eudamed import Eudamed
from registerwatch_standins.register.fault_layer import FaultLayer, Sleep
from registerwatch_standins.register.faults import Faults
from registerwatch_standins.register.file_world import FileWorld
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.random_changes import make_random_changes
from registerwatch_standins.register.request_log import RequestLog
from registerwatch_standins.register.responses import gateway_page, query_error
from registerwatch_standins.register.world import World

_RECENTLY_READ_SHARE = 0.5
"""How many of the changes that come by themselves concern a device that was read lately."""


def create_app(
    world: World,
    faults: Faults | None = None,
    *,
    basic_udi_filter_works: bool = True,
    datalake_lag: timedelta = timedelta(),
    changes_per_minute: float = 0,
    seed: int = 1,
    differences: Iterable[Difference] = (),
    sleep: Sleep = anyio.sleep,
) -> Starlette:
    """The stand-in over a world.

    With `changes_per_minute` the world changes by itself while the application's lifespan lasts. `differences` are what
    another build of the register does otherwise, `sleep` lets time pass where an answer is slow. `app.state` has
    `world`, `faults`, `log` (a `RequestLog`), `eudamed` and `drift` (a `DriftLayer`).
    """
    faults = Faults() if faults is None else faults
    rng = Random(seed)
    eudamed = Eudamed(world, basic_udi_filter_works=basic_udi_filter_works)
    services = Starlette(
        routes=[
            Mount("/eudamed", routes=eudamed.routes()),
            Mount("/datalake", routes=DataLake(world, datalake_lag).routes()),
        ],
        exception_handlers={HTTPException: query_error},
    )
    drift = DriftLayer(services, differences)
    log = RequestLog(_refusing_python(FaultLayer(drift, faults, world, sleep)))
    app = Starlette(
        routes=[Mount("/_control", routes=Control(world, rng, drift, faults).routes()), Mount("/", app=log)],
        lifespan=_changing_by_itself(world, log, rng, changes_per_minute),
    )
    app.state.world, app.state.faults, app.state.log = world, faults, log
    app.state.eudamed, app.state.drift = eudamed, drift
    return app


def _refusing_python(app: ASGIApp) -> ASGIApp:
    """502 for a User-Agent that starts with `python`, as the live gateway answers."""

    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        refused = Headers(scope=scope).get("user-agent", "").lower().startswith("python")
        await (HTMLResponse(gateway_page("502 Bad Gateway"), 502) if refused else app)(scope, receive, send)

    return check


def _change_once(world: World, log: RequestLog, rng: Random) -> None:
    """One change; as often as not of a device that was read lately, so that who watches sees something."""
    recent = log.recent_devices() if rng.random() < _RECENTLY_READ_SHARE else []
    make_random_changes(world, rng, 1, recent)


def _changing_by_itself(
    world: World, log: RequestLog, rng: Random, changes_per_minute: float
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    async def keep_changing() -> None:
        while True:
            await anyio.sleep(60 / changes_per_minute)
            _change_once(world, log, rng)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            if changes_per_minute > 0:
                tasks.start_soon(keep_changing)
            yield
            tasks.cancel_scope.cancel()

    return lifespan


def serve(
    *,
    records: Path | None = None,
    devices: int = 20_000,
    seed: int = 1,
    host: str = "127.0.0.1",
    port: int = 8100,
    changes_per_minute: float = 0,
    differences: Iterable[Difference] = (),
) -> None:
    """Serve over HTTP until interrupted: the register of a file of records, or without a file a generated one."""
    world = FileWorld(records) if records else GeneratedWorld(devices, seed)
    app = create_app(world, changes_per_minute=changes_per_minute, seed=seed, differences=differences)
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False)
