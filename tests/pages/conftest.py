"""A site over made-up registrations, which the stand-in register has too."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from registerwatch_standins.register.filed import FiledWorld
from tests.conftest import StageMaker
from tests.support.stage import Stage

SiteMaker = Callable[..., AbstractAsyncContextManager[Stage]]


@pytest.fixture(params=["sqlite"])
def database_kind(request: pytest.FixtureRequest) -> str:
    """Pages never meet a database themselves; one kind is enough."""
    return str(request.param)


@pytest.fixture
def site(staged: StageMaker, tmp_path: Path) -> SiteMaker:
    """Makes a site whose copy holds these registrations: `async with site(registration("04012345000016")) as stage`."""

    @asynccontextmanager
    async def made(*registrations: dict[str, Any], **settings: object) -> AsyncIterator[Stage]:
        path = tmp_path / "registrations.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in registrations))
        async with staged(world=FiledWorld(path), **settings) as stage:
            await stage.service.bulk_loader.from_file(path, lambda _progress: None)
            await stage.level()
            yield stage
            await stage.settle()

    return made
