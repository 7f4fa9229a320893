"""The data of the first page of the account for its template."""

from collections.abc import Sequence

import msgspec

from registerwatch.copy.records import CopyState
from registerwatch.notifications.targets.channel_models import ListedChannel
from registerwatch.pages.account.channels.choice_words import destination_of
from registerwatch.pages.account.events.event_rows import EventRow
from registerwatch.register.standing import DELISTED
from registerwatch.watches.events.event_marks import MAX_COUNTED, UnseenEvents
from registerwatch.watches.models import EventSeverity
from registerwatch.watches.questions.expiring_certificates import PAST_DAYS
from registerwatch.watches.questions.overview import AHEAD_DAYS, WatchOverview
from registerwatch.watches.watch_states import STATES

NEW_ACCOUNT_SECONDS = 14 * 24 * 3600
"""How long an account counts as new."""


class FirstSteps(msgspec.Struct, frozen=True):
    """The first steps of a new account, and which are done."""

    can_mail: bool
    """Whether addresses are confirmed here."""
    is_confirmed: bool
    """Whether the user's address is confirmed."""
    watches: bool
    has_email: bool = False
    has_channel: bool = False
    """Whether the account has a channel to a program or a chat."""
    has_feed: bool = False
    has_colleague: bool = False

    @property
    def channels(self) -> str:
        """The means by which changes are sent, in words; empty without any."""
        there = ("e-mail", self.has_email), ("channel", self.has_channel), ("feed", self.has_feed)
        return ", ".join(words for words, is_there in there if is_there)

    @property
    def are_done(self) -> bool:
        """Whether all steps are done."""
        return self.is_confirmed and self.watches and bool(self.channels) and self.has_colleague


class Today(msgspec.Struct, frozen=True):
    """The data of the page for a user."""

    now: int
    overview: WatchOverview
    unseen: UnseenEvents
    changed: Sequence[EventRow]
    """The unseen events that are shown."""
    channels: int
    failing_channels: Sequence[ListedChannel]
    """Channels that need attention."""
    paused_until: int | None
    """Until when all channels are paused; None if they are not."""
    has_no_notifications: bool
    copy: CopyState
    must_confirm: bool
    """Whether the user's address must still be confirmed."""
    steps: FirstSteps | None

    @property
    def shown_events(self) -> int:
        """The number of events in the shown rows."""
        return min(self.unseen.counts.total, sum(row.total for row in self.changed))

    @property
    def shows_all(self) -> bool:
        """Whether all unseen events are shown."""
        return self.shown_events == self.unseen.counts.total < MAX_COUNTED

    @property
    def severities(self) -> list[tuple[str, int]]:
        """The number of unseen events by severity, without zeros."""
        return [(each.value, number) for each in EventSeverity if (number := self.unseen.counts.by_severity[each])]

    @property
    def states(self) -> list[tuple[str, str, int]]:
        """The states of watches, with words for a sentence and their numbers. Delisted subjects are separate from those
        that the register never listed.
        """
        delisted = self.overview.delisted
        found = [(state, words, self.overview.count(state)) for state, words in STATES.items() if state != "unknown"]
        unknown = [
            ("unknown", STATES["unknown"], self.overview.count("unknown") - delisted),
            ("unknown", DELISTED[0], delisted),
        ]
        return [(state, words.lower(), number) for state, words, number in [*found, *unknown] if number]

    @property
    def past_days(self) -> int:
        """Days for which a certificate is listed after its end date."""
        return PAST_DAYS

    @property
    def ahead_days(self) -> int:
        """Days for which a certificate is listed before its end date."""
        return AHEAD_DAYS

    @staticmethod
    def number(count: int) -> str:
        """A count, up to its bound."""
        return f"{count:,}" if count < MAX_COUNTED else f"{MAX_COUNTED:,} or more"

    @staticmethod
    def called(listed: ListedChannel) -> str:
        """The name of a channel, or its destination without secrets."""
        return listed.target.name or destination_of(listed.target)
