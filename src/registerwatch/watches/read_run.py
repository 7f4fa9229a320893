"""Runs: many subjects read for one cause, whose changes reach an address in one delivery."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from registerwatch.db.run_uncancelled import to_its_end
from registerwatch.register.observation import Cause


class HeldOutbox(Protocol):
    """Where the deliveries of a run wait for its end."""

    async def release(self, batch: str) -> None:
        """Let them go out."""


@asynccontextmanager
async def run(cause: Cause, outbox: HeldOutbox) -> AsyncIterator[None]:
    """The length of one run: at its end, however it comes, the delivery that was held back goes out."""
    try:
        yield
    finally:
        await to_its_end(_ended(cause, outbox))


async def _ended(cause: Cause, outbox: HeldOutbox) -> None:
    await cause.close()
    await outbox.release(cause.batch)
