"""Log lines for refusals and unexpected errors: few of them, however many there are."""

import time
from collections.abc import Callable

import structlog

from registerwatch.accounts.models import Caller
from registerwatch.platform.logs import LinesPerMinute

MAX_LINES = 10
MAX_DENIALS = 60
MAX_ERRORS = 60

log = structlog.get_logger(__name__)


class RefusalLog:
    """Logs invalid requests."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._lines = LinesPerMinute(MAX_LINES, now)

    def note(self, client: str, status: int, code: str, request_id: str) -> None:
        """Log a refusal, unless there were many."""
        left_out = self._lines.take()
        if left_out is not None:
            log.warning(
                "refused what is no proper request",
                client=client,
                status=status,
                code=code,
                request_id=request_id,
                left_out=left_out,
            )


class DenialLog:
    """Logs callers without the needed rights."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._lines = LinesPerMinute(MAX_DENIALS, now)

    def note(self, caller: Caller, client: str, *, what: str, code: str) -> None:
        """Log a denial, unless there were many. `what` is a route or a tool; users and keys are logged by number."""
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


class ErrorLog:
    """Logs unexpected errors with their tracebacks."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._lines = LinesPerMinute(MAX_ERRORS, now)

    def note(self, error: Exception, **where: str) -> None:
        """Log an error, unless there were many. `where` is a path or a tool."""
        left_out = self._lines.take()
        if left_out is not None:
            log.error("unexpected error", **where, left_out=left_out, exc_info=error)
