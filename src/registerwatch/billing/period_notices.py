"""Mails to owners that a trial or another period of their account ends or has ended, and what stops then.

`deletion_notices` has when an account was last mailed about its period; what was due before that was mailed. So a
prolonged period has notices of its own. Of several that came due while no process ran only the last one is sent.
"""

from collections.abc import Sequence
from enum import Enum, auto

import msgspec
import structlog
from sqlalchemy import ColumnElement, and_, case, exists, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.models import Role
from registerwatch.accounts.plans import PlanName
from registerwatch.accounts.tables import accounts, deletion_notices, users
from registerwatch.billing.models import DAY
from registerwatch.billing.provider import ACTIVE, TRIALING
from registerwatch.billing.tables import subscriptions
from registerwatch.mail.mailer import Mailer
from registerwatch.mail.texts import period_notice
from registerwatch.platform.clock import Clock, in_words
from registerwatch.platform.db.engine import Database

FIRST_SECONDS = 7 * DAY
LAST_SECONDS = DAY
"""An owner is mailed this long before the end, and at the end."""
MAX_AGE_SECONDS = 7 * DAY
"""An end that is longer ago is not mailed."""
RENEWED_SECONDS = DAY
"""Seconds after its end before an unrenewed period is mailed: the provider may be late."""
MAX_PER_RUN = 100
"""Accounts of one run: mails are sent one by one."""

log = structlog.get_logger(__name__)


class EndingPeriod(msgspec.Struct, frozen=True):
    """The period of an account that ends soon, or has ended lately (unix seconds)."""

    account_id: int
    plan: str
    expires_at: int


class Owner(msgspec.Struct, frozen=True):
    """An owner with a proven address, and the time zone that they read times in."""

    email: str
    time_zone: str


class Outcome(Enum):
    """Result of the mails of one notice: the first of these that holds for one of the mails."""

    SENT = auto()
    """The mail server took one, or may have taken it."""
    OUT_OF_REACH = auto()
    """The mail server could not be reached, so that no other mail can be sent now."""
    NOT_YET = auto()
    """Another try may help."""
    REFUSED = auto()
    """The mail server refused the recipient or the message for good."""


class PeriodNotices:
    """Mails each notice once, however many processes there are: it is noted before it is sent. Where the mail server
    accepted none of its mails, the next run tries again, unless all were refused for good.
    """

    def __init__(
        self, database: Database, clock: Clock, mailer: Mailer, *, public_url: str, takes_payments: bool
    ) -> None:
        self._database = database
        self._clock = clock
        self._mailer = mailer
        self._public_url = public_url
        self._takes_payments = takes_payments

    async def run(self) -> None:
        """Mail what is due."""
        if not self._mailer.is_set_up:
            return
        now = int(self._clock.now())
        async with self._database.reading() as connection:
            due = await _due(connection, now)
        for period in due:
            if await self._mail(period) is Outcome.OUT_OF_REACH:
                return

    async def _mail(self, period: EndingPeriod) -> Outcome | None:
        """Mail the owners of an account, where that is still due; None where it is not."""
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            await repository.lock_account(connection, period.account_id)
            if not await _due(connection, now, period):
                return None
            owners = await _owners(connection, period.account_id)
            before = await _noticed_at(connection, period.account_id)
            await repository.note_period_mail(connection, period.account_id, now)
        outcomes = {await self._send(period, owner, now) for owner in owners}
        outcome = next((each for each in Outcome if each in outcomes), None)
        if outcome in {Outcome.OUT_OF_REACH, Outcome.NOT_YET}:
            async with self._database.transaction() as connection:
                if await repository.lock_account(connection, period.account_id) is not None:
                    await repository.note_period_mail(connection, period.account_id, before)
        return outcome

    async def _send(self, period: EndingPeriod, owner: Owner, now: int) -> Outcome:
        """Send a notice to an owner. An error does not stop the notices of others."""
        try:
            mail = period_notice(
                owner.email,
                self._public_url,
                in_words(period.expires_at, owner.time_zone),
                is_trial=period.plan == PlanName.TRIAL,
                has_ended=period.expires_at <= now,
                takes_payments=self._takes_payments,
            )
            failure = await self._mailer.send_once(mail, _is_noted)
        except Exception:
            log.exception("the end of a period could not be mailed", account=period.account_id)
            return Outcome.NOT_YET
        if failure is None:
            return Outcome.SENT
        log.error("the end of a period could not be mailed", account=period.account_id, reason=failure.reason)
        if failure.is_uncertain:
            return Outcome.SENT
        if failure.is_of_mail:
            return Outcome.NOT_YET if failure.temporary else Outcome.REFUSED
        return Outcome.OUT_OF_REACH if failure.temporary else Outcome.NOT_YET


async def _is_noted() -> None:
    """Do nothing: the notice was noted before it is sent."""


async def _due(connection: AsyncConnection, now: int, period: EndingPeriod | None = None) -> Sequence[EndingPeriod]:
    """Periods for which a notice is due, the earliest end first; with `period`, only that one if it still is."""
    found = select(accounts.c.id, accounts.c.plan, accounts.c.expires_at).where(_is_due(now))
    if period is not None:
        found = found.where(accounts.c.id == period.account_id, accounts.c.expires_at == period.expires_at)
    rows = await connection.execute(found.order_by(accounts.c.expires_at, accounts.c.id).limit(MAX_PER_RUN))
    return [EndingPeriod(*row) for row in rows]


def _is_due(now: int) -> ColumnElement[bool]:
    """Whether an account is to be mailed about its period: it has an owner to mail, was not mailed since the last
    notice came due, and is not about to be renewed. A notice that was due before the sign-up is left out.
    """
    ends = accounts.c.expires_at
    due_at = case((ends <= now, ends), (ends - LAST_SECONDS <= now, ends - LAST_SECONDS), else_=ends - FIRST_SECONDS)
    was_mailed = exists().where(deletion_notices.c.account_id == accounts.c.id, deletion_notices.c.noticed_at >= due_at)
    is_renewed = exists().where(
        subscriptions.c.account_id == accounts.c.id,
        subscriptions.c.status.in_((TRIALING, ACTIVE)),
        ~subscriptions.c.cancel_at_period_end,
    )
    return and_(
        or_(
            ends <= now,
            *(
                and_(ends <= now + seconds, accounts.c.created_at < ends - seconds)
                for seconds in (LAST_SECONDS, FIRST_SECONDS)
            ),
        ),
        ends > now - MAX_AGE_SECONDS,
        ~was_mailed,
        ~(is_renewed & (ends > now - RENEWED_SECONDS)),
        exists().where(_is_mailed_owner(), users.c.account_id == accounts.c.id),
    )


async def _owners(connection: AsyncConnection, account_id: int) -> Sequence[Owner]:
    found = select(users.c.email, users.c.time_zone).where(users.c.account_id == account_id, _is_mailed_owner())
    return [Owner(*row) for row in await connection.execute(found.order_by(users.c.id))]


def _is_mailed_owner() -> ColumnElement[bool]:
    """An owner whose address a mailed link has proven."""
    return and_(users.c.role == Role.OWNER.value, users.c.confirmed_at.is_not(None))


async def _noticed_at(connection: AsyncConnection, account_id: int) -> int | None:
    found = select(deletion_notices.c.noticed_at).where(deletion_notices.c.account_id == account_id)
    return (await connection.execute(found)).scalar_one_or_none()
