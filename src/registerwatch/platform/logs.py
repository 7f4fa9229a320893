"""Logs: one line per event, for people or for collectors."""

import logging
import sys
from collections.abc import Callable
from typing import Literal, TextIO

import structlog

NOISY = ("httpx2", "httpcore2", "alembic", "uvicorn.access", "stripe")
"""Loggers of libraries, of which only warnings are kept."""
WINDOW_SECONDS = 60.0
"""How long lines are counted together, so that a flood of events leaves few of them."""


class _StandardError(logging.StreamHandler[TextIO]):
    """Writes to the present standard error: a progress bar replaces it, and stays below what is logged."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


_SHARED: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
_PROCESSORS = [*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter]
"""One list for every call: loggers that were used before keep it, so that a capture of logs has theirs, too."""


def set_up(log_format: Literal["text", "json"]) -> None:
    """Send everything that is logged, by us and by libraries, to standard error in one format."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    handler = _StandardError()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_SHARED,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                renderer,
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
    for name in NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)
    structlog.configure(
        processors=_PROCESSORS,
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


class LinesPerMinute:
    """Counts lines; the first line of the next minute has the number left out."""

    def __init__(self, max_lines: int, now: Callable[[], float]) -> None:
        self._max_lines = max_lines
        self._now = now
        self._window_ends = 0.0
        self._lines = self._left_out = 0

    def take(self) -> int | None:
        """How many lines were left out before this one; None where this one is left out, too."""
        now = self._now()
        if not now < self._window_ends <= now + WINDOW_SECONDS:  # a clock that was set back begins a new minute, too
            self._window_ends, self._lines = now + WINDOW_SECONDS, 0
        if self._lines >= self._max_lines:
            self._left_out += 1
            return None
        left_out, self._left_out = self._left_out, 0
        self._lines += 1
        return left_out
