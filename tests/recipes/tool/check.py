"""The new tool answers."""

import pytest

from tests.mcp.messages import used
from tests.support.harness import ServiceHarness


@pytest.mark.anyio
async def test_the_tool_answers(harness: ServiceHarness) -> None:
    assert (await used(harness, "get_day")).payload == {"day": "2027-01-15"}
