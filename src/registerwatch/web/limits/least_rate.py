"""How fast bodies and answers have to go that keep something from others, such as a place or memory."""

GRACE_SECONDS, MIN_BYTES_A_SECOND = 5.0, 64 * 1024


class LeastRate:
    """Whether what goes piece by piece is fast enough as a whole, after a while in which it may be slower."""

    def __init__(self) -> None:
        self.seconds_left = GRACE_SECONDS
        """For which the other side may send or take nothing."""

    def note(self, length: int, seconds: float) -> None:
        """The other side has sent or taken so many bytes, for which it had so long."""
        self.seconds_left += length / MIN_BYTES_A_SECOND - seconds
