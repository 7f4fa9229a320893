"""Deletes what has expired."""

from registerwatch.accounts import repository
from registerwatch.accounts.limits.idempotency import KEPT_SECONDS
from registerwatch.accounts.limits.mail_limits import forget_old_counts
from registerwatch.accounts.passwords import confirmation_repository
from registerwatch.accounts.second_factors import second_factor_repository
from registerwatch.accounts.sessions import known_clients
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database

DAY = 24 * 3600
REVOKED_KEYS_KEPT = 90 * DAY
"""How long a revoked key is listed; then only the audit trail has it."""
AUDIT_KEPT = 400 * DAY
"""A year and a month: an audit of the last year finds all of it."""


class AccountPruner:
    """Deletes expired sessions, reset tokens and steps of sign-ins, keys revoked long ago, old lines of audit trails,
    clients without a sign-in for long.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def prune(self) -> int:
        """Delete; returns the rows without counts of mails. Any number of processes may do this at any time."""
        now = int(self._clock.now())
        async with self._database.transaction() as connection:
            await forget_old_counts(connection, now)
            over = await confirmation_repository.delete_expired(connection, now)
            over += await known_clients.forget_old(connection, now)
            over += await second_factor_repository.delete_expired(connection, now)
            return over + await repository.delete_expired(
                connection,
                now=now,
                keys_before=now - REVOKED_KEYS_KEPT,
                audit_before=now - AUDIT_KEPT,
                requests_before=now - KEPT_SECONDS,
            )
