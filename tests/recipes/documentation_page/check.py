"""The new page is shown and linked."""

import pytest

from tests.support.harness import ServiceHarness


@pytest.mark.anyio
async def test_the_page_is_shown_and_linked(harness: ServiceHarness) -> None:
    assert 'href="/docs/languages"' in (await harness.get("/docs")).text
    assert "the language in which they were registered" in (await harness.get("/docs/languages")).text
