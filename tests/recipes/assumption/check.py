"""The new assumption is looked at with the others, and shown."""

import pytest

from registerwatch.sources.checks.names import CheckName
from registerwatch.sources.checks.outcomes import CheckResult
from tests.support.harness import ServiceHarness

NAME = "key device detail"


@pytest.mark.anyio
async def test_the_assumption_is_looked_at_and_holds(harness: ServiceHarness) -> None:
    looked_at = await harness.service.register_checks.run(lambda _name: None)

    assert looked_at[CheckName(NAME)] == CheckResult(True, "")
