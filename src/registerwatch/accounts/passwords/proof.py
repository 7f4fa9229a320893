"""Asks for a new proof of identity where an open session alone is not enough."""

from registerwatch.accounts import repository
from registerwatch.accounts.models import Caller
from registerwatch.accounts.notices import AccountNotices
from registerwatch.accounts.passwords import unproven_passwords
from registerwatch.accounts.passwords.passwords import Passwords
from registerwatch.accounts.second_factors import second_factor_repository
from registerwatch.accounts.second_factors.code_check import CodeCheck, Verdict
from registerwatch.accounts.second_factors.second_factor_repository import SecondFactors
from registerwatch.accounts.second_factors.second_step import WRONG_CODE
from registerwatch.accounts.sessions.clients import UNKNOWN_CLIENT, Client
from registerwatch.accounts.sessions.failed_sign_ins import FailedSignIns
from registerwatch.errors import SecondFactorNeeded, Unauthenticated, WrongCode, WrongPassword
from registerwatch.mail.mailer import Mail
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database

PROOF_SECONDS = 10 * 60
"""How long a proof counts."""
WRONG_PASSWORD = "The password is wrong."  # noqa: S105  # a message
CODE_NEEDED = (
    "You have a second factor: give a code of your authenticator app, or a recovery code, beside the password."
)
WITHIN = "asked again within a session"


class ProofService:
    """Checks that the user of a session has its password, and the second factor that is on. Otherwise a thief of a
    password and a session could remove the second factor.
    """

    def __init__(
        self,
        database: Database,
        passwords: Passwords,
        codes: CodeCheck,
        clock: Clock,
        failures: FailedSignIns,
        notices: AccountNotices,
    ) -> None:
        self._database = database
        self._passwords = passwords
        self._codes = codes
        self._clock = clock
        self._failures = failures
        self._notices = notices

    def is_proved(self, caller: Caller) -> bool:
        """Whether the session's last proof still counts."""
        return self._clock.now() - caller.proved_at < PROOF_SECONDS

    async def asks_for(self, caller: Caller) -> SecondFactors:
        """Second factors, one of which is needed beside the password; none where the last proof still counts."""
        if self.is_proved(caller) or caller.user_id is None:
            return SecondFactors()
        async with self._database.reading() as connection:
            return await second_factor_repository.factors_of(connection, caller.account.id, caller.user_id)

    async def prove(self, caller: Caller, password: str, code: str = "", client: Client = UNKNOWN_CLIENT) -> None:
        """Note a proof by the password and, where the last proof is over, a code of a second factor that is on.

        Raises `WrongPassword` and `WrongCode`, which are reported like failed sign-ins: a thief of a session guesses
        here; `SecondFactorNeeded` without a code, `RateLimited` after too many wrong ones. Raises `PasswordTooNew`
        where the password was set without the previous one, `Unauthenticated` without a session.
        """
        if caller.session is None or caller.user_id is None:
            raise Unauthenticated("Only a session can be proved.")
        async with self._database.reading() as connection:
            user = await repository.user(connection, caller.account.id, caller.user_id)
        stored = user.password_hash if user is not None else None
        if user is None or not await self._passwords.is_right(password, stored, account_id=caller.account.id):
            self._failures.note(user, client, WITHIN)
            raise WrongPassword(WRONG_PASSWORD)
        unproven_passwords.require_proof(user, self._clock.now())
        verdict, now, mails = Verdict.NOT_NEEDED, int(self._clock.now()), tuple[Mail, ...]()
        async with self._database.transaction() as connection:
            await repository.locked(connection, caller)
            if not self.is_proved(caller):
                judgement = await self._codes.judge(connection, user, code, client, now)
                verdict, mails = judgement.verdict, tuple(judgement.mails)
            if verdict in (Verdict.NOT_NEEDED, Verdict.RIGHT):
                await repository.note_proof(connection, caller.session, now)
        self._notices.send(mails)
        if verdict is Verdict.NEEDED:
            raise SecondFactorNeeded(CODE_NEEDED)
        if verdict is Verdict.WRONG:
            self._failures.note(user, client, f"wrong code, {WITHIN}")
            raise WrongCode(WRONG_CODE)
