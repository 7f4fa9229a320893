"""A filled service without a background, and an account."""

from collections.abc import AsyncIterator

import pytest

from tests.support.harness import ServiceHarness, ServiceStarter


@pytest.fixture
async def harness(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    async with start_service() as harness:
        await harness.fill_copy()
        yield harness
