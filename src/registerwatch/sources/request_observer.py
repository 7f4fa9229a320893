"""Observers of requests while they are made: commands that show them, recordings, the log."""

from collections.abc import Mapping
from typing import Protocol

import httpx2
import msgspec
import structlog

from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.budget_parts import RequestPriority

log = structlog.get_logger(__name__)


class Retry(msgspec.Struct, frozen=True):
    """A failed request that is about to be repeated after `seconds`, or, where the register throttles (None), when the
    request budget allows it.
    """

    priority: RequestPriority
    failure: RegisterFailure
    seconds: float | None
    tries_left: int

    @property
    def words(self) -> str:
        """The failure and the next step, in a sentence without its end."""
        tries = f"{self.tries_left} {'try' if self.tries_left == 1 else 'tries'} left"
        if self.seconds is None:
            return f"{self.failure.reason.rstrip('.')}; trying again when it allows, {tries}"
        return f"{self.failure.reason.rstrip('.')}; trying again in {self.seconds:.3g} s, {tries}"


class RequestObserver(Protocol):
    """Is called for each request while it is made. Its methods return at once."""

    def asks(self, url: str) -> None:
        """A request waits for its slot in the budget, and is sent."""

    def answered(self, url: str, params: Mapping[str, str], response: httpx2.Response) -> None:
        """A response came, of any kind."""

    def failed(self, retry: Retry) -> None:
        """A request failed, and is repeated."""


class RetryLog:
    """Logs repeated requests of bulk loads, whose pauses take minutes."""

    def asks(self, url: str) -> None:
        """Nothing to log."""

    def answered(self, url: str, params: Mapping[str, str], response: httpx2.Response) -> None:
        """Nothing to log."""

    def failed(self, retry: Retry) -> None:
        """One line."""
        if retry.priority is RequestPriority.BULK_LOAD:
            log.warning(
                "the register is asked again",
                reason=retry.failure.reason,
                seconds=retry.seconds,
                tries_left=retry.tries_left,
            )
