"""Log lines of what is refused: with the client's address, and few of them however many there are."""

import time
from collections.abc import Callable

import structlog

from registerwatch.accounts.models import Caller

MAX_LINES = 10
MAX_DENIALS = 60
WINDOW_SECONDS = 60.0

log = structlog.get_logger(__name__)


class LinesPerMinute:
    """Counts lines; the first line of the next minute says how many were left out."""

    def __init__(self, max_lines: int, now: Callable[[], float]) -> None:
        self._max_lines = max_lines
        self._now = now
        self._window_ends = 0.0
        self._lines = self._left_out = 0

    def take(self) -> int | None:
        """How many lines were left out before this one; None where this one is left out, too."""
        if self._now() >= self._window_ends:
            self._window_ends, self._lines = self._now() + WINDOW_SECONDS, 0
        if self._lines >= self._max_lines:
            self._left_out += 1
            return None
        left_out, self._left_out = self._left_out, 0
        self._lines += 1
        return left_out


class RefusalLog:
    """Logs what is no proper request."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._lines = LinesPerMinute(MAX_LINES, now)

    def note(self, client: str, status: int, code: str) -> None:
        """Log a refusal, unless there were many."""
        left_out = self._lines.take()
        if left_out is not None:
            log.warning("refused what is no proper request", client=client, status=status, code=code, left_out=left_out)


class DenialLog:
    """Logs who asked for what they may not do."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._lines = LinesPerMinute(MAX_DENIALS, now)

    def note(self, caller: Caller, client: str, *, what: str, code: str) -> None:
        """Log a denial, unless there were many. `what` is a route or a tool; users and keys are told by number."""
        left_out = self._lines.take()
        if left_out is not None:
            log.warning(
                "a caller may not do this",
                what=what,
                code=code,
                account=caller.account.id,
                user=caller.user_id,
                key=caller.key_id,
                client=client,
                left_out=left_out,
            )
