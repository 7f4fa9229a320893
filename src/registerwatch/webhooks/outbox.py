"""Where deliveries are put, in the transaction that stores their events."""

from collections.abc import Iterable

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.webhooks import repository


class WebhookOutbox:
    """Puts deliveries and lets held ones go."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def put(
        self, connection: AsyncConnection, batch: str, account_ids: Iterable[int], *, due_at: int, now: int
    ) -> None:
        """One delivery of the batch to each address of each account, unless it is there already."""
        await repository.put(connection, batch, list(account_ids), due_at=due_at, now=now)

    async def release(self, batch: str) -> None:
        """The run is through: its deliveries go out."""
        async with self._database.transaction() as connection:
            await repository.release(connection, batch, int(self._clock.now()))
