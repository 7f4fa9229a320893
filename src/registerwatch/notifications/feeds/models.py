"""Feeds: a token in an address gives access to one account's changes, and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from registerwatch.accounts.ended_period import EndedPeriod
from registerwatch.watches.events.event_pages import GroupPage
from registerwatch.watches.models import Expiring, HealthState, Watch

MAX_FEEDS = 10
TOKEN_PREFIX = "ft_"  # noqa: S105  # how tokens begin


class Feed(msgspec.Struct, frozen=True):
    """A token that works until it is ended. `prefix` is the masked token."""

    id: int
    prefix: str
    created_at: int


class FeedHolder(msgspec.Struct, frozen=True):
    """The feed of a token, and the account that it shows."""

    feed: Feed
    account_id: int
    expires_at: int

    def ended(self, now: float) -> EndedPeriod | None:
        """The end of the account's period; None while it runs."""
        return EndedPeriod.of(self.account_id, self.expires_at, now)


@dataclass(frozen=True, slots=True)
class NewFeed:
    """A feed that was just made: the only time that its token is shown."""

    feed: Feed
    token: str = field(repr=False)


class FeedPage(msgspec.Struct, frozen=True):
    """A page of a feed: events by cause. The first page of everything also has the watches that are not healthy.
    `ended` is set where the account's period is over, so that its watches bring no events.
    """

    feed: Feed
    page: GroupPage
    unhealthy: Sequence[tuple[Watch, HealthState]] = ()
    ended: EndedPeriod | None = None
    is_first: bool = True


class CalendarContent(msgspec.Struct, frozen=True):
    """The content of a calendar: certificates that end soon; watches of which some may be missing or outdated; the end
    of the account's period, where it is over.
    """

    items: Sequence[Expiring]
    unsure: Sequence[Watch] = ()
    ended: EndedPeriod | None = None
