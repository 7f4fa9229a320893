"""Finishes, by a code, a sign-in that a password or a provider began."""

from collections.abc import Sequence

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts import repository
from registerwatch.accounts.models import NewSession
from registerwatch.accounts.notices import AccountNotices
from registerwatch.accounts.passwords import unproven_passwords
from registerwatch.accounts.plans import Plans
from registerwatch.accounts.second_factors import second_factor_repository
from registerwatch.accounts.second_factors.code_check import CodeCheck, Verdict
from registerwatch.accounts.second_factors.second_factor_repository import SecondFactors
from registerwatch.accounts.sessions import new_places, sign_in_steps
from registerwatch.accounts.sessions.clients import UNKNOWN_CLIENT, Client
from registerwatch.accounts.sessions.failed_sign_ins import FailedSignIns
from registerwatch.accounts.sessions.sign_in import sign_in
from registerwatch.accounts.sessions.sign_in_steps import StoredStep
from registerwatch.errors import SignInStepOver, WrongCode
from registerwatch.mail.mailer import Mail
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database

STEP_OVER = "This sign-in took too long, or too many codes were wrong. Begin again with your password."
WRONG_CODE = "This code is wrong, was used already, or is too old. Type the one that the app shows now."


class SecondStep(msgspec.Struct, frozen=True):
    """An open step: its user, and their factors."""

    user_id: int
    email: str
    factors: SecondFactors


class SecondStepService:
    """Finishes steps that `SessionService.begin` began."""

    def __init__(
        self,
        database: Database,
        plans: Plans,
        clock: Clock,
        codes: CodeCheck,
        failures: FailedSignIns,
        notices: AccountNotices,
    ) -> None:
        self._database = database
        self._plans = plans
        self._clock = clock
        self._codes = codes
        self._failures = failures
        self._notices = notices

    async def look(self, token: str) -> SecondStep:
        """The step to finish. Raises `SignInStepOver`."""
        async with self._database.reading() as connection:
            step = await self._step(connection, token)
            factors = await second_factor_repository.factors_of(connection, step.account_id, step.user_id)
        return SecondStep(step.user_id, step.email, factors)

    async def finish(self, token: str, code: str, client: Client = UNKNOWN_CLIENT) -> NewSession:
        """Open the session. Raises `SignInStepOver`, `WrongCode`, `RateLimited` after too many wrong ones."""
        opened: NewSession | None = None
        mails: Sequence[Mail] = ()
        async with self._database.transaction() as connection:
            step = await self._step(connection, token)
            account = await repository.lock_account(connection, step.account_id)
            step = await self._step(connection, token)  # it may have been finished, or ended, meanwhile
            user = await repository.user(connection, step.account_id, step.user_id)
            if account is None or user is None:
                raise SignInStepOver(STEP_OVER)
            now = self._now()
            judgement = await self._codes.judge(connection, user, code, client, now)
            mails = judgement.mails
            if judgement.verdict in (Verdict.RIGHT, Verdict.NOT_NEEDED):
                how = "with a second factor"
                notice = await new_places.prepare_notice(connection, self._notices, user, client, now, how=how)
                mails = (*mails, *notice)
                opened = await sign_in(
                    connection,
                    account,
                    user,
                    client,
                    now,
                    how=how,
                    plans=self._plans,
                    is_proof=step.is_by_password and unproven_passwords.proves(user, now),
                )
            else:
                await sign_in_steps.count_try(connection, step)
        self._notices.send(mails)
        if opened is None:
            self._failures.note(user, client, "wrong code")
            raise WrongCode(WRONG_CODE)
        return opened

    async def _step(self, connection: AsyncConnection, token: str) -> StoredStep:
        step = await sign_in_steps.find(connection, token, self._now())
        if step is None:
            raise SignInStepOver(STEP_OVER)
        return step

    def _now(self) -> int:
        return int(self._clock.now())
