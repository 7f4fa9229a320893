"""Builds the use cases of accounts."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from registerwatch.accounts.admin import AccountAdmin
from registerwatch.accounts.audit.audit_pages import AuditTrailReader
from registerwatch.accounts.deletion import DeletionHook, DeletionService
from registerwatch.accounts.invitations import InvitationService
from registerwatch.accounts.limits.idempotency import IdempotencyStore
from registerwatch.accounts.limits.mail_tasks import MailTasks
from registerwatch.accounts.members import MemberService
from registerwatch.accounts.notices import AccountNotices
from registerwatch.accounts.old_trials import OldTrialService
from registerwatch.accounts.passwords.confirmation import ConfirmationService
from registerwatch.accounts.passwords.password_reset import PasswordResetService
from registerwatch.accounts.passwords.passwords import Passwords
from registerwatch.accounts.passwords.proof import ProofService
from registerwatch.accounts.plans import plans
from registerwatch.accounts.profile import ProfileService
from registerwatch.accounts.provider.provider_sign_in import ProviderSignInService
from registerwatch.accounts.prune import AccountPruner
from registerwatch.accounts.second_factors.code_check import CodeCheck
from registerwatch.accounts.second_factors.passkeys import PasskeyService
from registerwatch.accounts.second_factors.second_factors import SecondFactorService
from registerwatch.accounts.second_factors.second_step import SecondStepService
from registerwatch.accounts.sessions.api_keys import ApiKeyService
from registerwatch.accounts.sessions.credential_uses import CredentialUses
from registerwatch.accounts.sessions.open_sessions import OpenSessionService
from registerwatch.accounts.sessions.sessions import SessionService
from registerwatch.accounts.team import TeamReader
from registerwatch.errors import DatabaseUnavailable
from registerwatch.mail.mailer import Mailer
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.secret_cipher import SecretCipher
from registerwatch.settings import Settings

if TYPE_CHECKING:
    from registerwatch.accounts.provider.provider_client import ProviderClient


class Accounts(msgspec.Struct, frozen=True):
    """The use cases of accounts."""

    sessions: SessionService
    members: MemberService
    api_keys: ApiKeyService
    deletion: DeletionService
    password_reset: PasswordResetService
    confirmations: ConfirmationService
    invitations: InvitationService
    notices: AccountNotices
    admin: AccountAdmin
    pruner: AccountPruner
    passwords: Passwords
    idempotency: IdempotencyStore
    uses: CredentialUses
    open_sessions: OpenSessionService
    old_trials: OldTrialService
    proofs: ProofService
    trail: AuditTrailReader
    team: TeamReader
    second_step: SecondStepService
    second_factors: SecondFactorService
    profiles: ProfileService
    passkeys: PasskeyService
    provider: ProviderSignInService

    @property
    def mails(self) -> Sequence[MailTasks]:
        """Mails that are being sent, by their kind."""
        return self.password_reset.mails, self.confirmations.mails, self.invitations.mails, self.notices.mails

    async def close(self) -> None:
        """End what is under way, and store what is noted."""
        with suppress(DatabaseUnavailable):
            await self.uses.store()
        await asyncio.gather(*(each.close() for each in self.mails))
        await self.sessions.failures.settled()
        await self.provider.close()
        self.passwords.close()


def build_accounts(
    settings: Settings,
    database: Database,
    clock: Clock,
    mailer: Mailer,
    passwords: Passwords,
    deletion_hook: DeletionHook | None = None,
    *,
    notices: AccountNotices | None = None,
    cipher: SecretCipher | None = None,
    provider: "ProviderClient | None" = None,
) -> Accounts:
    """The use cases over one database."""
    table, uses = plans(settings.trial_watch_cap), CredentialUses(database, clock)
    trial_seconds, public_url = settings.trial_days * 24 * 3600, settings.public_url
    is_open, owners_may_add_users = settings.signup == "open", settings.signup in ("open", "invite")
    notices = notices or AccountNotices(clock, mailer, public_url=public_url)
    deletion = DeletionService(database, passwords, clock, deletion_hook)
    confirmations = ConfirmationService(
        database,
        passwords,
        clock,
        mailer,
        deletion,
        public_url=public_url,
        trial_seconds=trial_seconds,
        anybody_may_sign_up=is_open,
    )
    cipher = cipher or SecretCipher()
    codes = CodeCheck(cipher, notices)
    sessions = SessionService(
        database,
        passwords,
        table,
        clock,
        trial_seconds=trial_seconds,
        anybody_may_sign_up=is_open,
        uses=uses,
        confirmations=confirmations,
        codes=codes,
        notices=notices,
    )
    return Accounts(
        sessions=sessions,
        members=MemberService(
            database,
            passwords,
            table,
            clock,
            owners_may_add_users=owners_may_add_users,
            confirmations=confirmations,
            notices=notices,
        ),
        api_keys=ApiKeyService(database, table, clock, notices),
        deletion=deletion,
        password_reset=PasswordResetService(
            database, passwords, table, clock, mailer, public_url=public_url, notices=notices
        ),
        confirmations=confirmations,
        invitations=InvitationService(
            database,
            passwords,
            table,
            clock,
            mailer,
            public_url=public_url,
            owners_may_add_users=owners_may_add_users,
            notices=notices,
        ),
        notices=notices,
        admin=AccountAdmin(database, table, clock, trial_seconds=trial_seconds, public_url=public_url),
        pruner=AccountPruner(database, clock),
        passwords=passwords,
        idempotency=IdempotencyStore(database, clock, cipher),
        uses=uses,
        open_sessions=OpenSessionService(database, clock),
        old_trials=OldTrialService(database, clock, mailer, deletion, public_url=public_url),
        proofs=ProofService(database, passwords, codes, clock, sessions.failures, notices),
        trail=AuditTrailReader(database),
        team=TeamReader(database, clock),
        second_step=SecondStepService(database, table, clock, codes, sessions.failures, notices),
        second_factors=SecondFactorService(database, clock, cipher, notices),
        profiles=ProfileService(database, clock),
        provider=ProviderSignInService(database, table, clock, notices, provider, settings.oidc_name),
        passkeys=PasskeyService(database, table, clock, sessions.failures, notices, public_url=public_url),
    )
