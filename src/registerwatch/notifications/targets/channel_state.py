"""How a target does, and who may do what with it. Pure."""

from collections.abc import Sequence
from enum import StrEnum

from registerwatch.accounts.models import Caller, Role
from registerwatch.notifications.choices import Frequency
from registerwatch.notifications.models import Target


class ChannelState(StrEnum):
    """How a target does."""

    OFF = "off"
    PAUSED = "paused"
    BLOCKED = "blocked"
    """Nothing can be sent there as it is."""
    FAILING = "failing"
    WORKING = "working"
    """The last delivery was accepted."""
    UNUSED = "unused"
    """Nothing was sent yet."""


class Access(StrEnum):
    """What somebody may do with a target."""

    FULL = "full"
    SILENCE = "silence"
    """See it, turn it off, remove it."""
    NONE = "none"


def state_of(target: Target, problem: str | None) -> ChannelState:
    """How a target does; `problem` is why nothing can be sent to it."""
    if target.choice.frequency is Frequency.OFF:
        return ChannelState.OFF
    if target.paused_at is not None:
        return ChannelState.PAUSED
    if problem is not None:
        return ChannelState.BLOCKED
    if target.last_ok is None:
        return ChannelState.UNUSED
    return ChannelState.WORKING if target.last_ok else ChannelState.FAILING


def access_to(target: Target, caller: Caller) -> Access:
    """What a caller may do with a target of their account. An owner silences the address of another user, and no more:
    whether somebody is told of changes again is up to them.
    """
    is_owner = caller.role is Role.OWNER
    if target.user_id is None:
        return Access.FULL if is_owner else Access.NONE
    if target.user_id == caller.user_id:
        return Access.FULL
    return Access.SILENCE if is_owner else Access.NONE


def tells_somebody(targets: Sequence[Target]) -> bool:
    """Whether one of the targets is told of changes."""
    return any(each.is_on for each in targets)
