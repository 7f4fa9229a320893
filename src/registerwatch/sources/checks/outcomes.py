"""Outcomes of checks: the source answered as relied on, it answered otherwise, or it did not answer."""

from collections.abc import Collection, Mapping

import msgspec

from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.checks.names import CheckName

MAX_FOUND = 500
"""The most characters of a result."""
NO_SUBJECT = "There was no record to look at."


class CheckResult(msgspec.Struct, frozen=True):
    """A check's result: whether the answer is as relied on, and a sentence or a value.

    `note` names a value that this release was not verified with, though nothing relies on it.
    """

    is_ok: bool
    found: str = ""
    note: str = ""


class Unanswered(msgspec.Struct, frozen=True):
    """The source did not answer, or its answer had nothing to check; that proves nothing."""

    reason: str


Outcome = CheckResult | Unanswered


class NothingToLookAt(Exception):
    """The source answered, but with nothing by which a check could be judged. `str()` is a sentence."""


class KnownBefore(msgspec.Struct, frozen=True):
    """Values that the answers of a run are compared with.

    `labelled` are the codes that have a label, `stored` those of records that were stored last, `totals` the last ones.
    `certified` is the uuid of a device record that lists certificates, `""` where none is known.
    """

    labelled: Mapping[CheckName, Collection[str]] = msgspec.field(default_factory=dict)
    stored: Mapping[CheckName, Collection[str]] = msgspec.field(default_factory=dict)
    totals: Mapping[CheckName, int] = msgspec.field(default_factory=dict)
    certified: str = ""


def found(is_ok: bool, sentence: str = "") -> CheckResult:
    """A result; its sentence is cut where it is too long to be stored."""
    return CheckResult(is_ok, sentence[:MAX_FOUND])


def outcome_of(failure: RegisterFailure) -> Outcome:
    """The outcome of a check whose request failed: a refusal is another answer, silence is none."""
    did_answer = failure.is_asked and not (failure.transient or failure.is_unreachable)
    return found(False, failure.reason) if did_answer else Unanswered(failure.reason[:MAX_FOUND])
