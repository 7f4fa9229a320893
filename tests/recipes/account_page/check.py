"""The new page is reached by the navigation of every other page, and refused without a session."""

import pytest

from tests.pages.account.pages_client import PagesClient
from tests.support.harness import ServiceHarness

PAGE = "/app/deadlines"


@pytest.mark.anyio
async def test_the_page_is_reached_by_navigation_and_refused_without_a_session(harness: ServiceHarness) -> None:
    browser = PagesClient(harness)
    refused = await browser.get(PAGE)
    await browser.sign_up()
    first, page = await browser.get("/app"), await browser.get(PAGE)

    assert (refused.status_code, refused.headers["location"].partition("?")[0]) == (303, "/login")
    assert f'<a href="{PAGE}">Deadlines</a>' in first.text
    assert f'<a href="{PAGE}" aria-current="page">Deadlines</a>' in page.text
    assert "There is no deadline." in page.text
