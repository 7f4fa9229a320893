"""Mails to owners about changes in their account: passwords, keys, members, channels, feeds, second factors.

A user gets a mail about their own sign-in from elsewhere. These mails cannot be switched off.

They go only to proven addresses, after the change was committed, and without secrets. Each kind has a limit of its own,
so that many harmless changes of one kind hide none of another.
"""

from collections.abc import Sequence
from enum import StrEnum
from functools import partial

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.limits.mail_limits import MailLimit, take_slot
from registerwatch.accounts.limits.mail_tasks import MailTasks
from registerwatch.accounts.models import Caller
from registerwatch.accounts.repository import StoredUser
from registerwatch.mail.mailer import Mail, Mailer, NoMailer
from registerwatch.mail.texts import notice, sign_in_notice
from registerwatch.platform.clock import Clock, in_words


class NoticeKind(StrEnum):
    """The subjects of notices."""

    PASSWORD = "password"  # noqa: S105  # the name of a subject
    KEYS = "keys"
    USERS = "users"
    WEBHOOKS = "webhooks"
    CHANNELS = "channels"
    FEEDS = "feeds"
    SECOND_FACTORS = "second factors"
    SIGN_INS = "sign-ins"


class AccountNotices:
    """Mails notices to the owners of an account."""

    def __init__(self, clock: Clock, mailer: Mailer, *, public_url: str) -> None:
        self._clock = clock
        self._mailer = mailer
        self._public_url = public_url
        self.mails = MailTasks("notice")

    async def prepare(
        self, connection: AsyncConnection, caller: Caller, kind: NoticeKind, what: str, *, about: str | None = None
    ) -> Sequence[Mail]:
        """The mails about a caller's action in a transaction, to the owners and to the user with the address `about`.

        Pass them to `send` when it has ended. `what` continues the name of the caller: `made the API key …`.
        """
        return await self.prepare_for(connection, caller.account.id, kind, f"{caller.name} {what}", about=about)

    async def prepare_for(
        self, connection: AsyncConnection, account_id: int, kind: NoticeKind, sentence: str, *, about: str | None = None
    ) -> Sequence[Mail]:
        """The mails about access by a mailed link."""
        if not self._mailer.is_set_up:
            return ()
        now, mails = int(self._clock.now()), []
        for user in await _recipients(connection, account_id, about):
            if await take_slot(connection, now, MailLimit.NOTICE, f"{kind} {user.email} {account_id}"):
                line = f"{in_words(now, user.time_zone)}: {sentence}."
                mails.append(notice(user.email, kind, line, self._public_url, MailLimit.NOTICE.value.mails))
        return mails

    async def prepare_sign_in(self, connection: AsyncConnection, user: StoredUser, what: str) -> Sequence[Mail]:
        """The mail about a sign-in, to its user alone."""
        now, whom = int(self._clock.now()), f"{NoticeKind.SIGN_INS} {user.email} {user.account_id}"
        if not (self._mailer.is_set_up and user.is_confirmed):
            return ()
        if not await take_slot(connection, now, MailLimit.NOTICE, whom):
            return ()
        line = f"{in_words(now, user.time_zone)}: {user.email} {what}."
        return (sign_in_notice(user.email, line, self._public_url, MailLimit.NOTICE.value.mails),)

    def send(self, mails: Sequence[Mail]) -> None:
        """Send prepared mails after the request was answered. Errors are logged."""
        for mail in mails:
            self.mails.start(partial(self._mailer.send, mail))


def no_notices(clock: Clock) -> AccountNotices:
    """Notices that are never sent."""
    return AccountNotices(clock, NoMailer(), public_url="")


async def _recipients(connection: AsyncConnection, account_id: int, about: str | None) -> Sequence[StoredUser]:
    """The owners, and the user with the address `about`, with proven addresses."""
    recipients = [owner for owner in await repository.owners(connection, account_id) if owner.is_confirmed]
    user = None if about is None else await repository.user_by_email(connection, about)
    if user is not None and user.account_id == account_id and user.is_confirmed:
        recipients.append(user)
    return list({each.id: each for each in recipients}.values())
