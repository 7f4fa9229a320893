"""The first page of the account, as its template shows it."""

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
"""For so long an account counts as new."""


class FirstSteps(msgspec.Struct, frozen=True):
    """What a new account does first, and whether it has."""

    can_mail: bool
    """Whether addresses are confirmed here at all."""
    is_confirmed: bool
    """Whether the address of who looks needs no link any more."""
    watches: bool
    has_email: bool = False
    has_channel: bool = False
    """Whether a program or a chat of the account is told."""
    has_feed: bool = False
    has_colleague: bool = False

    @property
    def channels(self) -> str:
        """What changes are sent by, in words; empty where by nothing."""
        there = ("e-mail", self.has_email), ("channel", self.has_channel), ("feed", self.has_feed)
        return ", ".join(words for words, is_there in there if is_there)

    @property
    def are_done(self) -> bool:
        """Whether nothing is left."""
        return self.is_confirmed and self.watches and bool(self.channels) and self.has_colleague


class Today(msgspec.Struct, frozen=True):
    """What is new for a user."""

    now: int
    overview: WatchOverview
    unseen: UnseenEvents
    changed: Sequence[EventRow]
    """What is shown of the unseen events."""
    channels: int
    failing_channels: Sequence[ListedChannel]
    """Those that need somebody's care."""
    paused_until: int | None
    """Until when all channels wait; None where they do not."""
    has_no_notifications: bool
    copy: CopyState
    must_confirm: bool
    """Whether the address of who looks is still to be confirmed."""
    steps: FirstSteps | None

    @property
    def shown_events(self) -> int:
        """How many events are shown, with those of the same causes."""
        return min(self.unseen.counts.total, sum(row.total for row in self.changed))

    @property
    def shows_all(self) -> bool:
        """Whether the user has seen all that is not shown."""
        return self.shown_events == self.unseen.counts.total < MAX_COUNTED

    @property
    def severities(self) -> list[tuple[str, int]]:
        """How many events the user has not seen, by severity, without those of which there are none."""
        return [(each.value, number) for each in EventSeverity if (number := self.unseen.counts.by_severity[each])]

    @property
    def states(self) -> list[tuple[str, str, int]]:
        """States that watches are in, with words for a sentence and how many are; those that the register lists no more
        are not among those that it never listed.
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
        """A count that ends at a bound."""
        return f"{count:,}" if count < MAX_COUNTED else f"{MAX_COUNTED:,} or more"

    @staticmethod
    def called(listed: ListedChannel) -> str:
        """What a channel is called, or where it leads, without what its address may keep secret."""
        return listed.target.name or destination_of(listed.target)
