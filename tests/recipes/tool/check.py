"""The new tool answers."""

import pytest

from tests.mcp.messages import used
from tests.register.builders import UDI
from tests.support.harness import ServiceHarness


@pytest.mark.anyio
async def test_the_tool_answers(harness: ServiceHarness) -> None:
    read = (await used(harness, "parse_code", code=UDI)).payload

    assert UDI in [each["value"] for each in read["candidates"]]
