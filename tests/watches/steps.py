"""Steps of tests about watches: what the next sync would list, what the recheck would read, a read held half-way."""

import asyncio

import httpx2

from registerwatch.accounts.models import Caller
from registerwatch.db.tables import watches
from registerwatch.notifications import repository as webhook_repository
from registerwatch.watches import repository
from tests.support.harness import ServiceHarness


async def add_webhook(harness: ServiceHarness, caller: Caller) -> int:
    """Give the account a webhook."""
    async with harness.database.transaction() as connection:
        return await webhook_repository.add(
            connection, caller.account.id, url="https://a.example", secret="whsec_1", is_first=True, now=0
        )


async def take_awaiting(harness: ServiceHarness, caller: Caller) -> list[str]:
    """The summaries that the account's next sync would list; they count as listed now."""
    async with harness.database.transaction() as connection:
        return [event.summary for event in await repository.take_awaiting(connection, caller.account.id)]


async def due_subjects(harness: ServiceHarness, limit: int = 100) -> list[str]:
    """Subjects in the order that the recheck reads them."""
    async with harness.database.reading() as connection:
        return [each.subject for each in await repository.due(connection, harness.now, limit)]


async def tried_at(harness: ServiceHarness) -> list[int]:
    """When each watch was tried last."""
    return [row["tried_at"] for row in await harness.rows(watches)]


class HeldTransport(httpx2.AsyncBaseTransport):
    """Leads to the register. A test holds some requests back, or has them meet a defect."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner
        self.held: set[str] = set()
        """Parts of addresses; a request for such an address waits until `let` is set."""
        self.broken: set[str] = set()
        """Parts of addresses; a request for such an address meets a defect."""
        self.reached, self.let = asyncio.Event(), asyncio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Carry one request."""
        address = str(request.url)
        if any(part in address for part in self.broken):
            raise LookupError("a defect that nobody thought of")
        if any(part in address for part in self.held):
            self.reached.set()
            await self.let.wait()
        return await self._inner.handle_async_request(request)
