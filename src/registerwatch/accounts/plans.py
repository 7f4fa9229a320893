"""Plans and their caps."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from registerwatch.errors import CapReached


class PlanName(StrEnum):
    """The plans there are."""

    TRIAL = "trial"
    STANDARD = "standard"
    OPERATOR = "operator"


class Plan(msgspec.Struct, frozen=True):
    """The caps of a plan: watches, users, API keys that are not revoked, lines of all saved lists together, seconds of
    the processor that may be used in an hour for what the account sends to be read, and bytes of files that wait to be
    read or kept.
    """

    name: PlanName
    watches: int
    users: int
    keys: int
    lines: int
    work_seconds: int
    file_bytes: int


MIB = 1024 * 1024
UNCONFIRMED_WORK_SECONDS, UNCONFIRMED_FILE_BYTES = 40, 2 * MIB
"""The same of a trial of which no owner has confirmed their address, where that is possible."""


def keep_cap(present: int, cap: int, what: str) -> None:
    """Raise `CapReached` where one more would be too many."""
    if present >= cap:
        raise CapReached(f"The plan allows {cap:,} {what}, and the account has as many.")


Plans = Mapping[PlanName, Plan]


def plans(trial_watch_cap: int) -> Plans:
    """The table of plans."""
    table = (
        Plan(PlanName.TRIAL, trial_watch_cap, users=10, keys=10, lines=5_000, work_seconds=120, file_bytes=20 * MIB),
        Plan(PlanName.STANDARD, 250, users=10, keys=10, lines=50_000, work_seconds=900, file_bytes=50 * MIB),
        Plan(PlanName.OPERATOR, 2_500, users=25, keys=25, lines=250_000, work_seconds=1_800, file_bytes=50 * MIB),
    )
    return {plan.name: plan for plan in table}
