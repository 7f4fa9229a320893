"""How long a list of a manufacturer's devices that contradicts what is known is doubted. Pure."""

DOUBT_SECONDS = 24 * 3600
"""So long lists of a manufacturer's devices are doubted that go on contradicting what is known."""
MAX_GAP_SECONDS = 2 * DOUBT_SECONDS
"""After a longer time without a list the next one begins that time anew: nobody knows what a list would have shown."""


def doubted_since(asked_at: int, doubted_at: int | None, looked_at: int | None) -> int:
    """When the first of the lists was asked for that have been doubted ever since: the one of `asked_at` at the latest,
    whatever became of the clock. The list before it was looked at `looked_at`.
    """
    if doubted_at is None or asked_at - (looked_at or 0) > MAX_GAP_SECONDS:
        return asked_at
    return min(doubted_at, asked_at)


def is_believed(asked_at: int, since: int) -> bool:
    """Whether lists have been doubted for so long that it is what is known that is wrong."""
    return asked_at - since >= DOUBT_SECONDS
