"""The state of a watch in words, the same wherever people read of it: whether it could be read. Pure.

How its subject stands is told by `watches.standing`.
"""

from collections.abc import Mapping

from registerwatch.register.standing import DELISTED
from registerwatch.watches.models import HealthState, Watch

STATES: Mapping[HealthState, str] = {
    "ok": "Read",
    "failing": "Failing",
    "partial": "Read in part",
    "overdue": "Overdue",
    "unread": "Not read yet",
    "unknown": "Not in the register",
}


def state_words(watch: Watch, state: HealthState) -> str:
    """The state of a watch in words; of one whose subject was read once, that it is no longer listed."""
    return DELISTED[0] if watch.is_delisted else STATES[state]
