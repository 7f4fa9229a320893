"""The loop that keeps this node's search index in step with the copy."""

from registerwatch.background.run_forever import guarded
from registerwatch.register.search.indexer import IndexFollower

IDLE_SECONDS = 0.5


async def follow_copy(follower: IndexFollower) -> None:
    """Follow until cancelled, whatever goes wrong (a full disk, a lost database)."""
    await guarded(follower.catch_up, every=IDLE_SECONDS, trouble="the search index does not follow the copy")
