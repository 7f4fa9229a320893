"""The loop that delivers what is due: many at once, few to each address, so that a slow receiver delays no other."""

import asyncio
import time

import structlog

from registerwatch.background.run_forever import run_forever
from registerwatch.db.run_uncancelled import run_uncancelled
from registerwatch.notifications.delivery import MAX_CONCURRENT, DeliveryService
from registerwatch.notifications.repository import ClaimedDelivery, FinishedDelivery

IDLE_SECONDS = 0.5
ROOM_TO_CLAIM = MAX_CONCURRENT // 4
"""Room from which on claiming is worth a statement at once; less room is filled every half second."""
CLOSING_SECONDS = 17.0
"""What three attempts with their pauses can take: deliveries under way end well before the process does."""

log = structlog.get_logger(__name__)


async def deliver_due(deliveries: DeliveryService) -> None:
    """Claim and deliver until cancelled; what is under way then is finished first."""
    worker = _Worker(deliveries)
    try:
        await run_forever(worker.step, every=0.0, problem="deliveries stand still")
    finally:
        await run_uncancelled(worker.end())


class _Worker:
    """What one process has under way. Ends are stored together: a statement for many."""

    def __init__(self, deliveries: DeliveryService) -> None:
        self._deliverer = deliveries
        self._under_way: set[asyncio.Task[FinishedDelivery | None]] = set()
        self._ended: list[FinishedDelivery] = []
        self._claimed_at = 0.0

    async def step(self) -> None:
        """Claim where there is room, wait for some to end, store how they did.

        What could not be stored is stored before anything else: it would be claimed again. A cancellation comes between
        statements: what is claimed is sent, and what is stored is stored once.
        """
        await run_uncancelled(self._store_ended())
        room = MAX_CONCURRENT - len(self._under_way)
        claimed = 0
        if room >= ROOM_TO_CLAIM or (room and time.monotonic() - self._claimed_at >= IDLE_SECONDS):
            claimed = await run_uncancelled(self._claim(room))
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=IDLE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            await run_uncancelled(self._store_ended())
        elif not claimed:
            await asyncio.sleep(IDLE_SECONDS)

    async def end(self) -> None:
        """Finish what is under way."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=CLOSING_SECONDS)
        await self._store_ended()

    async def _claim(self, room: int) -> int:
        self._claimed_at = time.monotonic()
        claimed = await self._deliverer.claim(room)
        self._under_way |= {asyncio.create_task(_deliver(self._deliverer, each)) for each in claimed}
        return len(claimed)

    async def _store_ended(self) -> None:
        """What cannot be stored stays under way, and is stored with the next ones."""
        done = {task for task in self._under_way if task.done()}
        self._ended += [result for task in done if (result := task.result()) is not None]
        if self._ended:
            await self._deliverer.store(self._ended)
            self._ended = []
        self._under_way -= done


async def _deliver(deliveries: DeliveryService, claimed: ClaimedDelivery) -> FinishedDelivery | None:
    """Its lease brings a delivery back whose end is not known: the receiver may get it twice."""
    try:
        return await deliveries.deliver(claimed)
    except Exception:
        log.exception("a delivery failed unexpectedly", delivery=claimed.delivery.id)
        return None
