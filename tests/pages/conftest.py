"""A site over made-up registrations, which the stand-in register has too."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from registerwatch_standins.register.file_world import FileWorld
from tests.support.harness import ServiceHarness, running_harness

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

    from tests.pages.browser_site import Served

SiteMaker = Callable[..., AbstractAsyncContextManager[ServiceHarness]]


@pytest.fixture(params=["sqlite"])
def database_kind(request: pytest.FixtureRequest) -> str:
    """Pages never meet a database themselves; one kind is enough."""
    return str(request.param)


@asynccontextmanager
async def running_site(
    database_url: str, folder: Path, *registrations: dict[str, Any], **settings: Any
) -> AsyncIterator[ServiceHarness]:
    """A service whose copy holds these registrations."""
    path = folder / "registrations.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in registrations))
    async with running_harness(database_url, folder, world=FileWorld(path), **settings) as harness:
        await harness.service.bulk_loader.load(harness.service.bulk_source(str(path)), lambda _progress: None)
        await harness.update_index()
        yield harness
        await harness.finish_background_work()


@pytest.fixture
def site(database_url: str, tmp_path: Path) -> SiteMaker:
    """Starts a service whose copy holds these: `async with site(registration("04012345000016")) as harness`."""
    return partial(running_site, database_url, tmp_path)


@pytest.fixture
def context(browser: "Browser", served: "Served") -> Iterator["BrowserContext"]:
    """A fresh visitor of the site that a module serves."""
    visitor = browser.new_context(base_url=served.address)
    visitor.set_default_timeout(10_000)
    yield visitor
    visitor.close()
