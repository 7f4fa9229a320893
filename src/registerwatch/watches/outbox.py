"""The outbox as watches see it: events go in, in the transaction that stores them; somebody else delivers them."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.platform.db.run_uncancelled import run_uncancelled
from registerwatch.register.observation import ReadContext
from registerwatch.watches.models import Event


class Outbox(Protocol):
    """Takes events. Those of one batch reach each of an account's addresses in one delivery."""

    async def put(
        self, connection: AsyncConnection, batch: str, events: Mapping[int, Sequence[Event]], *, due_at: int, now: int
    ) -> None:
        """Take events, by account, for a delivery that is due at `due_at`, or when its batch is released."""

    async def release(self, batch: str) -> None:
        """Deliver what was held until the end of the batch."""


@asynccontextmanager
async def release_at_end(context: ReadContext, outbox: Outbox) -> AsyncIterator[None]:
    """A run of reads: at its end, however it comes, the delivery that was held for it is released."""
    try:
        yield
    finally:
        await run_uncancelled(_end(context, outbox))


async def _end(context: ReadContext, outbox: Outbox) -> None:
    await context.close()
    await outbox.release(context.batch)
