"""Feeds: a token in an address lets a reader see one account's changes, and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from registerwatch.watches.event_listing import GroupPage
from registerwatch.watches.models import HealthState, Watch

MAX_FEEDS = 10
TOKEN_PREFIX = "ft_"  # noqa: S105  # how tokens begin


class Feed(msgspec.Struct, frozen=True):
    """A token that works until somebody ends it. `prefix` is the masked token."""

    id: int
    prefix: str
    created_at: int


@dataclass(frozen=True, slots=True)
class NewFeed:
    """A feed that was just made: the only time that its token is told."""

    feed: Feed
    token: str = field(repr=False)


class FeedPage(msgspec.Struct, frozen=True):
    """A page of a feed: events by cause. The first page of everything has the watches, too, that are not healthy."""

    feed: Feed
    page: GroupPage
    unhealthy: Sequence[tuple[Watch, HealthState]] = ()
