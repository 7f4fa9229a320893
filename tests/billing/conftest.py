"""A service in which accounts pay."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.billing.plain_provider import SETTINGS
from tests.support.harness import ServiceHarness, built_harness


@pytest.fixture
async def harness(database_url: str, tmp_path: Path) -> AsyncIterator[ServiceHarness]:
    async with built_harness(database_url, tmp_path, **SETTINGS) as harness:
        yield harness
