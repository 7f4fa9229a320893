"""When keys and sessions were last used, to about ten minutes.

A use is noted in memory, which costs a request nothing, and stored a while later. Every process that serves requests
stores its own notes.
"""

from collections.abc import Iterator, Sequence

from sqlalchemy import Column, ColumnElement, Table, or_, select, update

from registerwatch.accounts.sessions.credentials import Credential
from registerwatch.accounts.tables import api_keys, sessions
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database

PRECISION_SECONDS = 600
MAX_NOTED = 50_000
"""Credentials that are remembered. With more in use within ten minutes, some are stored more often."""
STORED_AT_ONCE = 500


class CredentialUses:
    """Notes uses, and stores them when asked to."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._stored_at: dict[Credential, float] = {}
        self._waiting: set[Credential] = set()

    def note(self, credential: Credential) -> None:
        """Note that a credential was used now."""
        now = self._clock.monotonic()
        noted = self._stored_at.get(credential)
        if noted is not None and now - noted < PRECISION_SECONDS:
            return
        if len(self._stored_at) >= MAX_NOTED:
            self._stored_at.clear()
        self._stored_at[credential] = now
        self._waiting.add(credential)

    async def store(self) -> None:
        """Store the uses since the last time."""
        waiting, self._waiting = self._waiting, set()
        for kind, table in (("key", api_keys), ("session", sessions)):
            digests = [each.digest for each in waiting if each.kind == kind]
            for some in _chunks(digests):
                await self._store(table, some)

    async def _store(self, table: Table, digests: Sequence[str]) -> None:
        """Store uses but in locked rows: waiting for several could end in a deadlock."""
        now = int(self._clock.now())
        used_at: Column[int] = table.c.last_used_at
        is_older: ColumnElement[bool] = or_(used_at.is_(None), used_at < now)
        free = select(table.c.digest).where(table.c.digest.in_(digests), is_older).with_for_update(skip_locked=True)
        async with self._database.transaction() as connection:
            found = (await connection.execute(free)).scalars().all()
            if found:
                await connection.execute(update(table).where(table.c.digest.in_(found)).values(last_used_at=now))


def _chunks(digests: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(digests), STORED_AT_ONCE):
        yield digests[start : start + STORED_AT_ONCE]
