"""The use cases of accounts, built together."""

from contextlib import suppress
from dataclasses import dataclass

from registerwatch.accounts.admin import AccountAdmin
from registerwatch.accounts.api_keys import ApiKeyService
from registerwatch.accounts.credential_uses import CredentialUses
from registerwatch.accounts.deletion import DeletionHook, DeletionService
from registerwatch.accounts.idempotency import IdempotencyStore
from registerwatch.accounts.members import MemberService
from registerwatch.accounts.password_reset import PasswordResetService
from registerwatch.accounts.passwords import Passwords
from registerwatch.accounts.plans import plans
from registerwatch.accounts.prune import AccountPruner
from registerwatch.accounts.sessions import SessionService
from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.errors import DatabaseUnavailable
from registerwatch.mail.mailer import Mailer
from registerwatch.settings import Settings


@dataclass(frozen=True, slots=True)
class Accounts:
    """What surfaces, commands and background work call."""

    sessions: SessionService
    members: MemberService
    api_keys: ApiKeyService
    deletion: DeletionService
    password_reset: PasswordResetService
    admin: AccountAdmin
    pruner: AccountPruner
    passwords: Passwords
    idempotency: IdempotencyStore
    uses: CredentialUses

    async def close(self) -> None:
        """End what is under way, and store what is known."""
        with suppress(DatabaseUnavailable):
            await self.uses.store()
        await self.password_reset.close()
        self.passwords.close()


def build_accounts(
    settings: Settings,
    database: Database,
    clock: Clock,
    mailer: Mailer,
    passwords: Passwords,
    deletion_hook: DeletionHook | None = None,
) -> Accounts:
    """The use cases over one database."""
    table = plans(settings.trial_watch_cap)
    trial_seconds = settings.trial_days * 24 * 3600
    uses = CredentialUses(database, clock)
    return Accounts(
        sessions=SessionService(
            database,
            passwords,
            table,
            clock,
            trial_seconds=trial_seconds,
            anybody_may_sign_up=settings.signup == "open",
            uses=uses,
        ),
        members=MemberService(
            database, passwords, table, clock, owners_may_add_users=settings.signup in ("open", "invite")
        ),
        api_keys=ApiKeyService(database, table, clock),
        deletion=DeletionService(database, passwords, clock, deletion_hook),
        password_reset=PasswordResetService(database, passwords, table, clock, mailer, public_url=settings.public_url),
        admin=AccountAdmin(database, table, clock, trial_seconds=trial_seconds, public_url=settings.public_url),
        pruner=AccountPruner(database, clock),
        passwords=passwords,
        idempotency=IdempotencyStore(database, clock),
        uses=uses,
    )
