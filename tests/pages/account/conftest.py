"""Browsers without script."""

from collections.abc import AsyncIterator

import pytest

from tests.pages.account.pages_client import PagesClient
from tests.support.harness import ServiceHarness


@pytest.fixture
async def browser_client(harness: ServiceHarness) -> AsyncIterator[PagesClient]:
    """Somebody who has not signed in."""
    pages = PagesClient(harness)
    yield pages
    await pages.client.aclose()


@pytest.fixture
async def owner_pages(browser_client: PagesClient) -> PagesClient:
    """The owner of a new account."""
    await browser_client.sign_up()
    return browser_client
