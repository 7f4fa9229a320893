"""What several tests of the interface for programs need."""

from collections.abc import AsyncIterator

import pytest

from tests.billing.plain_provider import SETTINGS
from tests.support.harness import ServiceHarness, ServiceStarter


@pytest.fixture
async def whole_service(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    """A service of which every operation can be asked: it takes payments, and posts to this machine."""
    async with start_service(webhooks_allow_private=True, **SETTINGS) as harness:
        yield harness
