"""Deletes trials that ended long ago and never paid, after a mail that says so."""

from collections.abc import Sequence

import msgspec
import structlog
from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.deletion import DeletionService
from registerwatch.accounts.plans import PlanName
from registerwatch.accounts.repository import StoredUser
from registerwatch.accounts.tables import accounts, deletion_notices
from registerwatch.billing.tables import subscriptions
from registerwatch.errors import MailNotSent
from registerwatch.mail.mailer import Mailer
from registerwatch.mail.texts import deletion_notice
from registerwatch.platform.clock import Clock, in_words, iso_utc
from registerwatch.platform.db.engine import Database

DAY = 24 * 3600
KEPT_SECONDS = 365 * DAY
"""How long a trial is kept after its end."""
NOTICE_SECONDS = 30 * DAY
"""Time between the mail and the deletion; the same without an address to mail."""
MAX_PER_RUN = 100
"""Accounts that one run announces, and that it deletes: mails are sent one by one."""

log = structlog.get_logger(__name__)


class OldTrial(msgspec.Struct, frozen=True):
    """An account that is announced or deleted."""

    id: int
    expires_at: int


class OldTrialService:
    """Announces deletions, and carries them out a month later. A trial that is prolonged meanwhile stays."""

    def __init__(
        self, database: Database, clock: Clock, mailer: Mailer, deletion: DeletionService, *, public_url: str
    ) -> None:
        self._database = database
        self._clock = clock
        self._mailer = mailer
        self._deletion = deletion
        self._public_url = public_url

    async def run(self) -> None:
        """Delete announced trials, and announce those that are due next."""
        for trial in await self._found(_is_announced(int(self._clock.now()) - NOTICE_SECONDS)):
            await self._delete(trial)
        for trial in await self._found(~_is_announced(int(self._clock.now()))):
            await self._announce(trial)

    async def _found(self, which: ColumnElement[bool]) -> Sequence[OldTrial]:
        found = select(accounts.c.id, accounts.c.expires_at).where(_is_old(int(self._clock.now())), which)
        async with self._database.reading() as connection:
            rows = await connection.execute(found.order_by(accounts.c.expires_at, accounts.c.id).limit(MAX_PER_RUN))
            return [OldTrial(*row) for row in rows]

    async def _delete(self, trial: OldTrial) -> None:
        async def is_still_due(connection: AsyncConnection) -> bool:
            now = int(self._clock.now())
            due = accounts.c.id == trial.id, _is_old(now), _is_announced(now - NOTICE_SECONDS)
            return (await connection.execute(select(accounts.c.id).where(*due))).one_or_none() is not None

        if await self._deletion.delete_where(trial.id, is_still_due):
            log.info("deleted a trial that ended long ago", account=trial.id, ended=iso_utc(trial.expires_at))

    async def _announce(self, trial: OldTrial) -> None:
        """Mail the owners with proven addresses. Where the mail server refuses one, the next run tries again, so that
        each account is announced.
        """
        now = int(self._clock.now())
        try:
            if self._mailer.is_set_up:
                for owner in await self._owners(trial):
                    at = in_words(now + NOTICE_SECONDS, owner.time_zone)
                    await self._mailer.send(deletion_notice(owner.email, self._public_url, at))
        except MailNotSent as error:
            log.error("the deletion of a trial could not be announced", account=trial.id, reason=str(error))
            return
        async with self._database.transaction() as connection:
            if await repository.lock_account(connection, trial.id) is not None:
                await repository.note_period_mail(connection, trial.id, now)

    async def _owners(self, trial: OldTrial) -> Sequence[StoredUser]:
        async with self._database.reading() as connection:
            return [each for each in await repository.owners(connection, trial.id) if each.is_confirmed]


def _is_old(now: int) -> ColumnElement[bool]:
    """A trial that ended a year ago, of an account that never had a subscription."""
    paid = exists().where(subscriptions.c.account_id == accounts.c.id)
    return (accounts.c.plan == PlanName.TRIAL) & (accounts.c.expires_at <= now - KEPT_SECONDS) & ~paid


def _is_announced(before: int) -> ColumnElement[bool]:
    """Whether the deletion was announced by then, for the account's present period: an account that was prolonged after
    a mail gets another one when it has ended again.
    """
    return exists().where(
        deletion_notices.c.account_id == accounts.c.id,
        deletion_notices.c.noticed_at <= before,
        deletion_notices.c.noticed_at >= accounts.c.expires_at + KEPT_SECONDS,
    )
