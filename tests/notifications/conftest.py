"""A service with a contact, which its requests name."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.harness import ServiceHarness, built_harness


@pytest.fixture
async def harness(database_url: str, tmp_path: Path) -> AsyncIterator[ServiceHarness]:
    async with built_harness(database_url, tmp_path, contact="service@acme.example") as harness:
        yield harness
