"""The health of a watch in words, the same on every surface: whether it could be read. Pure.

`watches.standing` has the standing of its subject.
"""

from collections.abc import Mapping

from registerwatch.register.standing import DELISTED, NOT_IN_REGISTER
from registerwatch.watches.models import READ_IN_PART, HealthState, Watch

STATES: Mapping[HealthState, str] = {
    "ok": "Read",
    "failing": "Failing",
    "partial": "Read in part",
    "overdue": "Overdue",
    "unread": "Not read yet",
    "unknown": NOT_IN_REGISTER[0],
}
LAST_READ_FAILED, LAST_READ_IN_PART = "Last read failed", "Last read was in part"
"""For a watch that was read within three days; filters by state find it as `Read`."""


def state_words(watch: Watch, state: HealthState) -> str:
    """The state of a watch in words. A delisted subject is called that. For a watch read within three days, a bad last
    read is shown.
    """
    if watch.is_delisted:
        return DELISTED[0]
    if is_last_read_bad(watch, state):
        return LAST_READ_IN_PART if watch.last_error in READ_IN_PART else LAST_READ_FAILED
    return STATES[state]


def is_last_read_bad(watch: Watch, state: HealthState) -> bool:
    """Whether the last read of a watch failed or was in part, though the watch is still `ok`."""
    return state == "ok" and bool(watch.last_error)
