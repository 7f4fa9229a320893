"""The state of a target, and users' rights on it. Pure."""

from collections.abc import Sequence
from enum import StrEnum

from registerwatch.accounts.models import Caller, Role
from registerwatch.notifications.choices import Frequency
from registerwatch.notifications.models import Target


class ChannelState(StrEnum):
    """The state of a target."""

    OFF = "off"
    PAUSED = "paused"
    BLOCKED = "blocked"
    """Nothing can be sent there at present."""
    FAILING = "failing"
    WORKING = "working"
    """The last delivery was accepted."""
    UNUSED = "unused"
    """Nothing was sent yet."""


class Access(StrEnum):
    """A user's rights on a target."""

    FULL = "full"
    SILENCE = "silence"
    """See it, turn it off, remove it."""
    NONE = "none"


def state_of(target: Target, problem: str | None) -> ChannelState:
    """The state of a target; `problem` is why nothing can be sent to it."""
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
    """A caller's rights on a target of their account. An owner can only silence the address of another user: that user
    alone decides whether they get changes again.
    """
    is_owner = caller.role is Role.OWNER
    if target.user_id is None:
        return Access.FULL if is_owner else Access.NONE
    if target.user_id == caller.user_id:
        return Access.FULL
    return Access.SILENCE if is_owner else Access.NONE


def has_recipient(targets: Sequence[Target]) -> bool:
    """Whether one of the targets gets changes."""
    return any(each.is_on for each in targets)
