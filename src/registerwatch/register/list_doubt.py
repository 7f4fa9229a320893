"""When the register's count of a manufacturer's devices contradicts what is known so far that it is doubted. Pure."""

DOUBT_SECONDS = 24 * 3600
"""So long lists of a manufacturer's devices are doubted that go on contradicting what is known."""


def is_too_short(total: int, known: int | None) -> bool:
    """Whether a list has fewer than nine tenths of the devices that are known; never where none is."""
    return total * 10 < (known or 0) * 9


def doubted_since(asked_at: int, doubted_at: int | None) -> int:
    """When the first of the lists was asked for that have been doubted ever since: the one of `asked_at` at the latest,
    whatever became of the clock.
    """
    return asked_at if doubted_at is None else min(doubted_at, asked_at)


def is_believed(asked_at: int, since: int) -> bool:
    """Whether lists have been doubted for so long that it is what is known that is wrong."""
    return asked_at - since >= DOUBT_SECONDS
