"""Mails owners once a day which channels fail, and pauses those that failed for five days.

A channel is paused right after the mail that says so. Where a process is killed in between, the mail of the next day
says it again: a channel is paused only after an owner was mailed, unless there is no address to mail.
"""

from collections.abc import Sequence

import msgspec
import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository as account_repository
from registerwatch.accounts.audit.audit import SERVICE, Action
from registerwatch.accounts.limits.mail_limits import MailLimit, take_slot
from registerwatch.accounts.repository import StoredUser
from registerwatch.accounts.validation import one_line
from registerwatch.errors import MailNotSent
from registerwatch.mail.mailer import Mailer
from registerwatch.mail.texts import channels_failing
from registerwatch.notifications.models import PAUSED_AS_FAILING, Target
from registerwatch.notifications.targets import channel_repository, target_repository
from registerwatch.notifications.targets.target_changes import shown_name
from registerwatch.platform.clock import Clock, in_words
from registerwatch.platform.db.engine import Database

HOUR, DAY = 3_600, 86_400
FIRST_HOUR = 6
"""Hour of a day (UTC) before which no mail is sent."""
REPORTED_AFTER_SECONDS = HOUR
"""A channel that fails for less may work again by itself: a receiver that starts anew does."""
RECENT_SECONDS = 2 * DAY
"""A channel to which nothing was sent for longer is not reported again."""
GIVEN_UP_SECONDS = 5 * DAY
MAX_ERROR_LENGTH = 200

log = structlog.get_logger(__name__)


class FailingChannels(msgspec.Struct, frozen=True):
    """The channels of an account that an owner is mailed about; those given up are paused with it."""

    failing: Sequence[Target]
    given_up: Sequence[Target]


def is_given_up(target: Target, now: int) -> bool:
    """Whether it failed for five days: since then, and on more than one day."""
    if target.failing_since is None or target.last_at is None:
        return False
    return target.failing_since <= now - GIVEN_UP_SECONDS and target.last_at >= target.failing_since + DAY


def failing_channels(targets: Sequence[Target], now: int) -> FailingChannels:
    """The targets of an account to report."""
    on = [each for each in targets if each.is_on]
    given_up = [each for each in on if is_given_up(each, now)]
    failing = [
        each
        for each in on
        if each not in given_up
        and each.failing_since is not None
        and each.failing_since <= now - REPORTED_AFTER_SECONDS
        and (each.last_at or 0) >= now - RECENT_SECONDS
    ]
    return FailingChannels(failing, given_up)


class ChannelUpkeep:
    """Checks the channels of all accounts. Any number of nodes may do it at once: a day has one mail."""

    def __init__(self, database: Database, clock: Clock, mailer: Mailer, *, public_url: str) -> None:
        self._database = database
        self._clock = clock
        self._mailer = mailer
        self._public_url = public_url

    async def run(self) -> None:
        """Mail owners who were not mailed today, and pause given-up channels."""
        now = int(self._clock.now())
        if now % DAY < FIRST_HOUR * HOUR:
            return
        async with self._database.reading() as connection:
            account_ids = await channel_repository.accounts_with_failing(connection, now - REPORTED_AFTER_SECONDS)
        for account_id in account_ids:
            await self._look_after(account_id, now)

    async def _look_after(self, account_id: int, now: int) -> None:
        async with self._database.reading() as connection:
            found = failing_channels(await channel_repository.of_account(connection, account_id), now)
            owners = await self._owners(connection, account_id)
        if not found.failing and not found.given_up:
            return
        if not owners or await self._mail(account_id, owners, found, now):
            for target in found.given_up:
                await self._pause(target, now)

    async def _owners(self, connection: AsyncConnection, account_id: int) -> Sequence[StoredUser]:
        """The owners to mail."""
        if not self._mailer.is_set_up:
            return ()
        return [each for each in await account_repository.owners(connection, account_id) if each.is_confirmed]

    async def _mail(self, account_id: int, owners: Sequence[StoredUser], found: FailingChannels, now: int) -> bool:
        """Mail those who were not mailed today; returns whether one was."""
        was_mailed = False
        for owner in owners:
            async with self._database.transaction() as connection:
                is_first = await take_slot(connection, now, MailLimit.FAILING_CHANNELS, f"{account_id} {owner.email}")
            if not is_first:
                continue
            failing, given_up = (
                [_line(each, owner.time_zone) for each in part] for part in (found.failing, found.given_up)
            )
            try:
                await self._mailer.send(channels_failing(owner.email, self._public_url, failing, given_up))
                was_mailed = True
            except MailNotSent as error:
                log.error("an owner could not be told of failing channels", account=account_id, reason=str(error))
        return was_mailed

    async def _pause(self, target: Target, now: int) -> None:
        """Pause a target that is still given up."""
        async with self._database.transaction() as connection:
            if await account_repository.lock_account(connection, target.account_id) is None:
                return
            await channel_repository.lock(connection, target.account_id, target.id)
            present = await target_repository.by_id(connection, target.account_id, target.id)
            if present is None or present.paused_at is not None or not is_given_up(present, now):
                return
            paused = {"paused_at": now, "paused_reason": PAUSED_AS_FAILING}
            await target_repository.change(connection, target.account_id, target.id, paused)
            await channel_repository.drop_waiting(connection, target.account_id, target.id, now)
            await account_repository.note(
                connection,
                target.account_id,
                now,
                SERVICE,
                Action.CHANNEL_CHANGED,
                f"{shown_name(target)}: paused, as it failed for five days",
            )
        log.info("paused a channel that failed for five days", account=target.account_id, channel=target.channel)


def _line(target: Target, zone: str) -> tuple[str, str]:
    """A channel, and since when and why it fails."""
    since = in_words(target.failing_since or 0, zone)
    return shown_name(target), f"since {since}: {one_line(target.last_error or 'not told')[:MAX_ERROR_LENGTH]}"
