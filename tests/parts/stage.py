"""The whole service in one process, over a stand-in register in the same process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
from fastapi import FastAPI

from registerwatch.app import app_over
from registerwatch.bootstrap import Service, build_service, running
from registerwatch.register.eudamed.requests import Patience
from registerwatch.register.pacing import Priority
from registerwatch.sandbox.register.app import create_app as create_register
from registerwatch.sandbox.register.faults import Faults
from registerwatch.sandbox.register.generated import GeneratedWorld
from registerwatch.sandbox.register.layers.logged import RequestLog
from registerwatch.sandbox.register.transport import InProcessTransport
from registerwatch.sandbox.register.world import World
from registerwatch.settings import Settings
from tests.parts.clocks import SteppedClock

REGISTER = "http://register.test"
IMPATIENT = {priority: Patience(tries=2, pause=0.1, limit=30.0) for priority in Priority}


@dataclass(frozen=True, slots=True)
class Stage:
    """What a test plays with."""

    service: Service
    app: FastAPI
    client: httpx2.AsyncClient
    world: World
    faults: Faults
    clock: SteppedClock
    log: RequestLog

    async def level(self) -> None:
        """Bring the index up to the copy."""
        await self.service.follower.catch_up()

    async def settle(self) -> None:
        """Let refreshes behind readers' backs end."""
        await self.service.refresher.settled()

    async def fill(self) -> None:
        """Fill the copy from the stand-in's Data Lake, and index it."""
        await self.service.mirror.from_datalake(self.service.datalake, lambda _progress: None)
        await self.level()

    async def get(self, path: str, **params: str | int) -> httpx2.Response:
        """An answer of the service."""
        return await self.client.get(path, params=params)


@asynccontextmanager
async def on_stage(
    database_url: str,
    data_dir: Path,
    *,
    world: World | None = None,
    basic_udi_filter_works: bool = True,
    **overrides: object,
) -> AsyncIterator[Stage]:
    """A service that runs. `overrides` are settings; rate limits are off unless asked for."""
    world = world or GeneratedWorld(120, seed=7)
    faults, clock = Faults(), SteppedClock()
    register_app = create_register(world, faults, basic_udi_filter_works=basic_udi_filter_works)
    values = {
        "data_dir": data_dir,
        "database_url": database_url,
        "register_url": f"{REGISTER}/eudamed",
        "datalake_url": f"{REGISTER}/datalake",
        "register_requests_per_minute": 100_000,
        "register_timeout": 5.0,
        "rate_limits": False,
        **overrides,
    }
    service = build_service(
        Settings(**values),  # type: ignore[arg-type]  # values are checked by the settings
        clock=clock,
        transport=InProcessTransport(register_app),
        patience=IMPATIENT,
    )
    app = app_over(service)
    async with running(service):
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://service.test") as client:
            yield Stage(service, app, client, world, faults, clock, register_app.state.log)
