"""Syncing: reading all watches of an account now."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from registerwatch.accounts.models import Caller
from registerwatch.clock import Clock
from registerwatch.db.engine import Database
from registerwatch.register.observation import ReadContext
from registerwatch.register.sources.request_budget import RequestPriority
from registerwatch.watches import event_repository, repository
from registerwatch.watches.models import Event
from registerwatch.watches.outbox import Outbox, release_at_end
from registerwatch.watches.read_subject import SubjectReader
from registerwatch.watches.repository import Due

SIDE_BY_SIDE = 8
GRACE_SECONDS = 60
"""A sync that has not ended so long after its time limit no longer holds its delivery back."""


@dataclass(frozen=True, slots=True)
class SyncResult:
    """A sync: how many watches were read, every event that no sync had listed, why some were not read."""

    synced: int
    events: Sequence[Event]
    error: str | None


class SyncService:
    """Reads an account's watches side by side, the longest unread first, until a time limit in seconds."""

    def __init__(
        self, database: Database, clock: Clock, reader: SubjectReader, outbox: Outbox, *, time_limit: float
    ) -> None:
        self._database = database
        self._clock = clock
        self._reader = reader
        self._outbox = outbox
        self._time_limit = time_limit

    async def sync(self, caller: Caller) -> SyncResult:
        """Read everything. What is not reached stays as it is, and the recheck reads it first."""
        account_id = caller.account.id
        async with self._database.reading() as connection:
            due = await repository.due_of_account(connection, account_id)
        held_until = int(self._clock.now() + self._time_limit) + GRACE_SECONDS
        context = ReadContext(held_until=held_until, account_id=account_id)
        reads = _Reads(self._reader, context, due)
        async with release_at_end(context, self._outbox):
            with suppress(TimeoutError):
                async with asyncio.timeout(self._time_limit):
                    await reads.read_all()
        async with self._database.transaction() as connection:
            events = await event_repository.take_awaiting(connection, account_id)
        return SyncResult(reads.found, events, _shortfall(len(due) - reads.tried, self._time_limit))


class _Reads:
    """Some watches, read side by side."""

    def __init__(self, reader: SubjectReader, context: ReadContext, due: Sequence[Due]) -> None:
        self._reader = reader
        self._context = context
        self._due = iter(due)
        self.tried = 0
        self.found = 0

    async def read_all(self) -> None:
        """Read until none is left. When several reads fail unexpectedly, the first error is raised."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(SIDE_BY_SIDE):
                    group.create_task(self._read_some())
        except ExceptionGroup as problem:
            raise problem.exceptions[0] from problem

    async def _read_some(self) -> None:
        for watch in self._due:
            is_found = await self._reader.read(watch.subject, RequestPriority.INTERACTIVE, self._context)
            self.found += is_found
            self.tried += 1


def _shortfall(unread: int, time_limit: float) -> str | None:
    if not unread:
        return None
    some = "1 watch was" if unread == 1 else f"{unread} watches were"
    return f"{some} not reached within {time_limit:g} s; the next recheck reads what is left first."
