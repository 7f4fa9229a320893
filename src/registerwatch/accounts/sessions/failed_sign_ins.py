"""Reports failed sign-ins: in the log for the operator, in the audit trail for the account."""

import asyncio

import structlog

from registerwatch.accounts import repository
from registerwatch.accounts.audit.audit import UNKNOWN_PERSON, Action
from registerwatch.accounts.repository import StoredUser
from registerwatch.accounts.sessions.clients import Client
from registerwatch.errors import DatabaseUnavailable
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.logs import LinesPerMinute

LOGGED_A_MINUTE = 60
"""Lines of the log; the first line of the next minute has the number of further failures."""
MAX_WRITING = 100
"""Lines of audit trails that wait for the database. Further failures are in the log alone."""

log = structlog.get_logger(__name__)


class FailedSignIns:
    """Notes failures. The audit trail is written after the answer, whose time must not reveal whether a user exists."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._lines = LinesPerMinute(LOGGED_A_MINUTE, clock.now)
        self._writing: set[asyncio.Task[None]] = set()
        self.total = 0
        """Failures in this process."""

    def note(self, user: StoredUser | None, client: Client, why: str = "") -> None:
        """Note a failure, with the user whose address was given, if there is one.

        `why` is for the audit trail, where it was not the password.
        """
        self.total += 1
        self._log(user, client)
        if user is None or len(self._writing) >= MAX_WRITING:
            return
        task = asyncio.create_task(self._write(user, client, why, int(self._clock.now())), name="note a failed sign-in")
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def settled(self) -> None:
        """Wait until all notes are written."""
        await asyncio.gather(*self._writing)

    def _log(self, user: StoredUser | None, client: Client) -> None:
        unlogged = self._lines.take()
        if unlogged is not None:
            account_id = user.account_id if user is not None else None
            log.warning("a sign-in failed", client=client.address, account=account_id, unlogged_before=unlogged)

    async def _write(self, user: StoredUser, client: Client, why: str, now: int) -> None:
        try:
            async with self._database.transaction() as connection:
                if await repository.lock_account(connection, user.account_id) is None:
                    return
                subject = f"{user.email} from {client.address}{f', {why}' if why else ''}"
                await repository.note(connection, user.account_id, now, UNKNOWN_PERSON, Action.SIGN_IN_FAILED, subject)
        except DatabaseUnavailable as error:
            log.error("a failed sign-in is not in the audit trail", account=user.account_id, reason=str(error))
