"""The lowest rate of bodies and answers that keep something from others, such as a slot or memory."""

GRACE_SECONDS, MIN_BYTES_A_SECOND = 5.0, 64 * 1024


class LeastRate:
    """Whether a transfer in pieces is fast enough as a whole, after a time in which it may be slower."""

    def __init__(self) -> None:
        self.seconds_left = GRACE_SECONDS
        """How long the other side may send or take nothing."""

    def note(self, length: int, seconds: float) -> None:
        """Note that the other side sent or took `length` bytes in so much time."""
        self.seconds_left += length / MIN_BYTES_A_SECOND - seconds
