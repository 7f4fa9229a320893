"""The three results of a read: found, not found, could not be read. They are kept apart."""

from typing import Generic, TypeVar

import msgspec

Thing = TypeVar("Thing")


class Found(msgspec.Struct, Generic[Thing], frozen=True):
    """The register has the subject."""

    value: Thing


class NotFound(msgspec.Struct, frozen=True):
    """The register answered, and has no such record."""


CERTIFICATES_UNREAD = "The rest was read, but its certificates could not be."
"""The problem of a found device whose certificate search could not be read."""


class ReadFailed(msgspec.Struct, frozen=True):
    """The register could not be read; it proves nothing. `reason` is a sentence for a person.

    It was not even asked where `is_asked` is false: the request budget had no slot in time.
    """

    reason: str
    is_asked: bool = True


class RegisterFailure(Exception):
    """The reason why one request to the register brought no usable answer.

    `transient` says whether the same request may work a moment later. `throttled` says that the register wants fewer
    requests, `retry_after` for how many seconds, if it said. It was not even sent where `is_asked` is false.
    `status` is that of the answer, None where none came. `is_unreachable` says that nothing came from the register
    itself: no connection, or a page of a filter that shuts this address out. Other requests will fail as well.
    """

    def __init__(
        self,
        reason: str,
        *,
        transient: bool = False,
        throttled: bool = False,
        retry_after: float | None = None,
        is_asked: bool = True,
        status: int | None = None,
        is_unreachable: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.transient = transient
        self.throttled = throttled
        self.retry_after = retry_after
        self.is_asked = is_asked
        self.status = status
        self.is_unreachable = is_unreachable


class NoSuchRecord(Exception):
    """The register redirected to its page-not-found route: it has no such record."""
