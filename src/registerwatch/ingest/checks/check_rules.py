"""Rules of checks: when they run, what a result changes, and which list depends on which check. Pure."""

from collections.abc import Collection, Iterable, Mapping
from enum import Enum

import msgspec

from registerwatch.platform.clock import CLOCK_DIFFERENCE_SECONDS
from registerwatch.platform.structs import replace
from registerwatch.register.codes import (
    ACTOR_STATUS_PREFIX,
    CERTIFICATE_STATUS_PREFIX,
    CERTIFICATE_STATUSES,
    LEGISLATION_PREFIX,
    RISK_PREFIX,
    STATUS_BY_CODE,
)
from registerwatch.sources.checks.names import CheckName
from registerwatch.sources.checks.outcomes import CheckResult, KnownBefore, Outcome

HOUR_SECONDS = 3_600
DAY_SECONDS = 24 * 3_600
RETRY_SECONDS = 300
"""A check that failed or got no answer runs again after this long."""

_RISKS = "class-i class-iia class-iib class-iii class-a class-b class-c class-d"
_LEGACY_RISKS = "aimdd ivd-general ivd-annex-ii-list-a ivd-annex-ii-list-b ivd-devices-self-testing"


def _codes(prefix: str, segments: str) -> frozenset[str]:
    return frozenset(prefix + segment for segment in segments.split())


KNOWN_CODES: Mapping[CheckName, frozenset[str]] = {
    CheckName.STATUS_CODES: frozenset(STATUS_BY_CODE),
    CheckName.RISK_CODES: _codes(RISK_PREFIX, f"{_RISKS} {_LEGACY_RISKS}"),
    CheckName.LEGISLATION_CODES: _codes(LEGISLATION_PREFIX, "mdr ivdr mdd aimdd ivdd"),
    CheckName.CERTIFICATE_STATUS_CODES: _codes(CERTIFICATE_STATUS_PREFIX, " ".join(CERTIFICATE_STATUSES)),
    CheckName.ACTOR_STATUS_CODES: _codes(ACTOR_STATUS_PREFIX, "active inactive"),
}
"""The codes that have a label, by the check that looks for others."""


class CheckedList(Enum):
    """A list from which records are stored."""

    NEWEST_DEVICES = "the newest registrations"
    DEVICES_OF_MANUFACTURER = "the devices of a manufacturer"
    DEVICES_BY_DI = "the records of a UDI-DI"
    CERTIFICATES = "the certificates"
    REFUSALS = "the refused applications"
    NOTIFIED_BODIES = "the notified bodies"
    DATA_LAKE = "the devices of the Data Lake"


RELIED_ON: Mapping[CheckedList, frozenset[CheckName]] = {
    CheckedList.NEWEST_DEVICES: frozenset({CheckName.LIST_DEVICES, CheckName.DEVICE_ROW}),
    CheckedList.DEVICES_OF_MANUFACTURER: frozenset(
        {CheckName.FILTER_SRN, CheckName.LIST_DEVICES, CheckName.DEVICE_ROW}
    ),
    CheckedList.DEVICES_BY_DI: frozenset({CheckName.FILTER_PRIMARY_DI, CheckName.DEVICE_ROW}),
    CheckedList.CERTIFICATES: frozenset({CheckName.LIST_CERTIFICATES, CheckName.CERTIFICATE_ROW}),
    CheckedList.REFUSALS: frozenset({CheckName.LIST_REFUSALS, CheckName.REFUSAL_ROW}),
    CheckedList.NOTIFIED_BODIES: frozenset({CheckName.NOTIFIED_BODY}),
    CheckedList.DATA_LAKE: frozenset({CheckName.DATA_LAKE_ROW}),
}
"""Nothing of a list is stored while one of these checks has failed."""

GATES = frozenset[CheckName]().union(*RELIED_ON.values())


class RegisterCheck(msgspec.Struct, frozen=True):
    """The state of one check. Instants are unix seconds.

    `looked_at` is the last run, `checked_at` the last one with an answer, and `is_ok` its result; both None before the
    first. While no answers come, `unanswered_since` is the first run without one and `reason` its cause.
    """

    name: CheckName
    looked_at: int = 0
    checked_at: int | None = None
    is_ok: bool | None = None
    found: str = ""
    changed_at: int | None = None
    unanswered_since: int | None = None
    reason: str = ""


KnownChecks = Mapping[CheckName, RegisterCheck]


def due_checks(known: KnownChecks, names: Iterable[CheckName], now: int) -> set[CheckName]:
    """The checks that are due. Codes and totals are checked with the lists that show them."""
    own = (name for name in names if not name.is_of_codes and not name.is_of_total)
    return {name for name in own if name not in known or _is_due(known[name], now)}


def _is_due(check: RegisterCheck, now: int) -> bool:
    return not now - _seconds_between(check, now) < check.looked_at <= now + CLOCK_DIFFERENCE_SECONDS


def _seconds_between(check: RegisterCheck, now: int) -> int:
    """Seconds from the last run of a check to the next."""
    if check.is_ok is False and check.name in GATES:
        return RETRY_SECONDS
    if check.unanswered_since is not None:
        return RETRY_SECONDS if now - check.unanswered_since < HOUR_SECONDS else HOUR_SECONDS
    return HOUR_SECONDS if check.is_ok is False or check.name is CheckName.BUILD else DAY_SECONDS


def is_new_build(known: KnownChecks, build: Outcome) -> bool:
    """Whether the register has another build than at the last run."""
    last = known[CheckName.BUILD].found if CheckName.BUILD in known else ""
    return isinstance(build, CheckResult) and bool(last) and build.found != last


def known_before(known: KnownChecks, stored: Mapping[CheckName, Collection[str]], certified: str) -> KnownBefore:
    """The values that a run compares answers with: `stored` are the codes of records that were stored last."""
    totals = {name: int(check.found) for name, check in known.items() if name.is_of_total and check.found.isdigit()}
    return KnownBefore(KNOWN_CODES, stored, totals, certified)


def after(check: RegisterCheck, outcome: Outcome, now: int) -> RegisterCheck:
    """The state of a check after a run. A run without an answer keeps the last result."""
    if not isinstance(outcome, CheckResult):
        since = check.unanswered_since if check.unanswered_since is not None else now
        return replace(check, looked_at=now, unanswered_since=since, reason=outcome.reason)
    seen = RegisterCheck(check.name, now, now, outcome.is_ok, outcome.found, check.changed_at)
    return replace(seen, changed_at=now) if check.checked_at is not None and is_news(check, seen) else seen


def is_news(before: RegisterCheck, seen: RegisterCheck) -> bool:
    """Whether a run found something else than the last one. A total that goes on growing is not news."""
    return seen.is_ok != before.is_ok or (seen.found != before.found and not seen.name.is_of_total)


def problem_of(listing: CheckedList, known: KnownChecks) -> str | None:
    """The reason why nothing of a list may be stored now; None where no check forbids it."""
    failed = [known[name] for name in sorted(RELIED_ON[listing]) if name in known and known[name].is_ok is False]
    if not failed:
        return None
    return f"The register answers differently than before ({failed[0].name.value}: {failed[0].found})"
