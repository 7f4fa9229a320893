"""What a look at a source found.

A check has one of three outcomes: it was looked at and is as relied on, it was looked at and is not, or the source did
not answer.
"""

from collections.abc import Collection, Mapping

import msgspec

from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.checks.names import CheckName

MAX_FOUND = 500
"""Characters of what a check found."""
NO_SUBJECT = "There was no record to look at."


class CheckResult(msgspec.Struct, frozen=True):
    """What a look found: whether it is as relied on, and a sentence or a value.

    `note` says what is another value than this release was verified with, though nothing relies on it.
    """

    is_ok: bool
    found: str = ""
    note: str = ""


class Unanswered(msgspec.Struct, frozen=True):
    """The source did not answer, or showed nothing that could be looked at; it proves nothing."""

    reason: str


Outcome = CheckResult | Unanswered


class NothingToLookAt(Exception):
    """The source answered, and showed nothing by which a check could be judged. `str()` is a sentence."""


class KnownBefore(msgspec.Struct, frozen=True):
    """What is known before a look: what its answers are compared with.

    `labelled` are the codes that have a label, `stored` those of records that were stored last, `totals` the last ones.
    `certified` is the uuid of a device record that lists certificates, `""` where none is known.
    """

    labelled: Mapping[CheckName, Collection[str]] = msgspec.field(default_factory=dict)
    stored: Mapping[CheckName, Collection[str]] = msgspec.field(default_factory=dict)
    totals: Mapping[CheckName, int] = msgspec.field(default_factory=dict)
    certified: str = ""


def found(is_ok: bool, sentence: str = "") -> CheckResult:
    """A result whose sentence is cut where it is too long to be stored."""
    return CheckResult(is_ok, sentence[:MAX_FOUND])


def outcome_of(failure: RegisterFailure) -> Outcome:
    """What a request that failed says of a check: a refusal is another answer than before, silence is none."""
    did_answer = failure.is_asked and not (failure.transient or failure.is_unreachable)
    return found(False, failure.reason) if did_answer else Unanswered(failure.reason[:MAX_FOUND])
