"""The loop that keeps this node's search index in step with the copy."""

from registerwatch.background.run_forever import run_forever
from registerwatch.register.search.indexer import Indexer

IDLE_SECONDS = 0.5


async def run_indexer(indexer: Indexer) -> None:
    """Follow until cancelled, whatever goes wrong (a full disk, a lost database)."""
    await run_forever(indexer.catch_up, every=IDLE_SECONDS, problem="the search index does not follow the copy")
