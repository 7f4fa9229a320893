"""A small generated world at a fixed time, and a client that speaks to the stand-in over it."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest

from registerwatch_standins.register.app import create_app
from registerwatch_standins.register.faults import Faults
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.transport import InProcessTransport
from registerwatch_standins.register.world import World

PAGE: dict[str, str | int] = {
    "page": 0,
    "pageSize": 20,
    "size": 20,
    "iso2Code": "en",
    "languageIso2Code": "en",
}
LANGUAGE = {"languageIso2Code": "en"}
HEADERS = {"user-agent": "registerwatch-tests"}


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = datetime.fromisoformat("2026-10-01T12:00")

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **parts: float) -> None:
        """Let time pass."""
        self.now += timedelta(**parts)


class Register:
    """The stand-in and a client of it."""

    def __init__(self, world: World, client: httpx2.AsyncClient, faults: Faults) -> None:
        self.world = world
        self.client = client
        self.faults = faults

    async def get(self, path: str, **query: Any) -> httpx2.Response:
        """The answer to a request below the interface's base."""
        return await self.client.get(f"/eudamed{path}", params=query)

    async def search(self, **filters: Any) -> dict[str, Any]:
        """A page of the device search."""
        response = await self.get("/devices/udiDiData", **{**PAGE, **filters})
        assert response.status_code == 200, response.text
        page: dict[str, Any] = response.json()
        return page

    async def record(self, path: str, uuid: str) -> dict[str, Any]:
        """A detail or a Basic UDI-DI record."""
        response = await self.get(f"{path}/{uuid}", **LANGUAGE)
        assert response.status_code == 200, response.text
        record: dict[str, Any] = response.json()
        return record


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def world(clock: Clock) -> World:
    return GeneratedWorld(700, seed=5, clock=clock)


@pytest.fixture
async def register(world: World) -> AsyncIterator[Register]:
    faults = Faults()
    async with client_of(world, faults) as client:
        yield Register(world, client, faults)


def client_of(world: World, faults: Faults | None = None, **options: Any) -> httpx2.AsyncClient:
    """A client of the stand-in over a world, in this process."""
    return httpx2.AsyncClient(
        transport=InProcessTransport(create_app(world, faults, **options)),
        base_url="http://register.test",
        headers=HEADERS,
    )
