"""Where deliveries are put, in the transaction that stores their events."""

from collections.abc import Collection

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
        self, connection: AsyncConnection, batch: str, account_ids: Collection[int], *, due_at: int, now: int
    ) -> Collection[int]:
        """One delivery of the batch to each address of each account, unless it is there already.

        Gives the accounts that one is on its way to already, which takes nothing along any more.
        """
        if not account_ids:
            return ()
        await repository.put(connection, batch, list(account_ids), due_at=due_at, now=now)
        return await repository.begun(connection, batch, list(account_ids))

    async def release(self, batch: str) -> None:
        """The run is through: its deliveries go out."""
        async with self._database.transaction() as connection:
            await repository.release(connection, batch, int(self._clock.now()))
