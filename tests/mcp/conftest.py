"""A filled service without a background, and an account."""

from collections.abc import AsyncIterator

import pytest

from tests.conftest import StageMaker
from tests.support.stage import SignedUp, Stage


@pytest.fixture
async def stage(staged: StageMaker) -> AsyncIterator[Stage]:
    async with staged(background=False) as stage:
        await stage.fill()
        yield stage


@pytest.fixture
async def owner(stage: Stage) -> SignedUp:
    return await stage.sign_up()
