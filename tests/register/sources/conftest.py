"""The client over a stand-in register, and the sender of requests over canned answers. SQLite is enough for both."""

from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from registerwatch.db.engine import Database
from registerwatch.register.sources.request_budget import Priority, RequestBudget
from registerwatch.register.sources.requests import Patience, RegisterRequests
from tests.conftest import RECORDS
from tests.support.clocks import SteppedClock

PATIENCE = {priority: Patience(tries=3, pause=1.0, limit=60.0) for priority in Priority}

Sender = Callable[..., RegisterRequests]


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
        patience: dict[Priority, Patience] | None = None,
        per_minute: int = 1_000,
    ) -> RegisterRequests:
        return RegisterRequests(
            httpx2.AsyncClient(transport=transport),
            RequestBudget(database, per_minute, clock),
            user_agent=user_agent,
            timeout=timeout,
            patience=patience or PATIENCE,
        )

    return make


@pytest.fixture
def captures() -> Path:
    """The folder of real replies; the test is skipped where it is missing."""
    folder = RECORDS.parents[1] / "upstream" / "captures"
    if not folder.exists():
        pytest.skip("the captures of real replies are not here")
    return folder
