"""The interface of the outbox, which takes events in the transaction that stores them and delivers them later."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.platform.db.run_uncancelled import run_uncancelled
from registerwatch.register.observation import ReadContext
from registerwatch.watches.models import Event


class Outbox(Protocol):
    """Takes events. The events of a batch are one delivery to each target of an account."""

    async def put(
        self, connection: AsyncConnection, batch: str, events: Mapping[int, Sequence[Event]], *, due_at: int, now: int
    ) -> None:
        """Take events, by account, for a delivery that is due at `due_at`, or when its batch is released."""

    async def release(self, batch: str) -> None:
        """Deliver the events held until the end of the batch."""


@asynccontextmanager
async def release_at_end(context: ReadContext, outbox: Outbox) -> AsyncIterator[None]:
    """A context for a run of reads: the delivery held for it is released when it ends or fails."""
    try:
        yield
    finally:
        await run_uncancelled(_end(context, outbox))


async def _end(context: ReadContext, outbox: Outbox) -> None:
    await context.close()
    await outbox.release(context.batch)
