"""The worker of one process: many deliveries at once, few to each target, so that a slow one delays no other."""

import asyncio
import time

import structlog

from registerwatch.notifications.delivery.delivery import MAX_CONCURRENT, DeliveryService
from registerwatch.notifications.repository import ClaimedDelivery, FinishedDelivery
from registerwatch.platform.db.run_uncancelled import run_uncancelled
from registerwatch.platform.leases import LeaseLost

IDLE_SECONDS = 0.5
IDLE_MAIL_SECONDS = 2.0
"""A mail waits for further events in any case."""
MIN_FREE_SHARE = 4
"""With a quarter of its capacity free the worker claims at once, with less every half second: a claim is a statement.
"""
CLOSING_SECONDS = 17.0
"""The longest time of all attempts of a delivery with their pauses, which the end of the process waits for."""

log = structlog.get_logger(__name__)


class DeliveryWorker:
    """Claims deliveries, sends them side by side, and stores their results, many in one statement."""

    def __init__(
        self, deliveries: DeliveryService, most: int = MAX_CONCURRENT, idle_seconds: float = IDLE_SECONDS
    ) -> None:
        self._deliveries = deliveries
        self._most = most
        self._idle_seconds = idle_seconds
        self._under_way: set[asyncio.Task[FinishedDelivery | None]] = set()
        self._ended: list[FinishedDelivery] = []
        self._claimed_at = 0.0

    async def step(self) -> None:
        """Claim as many as there is capacity for, wait until some have ended, store their results.

        Unstored results are stored before anything else: they would be claimed again. A cancellation takes effect
        between statements only, so what is claimed is sent, and what has ended is stored once.
        """
        await run_uncancelled(self._store_ended())
        free = self._most - len(self._under_way)
        claimed = 0
        if free >= self._most // MIN_FREE_SHARE or (free and time.monotonic() - self._claimed_at >= self._idle_seconds):
            claimed = await run_uncancelled(self._claim(free))
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=self._idle_seconds, return_when=asyncio.FIRST_COMPLETED)
            await run_uncancelled(self._store_ended())
        elif not claimed:
            await asyncio.sleep(self._idle_seconds)

    async def end(self) -> None:
        """Finish what is under way."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=CLOSING_SECONDS)
        await self._store_ended()

    async def _claim(self, free: int) -> int:
        self._claimed_at = time.monotonic()
        claimed = await self._deliveries.claim(free)
        self._under_way |= {asyncio.create_task(self._deliver(each)) for each in claimed}
        return len(claimed)

    async def _store_ended(self) -> None:
        """Store results. Where the database refuses, `_ended` keeps them for the next call."""
        done = {task for task in self._under_way if task.done()}
        self._ended += [result for task in done if (result := task.result()) is not None]
        self._under_way -= done
        if self._ended:
            await self._deliveries.store(self._ended)
            self._ended = []

    async def _deliver(self, claimed: ClaimedDelivery) -> FinishedDelivery | None:
        """Deliver; None after an unexpected error: it is sent again after its lease, perhaps twice."""
        try:
            return await self._deliveries.deliver(claimed)
        except LeaseLost:
            log.warning("a delivery took longer than its lease", delivery=claimed.delivery.id)
            return None
        except Exception:
            log.exception("a delivery failed unexpectedly", delivery=claimed.delivery.id)
            return None
