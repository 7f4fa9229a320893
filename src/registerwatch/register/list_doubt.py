"""Doubt about lists of a manufacturer's devices that contradict the stored ones: how long it lasts. Pure."""

DOUBT_SECONDS = 24 * 3600
"""Lists that contradict the stored devices are doubted for this long."""
MAX_GAP_SECONDS = 2 * DOUBT_SECONDS
"""After a longer time without a list the doubt begins anew: what a list would have shown is unknown."""


def doubted_since(asked_at: int, doubted_at: int | None, looked_at: int | None) -> int:
    """When the first of the lists that are doubted ever since was requested: at `asked_at` at the latest, whatever
    happened to the clock. The list before was read at `looked_at`.
    """
    if doubted_at is None or asked_at - (looked_at or 0) > MAX_GAP_SECONDS:
        return asked_at
    return min(doubted_at, asked_at)


def is_believed(asked_at: int, since: int) -> bool:
    """Whether the lists were doubted long enough to believe them instead of the stored devices."""
    return asked_at - since >= DOUBT_SECONDS
