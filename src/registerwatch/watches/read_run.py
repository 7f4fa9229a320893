"""Runs: many subjects read for one cause, whose changes reach an address in one delivery."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from registerwatch.db.run_uncancelled import run_uncancelled
from registerwatch.register.observation import ReadContext


class HeldOutbox(Protocol):
    """Where the deliveries of a run wait for its end."""

    async def release(self, batch: str) -> None:
        """Let them go out."""


@asynccontextmanager
async def run(context: ReadContext, outbox: HeldOutbox) -> AsyncIterator[None]:
    """The length of one run: at its end, however it comes, the delivery that was held back goes out."""
    try:
        yield
    finally:
        await run_uncancelled(_ended(context, outbox))


async def _ended(context: ReadContext, outbox: HeldOutbox) -> None:
    await context.close()
    await outbox.release(context.batch)
