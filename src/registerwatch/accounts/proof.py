"""Proving again who one is, before what an open session alone should not be enough for."""

from registerwatch.accounts import repository
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

    def __init__(self, database: Database, passwords: Passwords, clock: Clock) -> None:
        self._database = database
        self._passwords = passwords
        self._clock = clock

    def is_proved(self, caller: Caller) -> bool:
        """Whether the session's last proof still counts."""
        return self._clock.now() - caller.proved_at < PROOF_SECONDS

    async def prove(self, caller: Caller, password: str) -> None:
        """Note a proof by password. Raises `WrongPassword`, or `Unauthenticated` without a session."""
        if caller.session is None or caller.user_id is None:
            raise Unauthenticated("Only a session can be proved.")
        async with self._database.reading() as connection:
            user = await repository.user(connection, caller.account.id, caller.user_id)
        stored = user.password_hash if user is not None else None
        if not await self._passwords.is_right(password, stored, account_id=caller.account.id):
            raise WrongPassword(WRONG_PASSWORD)
        async with self._database.transaction() as connection:
            await repository.note_proof(connection, caller.session, int(self._clock.now()))
