"""The client over a stand-in register, and the sender of requests over canned answers. SQLite is enough for both."""

from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from registerwatch.platform.db.engine import Database
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.sources.request_budget import RequestBudget
from registerwatch.sources.request_pace import PaceLimits
from registerwatch.sources.requests import RegisterHttpClient, RetryPolicy
from tests.support.captures import SHARED
from tests.support.fakes import SteppedClock

RETRY_POLICIES = {priority: RetryPolicy(tries=3, pause=1.0, limit=60.0) for priority in RequestPriority}

Sender = Callable[..., RegisterHttpClient]


@pytest.fixture
def database_kind() -> str:
    """What is asked of the register does not depend on the database."""
    return "sqlite"


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def sender(database: Database, clock: SteppedClock) -> Sender:
    """Makes a sender of requests: `sender(transport, timeout=…)`."""

    def make(
        transport: httpx2.AsyncBaseTransport,
        *,
        timeout: float = 5.0,
        user_agent: str = "Registerwatch/1.0 (+https://example.org)",
        retry_policies: dict[RequestPriority, RetryPolicy] | None = None,
        per_minute: int = 1_000,
    ) -> RegisterHttpClient:
        return RegisterHttpClient(
            httpx2.AsyncClient(transport=transport),
            RequestBudget(database, PaceLimits(per_minute, start=per_minute), clock),
            user_agent=user_agent,
            timeout=timeout,
            retry_policies=retry_policies or RETRY_POLICIES,
        )

    return make


@pytest.fixture
def captures() -> Path:
    """The folder of real replies; the test is skipped where it is missing."""
    if not SHARED.exists():
        pytest.skip("the captures of real replies are not here")
    return SHARED
