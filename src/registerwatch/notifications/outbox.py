"""Where deliveries are put, in the transaction that stores their events."""

import asyncio
from collections.abc import Collection

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.errors import DatabaseUnavailable
from registerwatch.notifications import repository

log = structlog.get_logger(__name__)

AGAIN_SECONDS = 5.0
"""After which letting deliveries go is tried again, where the database did not answer."""


class Outbox:
    """Puts deliveries and lets held ones go."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._releasing: set[asyncio.Task[None]] = set()

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
        """The run is through: its deliveries go out. Where the database does not answer, they do as soon as it does."""
        try:
            await self._release(batch)
        except DatabaseUnavailable as error:
            log.warning("deliveries wait for the database", batch=batch, error=str(error))
            task = asyncio.create_task(self._release_at_last(batch), name=f"release {batch}")
            self._releasing.add(task)
            task.add_done_callback(self._releasing.discard)

    async def close(self) -> None:
        """Leave what could not be let go: it is due by itself when the time for which it was held is over."""
        for task in self._releasing:
            task.cancel()
        await asyncio.gather(*self._releasing, return_exceptions=True)

    async def _release_at_last(self, batch: str) -> None:
        while True:
            await asyncio.sleep(AGAIN_SECONDS)
            try:
                await self._release(batch)
            except DatabaseUnavailable:
                continue
            return

    async def _release(self, batch: str) -> None:
        async with self._database.transaction() as connection:
            await repository.release(connection, batch, int(self._clock.now()))
