"""Fixtures of the tests of lists."""

import pytest

from tests.files.lists.steps import ListSteps
from tests.support.harness import ServiceHarness


@pytest.fixture
async def lists(harness: ServiceHarness) -> ListSteps:
    """What an account with an operator's plan does with its lists."""
    return ListSteps(harness, await harness.sign_up())
