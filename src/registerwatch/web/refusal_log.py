"""Log lines of what is no proper request: with the client's address, and few of them however many there are."""

import time
from collections.abc import Callable

import structlog

MAX_LINES = 10
WINDOW_SECONDS = 60.0

log = structlog.get_logger(__name__)


class RefusalLog:
    """Logs the first refusals of every minute; the first line of the next minute says how many were left out."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._window_ends = 0.0
        self._lines = self._left_out = 0

    def note(self, client: str, status: int, code: str) -> None:
        """Log a refusal, unless there were many."""
        if self._now() >= self._window_ends:
            self._window_ends, self._lines = self._now() + WINDOW_SECONDS, 0
        if self._lines >= MAX_LINES:
            self._left_out += 1
            return
        left_out, self._left_out = self._left_out, 0
        self._lines += 1
        log.warning("refused what is no proper request", client=client, status=status, code=code, left_out=left_out)
