"""Makes and ends feeds, and reads their content."""

import asyncio
import secrets
from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository as account_repository
from registerwatch.accounts.audit.audit import Action
from registerwatch.accounts.ended_period import EndedPeriod
from registerwatch.accounts.models import Caller
from registerwatch.accounts.notices import AccountNotices, NoticeKind, no_notices
from registerwatch.accounts.repository import locked
from registerwatch.errors import CapReached, Unauthenticated
from registerwatch.mail.mailer import Mail
from registerwatch.notifications.feeds import repository
from registerwatch.notifications.feeds.models import (
    MAX_FEEDS,
    TOKEN_PREFIX,
    CalendarContent,
    Feed,
    FeedHolder,
    FeedPage,
    NewFeed,
)
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.watches import repository as watch_repository
from registerwatch.watches.events.event_pages import EventFilter
from registerwatch.watches.events.event_repository import newest_groups
from registerwatch.watches.models import OVERDUE_AFTER, HealthState, Watch
from registerwatch.watches.questions.expiring_certificates import expiring, unsure

MAX_TOKEN_LENGTH = 100
SHOWN_ENTRIES = 100
ENDED = "This feed's address is not valid, or was ended. Make a new feed."


class FeedService:
    """Operations of an account on its feeds, and reads by anybody with an address."""

    def __init__(self, database: Database, clock: Clock, notices: AccountNotices | None = None) -> None:
        self._notices = notices or no_notices(clock)
        self._database = database
        self._clock = clock
        self.rendering = asyncio.Lock()
        """Held while a calendar is made: one at a time, so that many of them slow others no more than one."""

    async def all(self, caller: Caller) -> Sequence[Feed]:
        """The account's feeds, oldest first."""
        async with self._database.reading() as connection:
            return await repository.of_account(connection, caller.account.id)

    async def add(self, caller: Caller) -> NewFeed:
        """Make a feed. Raises `CapReached`."""
        token = TOKEN_PREFIX + secrets.token_urlsafe(32)
        prefix = f"{token[: len(TOKEN_PREFIX) + 2]}…{token[-4:]}"
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            if len(await repository.of_account(connection, caller.account.id)) >= MAX_FEEDS:
                raise CapReached(f"An account has at most {MAX_FEEDS} feeds; end one first.")
            now = int(self._clock.now())
            feed = await repository.add(connection, caller.account.id, prefix=prefix, token=token, now=now)
            await self._note(connection, caller, Action.FEED_MADE, prefix)
            notices = await self._notices.prepare(connection, caller, NoticeKind.FEEDS, f"made the feed {prefix}")
        self._notices.send(notices)
        return NewFeed(feed, token)

    async def end(self, caller: Caller, feed_id: int) -> None:
        """End a feed of the account, if it is one."""
        async with self._database.transaction() as connection:
            await locked(connection, caller)
            prefix = await repository.remove(connection, caller.account.id, feed_id)
            notices: Sequence[Mail] = ()
            if prefix is not None:
                await self._note(connection, caller, Action.FEED_ENDED, prefix)
                notices = await self._notices.prepare(connection, caller, NoticeKind.FEEDS, f"ended the feed {prefix}")
        self._notices.send(notices)

    async def events(self, token: str, chosen: EventFilter, *, before: int | None = None) -> FeedPage:
        """A page of the changes of the token's account, newest first. Raises `Unauthenticated`."""
        now = self._clock.now()
        async with self._database.reading() as connection:
            holder = await _holder(connection, token)
            page = await newest_groups(connection, holder.account_id, SHOWN_ENTRIES, chosen, before=before)
            is_everything = before is None and chosen == EventFilter()
            watches = await watch_repository.of_account(connection, holder.account_id) if is_everything else ()
        ended = holder.ended(now)
        unhealthy = [(watch, state) for watch in watches if _is_shown(watch, state := watch.health(now), ended)]
        return FeedPage(holder.feed, page, unhealthy, ended, is_first=before is None)

    async def account_of(self, token: str) -> int:
        """The account of a feed's token. Raises `Unauthenticated`."""
        async with self._database.reading() as connection:
            return (await _holder(connection, token)).account_id

    async def expiring(self, token: str) -> CalendarContent:
        """The content of the calendar of the token's account. Raises `Unauthenticated`."""
        async with self._database.reading() as connection:
            holder = await _holder(connection, token)
            watches = await watch_repository.of_account(connection, holder.account_id)
        now = self._clock.now()
        items = await asyncio.to_thread(expiring, watches, now)  # the states of many certificates take time
        return CalendarContent(items, unsure(watches), holder.ended(now))

    async def _note(self, connection: AsyncConnection, caller: Caller, action: Action, subject: str) -> None:
        await account_repository.note_by(connection, caller, int(self._clock.now()), action, subject)


def _is_shown(watch: Watch, state: HealthState, ended: EndedPeriod | None) -> bool:
    """Whether a feed has an entry for a watch: it is not healthy, and not only unread since the period ended."""
    if state == "overdue" and ended is not None:
        return watch.unread_since + OVERDUE_AFTER < ended.at
    return state not in ("ok", "unread")


async def _holder(connection: AsyncConnection, token: str) -> FeedHolder:
    """The feed of a token and its account."""
    holder = await repository.of_token(connection, token[:MAX_TOKEN_LENGTH])
    if holder is None:
        raise Unauthenticated(ENDED)
    return holder
