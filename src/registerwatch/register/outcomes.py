"""The three results of a read: found, not found, could not be read. They are never mixed up."""

from dataclasses import dataclass
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Found(Generic[Thing]):
    """The register has it."""

    value: Thing


@dataclass(frozen=True, slots=True)
class NotFound:
    """The register answered, and has no such record."""


@dataclass(frozen=True, slots=True)
class ReadFailed:
    """The register could not be read; nothing follows from it. `reason` is a sentence for a person."""

    reason: str


class RegisterFailure(Exception):
    """Why one request to the register brought no usable answer.

    `passing` tells whether the same request may work a moment later. `throttled` tells that the register wants fewer
    requests, `retry_after` for how many seconds, if it said.
    """

    def __init__(
        self, reason: str, *, passing: bool = False, throttled: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.passing = passing
        self.throttled = throttled
        self.retry_after = retry_after


class NoSuchRecord(Exception):
    """The register redirected to its page-not-found route: it has no such record."""
