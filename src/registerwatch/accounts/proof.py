"""Proving again who one is, before what an open session alone should not be enough for."""

from registerwatch.accounts import repository, unproven_passwords
from registerwatch.accounts.clients import UNKNOWN_CLIENT, Client
from registerwatch.accounts.failed_sign_ins import FailedSignIns
from registerwatch.accounts.models import Caller
from registerwatch.accounts.passwords import Passwords
from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.errors import Unauthenticated, WrongPassword

PROOF_SECONDS = 10 * 60
"""So long a proof counts."""
WRONG_PASSWORD = "The password is wrong."  # noqa: S105  # a message


class ProofService:
    """Checks that whoever uses a session knows its user's password."""

    def __init__(self, database: Database, passwords: Passwords, clock: Clock, failures: FailedSignIns) -> None:
        self._database = database
        self._passwords = passwords
        self._clock = clock
        self._failures = failures

    def is_proved(self, caller: Caller) -> bool:
        """Whether the session's last proof still counts."""
        return self._clock.now() - caller.proved_at < PROOF_SECONDS

    async def prove(self, caller: Caller, password: str, client: Client = UNKNOWN_CLIENT) -> None:
        """Note a proof by password. Raises `WrongPassword`, which is told as a failed sign-in is: whoever has stolen a
        session guesses here. Raises `PasswordTooNew` where the password was set without the one before it, and
        `Unauthenticated` without a session.
        """
        if caller.session is None or caller.user_id is None:
            raise Unauthenticated("Only a session can be proved.")
        async with self._database.reading() as connection:
            user = await repository.user(connection, caller.account.id, caller.user_id)
        stored = user.password_hash if user is not None else None
        if user is None or not await self._passwords.is_right(password, stored, account_id=caller.account.id):
            self._failures.note(user, client, "asked again within a session")
            raise WrongPassword(WRONG_PASSWORD)
        unproven_passwords.require_proof(user, self._clock.now())
        async with self._database.transaction() as connection:
            await repository.note_proof(connection, caller.session, int(self._clock.now()))
