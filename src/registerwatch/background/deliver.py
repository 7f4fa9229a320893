"""The loop that delivers what is due."""

from registerwatch.background.run_forever import run_forever
from registerwatch.db.run_uncancelled import run_uncancelled
from registerwatch.notifications.delivery import DeliveryService
from registerwatch.notifications.worker import DeliveryWorker


async def deliver_due(deliveries: DeliveryService) -> None:
    """Claim and deliver until cancelled; deliveries under way are then finished first."""
    worker = DeliveryWorker(deliveries)
    try:
        await run_forever(worker.step, every=0.0, problem="deliveries stand still")
    finally:
        await run_uncancelled(worker.end())
