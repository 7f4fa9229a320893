"""Plans and their caps."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from registerwatch.errors import CapReached


class PlanName(StrEnum):
    """All plans."""

    TRIAL = "trial"
    STANDARD = "standard"
    OPERATOR = "operator"


class Plan(msgspec.Struct, frozen=True):
    """The caps of a plan: watches, users, API keys that are not revoked, lines of all saved lists together, seconds of
    processor time in an hour for reading what the account sends, and bytes stored for its lists: files that wait to be
    read or kept, and lines.
    """

    name: PlanName
    watches: int
    users: int
    keys: int
    lines: int
    work_seconds: int
    stored_bytes: int


MIB = 1024 * 1024
UNCONFIRMED_WORK_SECONDS, UNCONFIRMED_STORED_BYTES = 40, 5 * MIB
"""Caps of a trial without an owner with a confirmed address, where confirming is possible."""


def keep_cap(present: int, cap: int, what: str) -> None:
    """Raise `CapReached` where one more would be too many."""
    if present >= cap:
        raise CapReached(f"The plan allows {cap:,} {what}, and the account has as many.")


Plans = Mapping[PlanName, Plan]


def plans(trial_watch_cap: int) -> Plans:
    """The table of plans."""
    table = (
        Plan(PlanName.TRIAL, trial_watch_cap, users=10, keys=10, lines=5_000, work_seconds=120, stored_bytes=40 * MIB),
        Plan(PlanName.STANDARD, 250, users=10, keys=10, lines=50_000, work_seconds=900, stored_bytes=150 * MIB),
        Plan(PlanName.OPERATOR, 2_500, users=25, keys=25, lines=250_000, work_seconds=1_800, stored_bytes=500 * MIB),
    )
    return {plan.name: plan for plan in table}
