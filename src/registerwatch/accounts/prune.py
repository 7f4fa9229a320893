"""Throwing away what is over."""

from registerwatch.accounts import credential_repository
from registerwatch.clock import Clock
from registerwatch.db.engine import Database

DAY = 24 * 3600
REVOKED_KEYS_KEPT = 90 * DAY
"""A revoked key is listed for so long, then the audit trail alone remembers it."""
AUDIT_KEPT = 400 * DAY
"""A year and a month: an audit of the last year finds all of it."""


class AccountPruning:
    """Deletes sessions and reset tokens that are over, keys revoked long ago, old lines of audit trails."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def tidy(self) -> int:
        """The number of rows that went away. Any number of processes may do it, whenever."""
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            return await credential_repository.delete_outdated(
                connection, now=now, keys_before=now - REVOKED_KEYS_KEPT, audit_before=now - AUDIT_KEPT
            )
