"""Input and output of the use cases of channels."""

from collections.abc import Sequence

import msgspec

from registerwatch.notifications.choices import EVERYTHING, Choice
from registerwatch.notifications.models import Target
from registerwatch.notifications.targets.channel_state import Access, ChannelState

MAX_PAUSE_SECONDS = 90 * 24 * 3600
"""The longest pause of an account's notifications."""


class NewChannel(msgspec.Struct, frozen=True):
    """A new target. `url` is empty for the caller's own e-mail address."""

    channel: str
    url: str = ""
    name: str = ""
    choice: Choice = EVERYTHING
    time_zone: str = "UTC"
    repeats: bool = True


class ChannelChange(msgspec.Struct, frozen=True):
    """Changes of a target; None leaves a field as it is."""

    name: str | None = None
    choice: Choice | None = None
    time_zone: str | None = None
    repeats: bool | None = None
    is_paused: bool | None = None


class ListedChannel(msgspec.Struct, frozen=True):
    """A target with a user's rights on it. `problem` is why nothing can be sent there."""

    target: Target
    state: ChannelState
    problem: str | None
    access: Access

    @property
    def needs_care(self) -> bool:
        """Whether somebody should look why nothing arrives there. Not where a person paused it."""
        is_paused = self.state is ChannelState.PAUSED and bool(self.target.paused_reason)
        return is_paused or self.state in (ChannelState.FAILING, ChannelState.BLOCKED)


class ChannelList(msgspec.Struct, frozen=True):
    """The targets that a user may see, and until when all of the account wait; None where they do not."""

    channels: Sequence[ListedChannel]
    paused_until: int | None
