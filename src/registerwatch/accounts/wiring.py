"""The use cases of accounts, built together."""

from dataclasses import dataclass

from registerwatch.accounts.admin import Operating
from registerwatch.accounts.deletion import NOTHING_OUTSIDE, Leaving
from registerwatch.accounts.members import Managing
from registerwatch.accounts.password_reset import Recovering
from registerwatch.accounts.passwords import Passwords
from registerwatch.accounts.plans import plans
from registerwatch.accounts.prune import Housekeeping
from registerwatch.accounts.sessions import SigningIn
from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.mail.mailer import Mailer
from registerwatch.settings import Settings


@dataclass(frozen=True, slots=True)
class Accounts:
    """What surfaces, commands and background work call."""

    signing_in: SigningIn
    managing: Managing
    recovering: Recovering
    operating: Operating
    housekeeping: Housekeeping
    passwords: Passwords

    async def close(self) -> None:
        """End what is under way."""
        await self.recovering.close()
        self.passwords.close()


def build_accounts(
    settings: Settings,
    database: Database,
    clock: Clock,
    mailer: Mailer,
    passwords: Passwords,
    leaving: Leaving = NOTHING_OUTSIDE,
) -> Accounts:
    """The use cases over one database."""
    table = plans(settings.trial_watch_cap)
    trial_seconds = settings.trial_days * 24 * 3600
    return Accounts(
        signing_in=SigningIn(database, passwords, table, clock, trial_seconds=trial_seconds),
        managing=Managing(database, passwords, table, clock, leaving),
        recovering=Recovering(database, passwords, table, clock, mailer, public_url=settings.public_url),
        operating=Operating(database, table, clock),
        housekeeping=Housekeeping(database, clock),
        passwords=passwords,
    )
