"""The stand-in's time, which can run ahead of everybody else's."""

from collections.abc import Callable

Clock = Callable[[], float]
"""Unix seconds."""


class AdjustableClock:
    """Another clock, and the time that was let pass here alone."""

    def __init__(self, base: Clock) -> None:
        self.base = base
        self.ahead = 0.0

    def __call__(self) -> float:
        """Unix seconds."""
        return self.base() + self.ahead

    def move_on(self, seconds: float) -> None:
        """Run ahead by so much more. Raises `ValueError` for the way back."""
        if seconds < 0:
            raise ValueError("time does not run backwards")
        self.ahead += seconds
