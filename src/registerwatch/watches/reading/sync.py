"""The sync: reading all watches of an account now."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import msgspec

from registerwatch.accounts.models import Caller
from registerwatch.platform.clock import Clock
from registerwatch.platform.db.engine import Database
from registerwatch.register.observation import ReadContext
from registerwatch.sources.budget_parts import RequestPriority
from registerwatch.watches import repository
from registerwatch.watches.events import event_repository
from registerwatch.watches.models import Event
from registerwatch.watches.outbox import Outbox, release_at_end
from registerwatch.watches.reading.read_many import SubjectReads
from registerwatch.watches.reading.read_order import most_first
from registerwatch.watches.reading.read_subject import SubjectReader

SIDE_BY_SIDE = 8
REQUESTS_OF_A_READ = 6
"""More than most reads take. If few requests a minute are allowed, few reads run at a time, so that some finish."""
GRACE_SECONDS = 60
"""How long after its time limit a sync that has not ended holds its delivery back."""


ReadsAtATime = Callable[[], Awaitable[int]]
"""Returns how many reads of one sync run at a time, at the register's present pace."""


class SyncResult(msgspec.Struct, frozen=True):
    """A sync: the numbers of watches `synced`, `unread` (not tried, because of `error`) and `failed`; `events` that no
    sync had listed.
    """

    synced: int
    events: Sequence[Event]
    error: str | None
    unread: int = 0
    failed: int = 0


class SyncService:
    """Reads an account's watches in parallel until a time limit in seconds.

    Subjects that the last sync did not reach come first: the largest group of a manufacturer's devices, which one list
    shows, alternates with the longest unread. Then come the others.

    The time limit includes waiting for the request budget. Subjects not asked for by then count as not tried.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        reader: SubjectReader,
        outbox: Outbox,
        *,
        time_limit: float,
        at_a_time: ReadsAtATime,
    ) -> None:
        self._database = database
        self._clock = clock
        self._reader = reader
        self._outbox = outbox
        self._time_limit = time_limit
        self._at_a_time = at_a_time

    async def sync(self, caller: Caller) -> SyncResult:
        """Read all watches. Those not reached stay unchanged, and the next sync or recheck reads them first."""
        account_id = caller.account.id
        async with self._database.reading() as connection:
            due = await repository.due_of_account(connection, account_id, int(self._clock.now()))
        held_until = int(self._clock.now() + self._time_limit) + GRACE_SECONDS
        context = ReadContext(held_until=held_until, account_id=account_id)
        limits = self._reader.limits(self._clock.monotonic() + self._time_limit, caller.account)
        groups = most_first(due, await self._reader.families([each.name for each in due]))
        reads = SubjectReads(self._reader, groups, RequestPriority.WATCH, context, limits)
        async with release_at_end(context, self._outbox):
            with suppress(TimeoutError):
                async with asyncio.timeout(self._time_limit):
                    await reads.read_all(await self._at_a_time())
        async with self._database.transaction() as connection:
            events = await event_repository.take_awaiting(connection, account_id)
        return SyncResult(reads.found, events, shortfall(reads, self._time_limit), reads.unread, reads.failed)


def side_by_side(requests_per_minute: int) -> int:
    """How many reads of one sync run at a time, given the requests allowed a minute."""
    return min(SIDE_BY_SIDE, max(1, requests_per_minute // REQUESTS_OF_A_READ))


def shortfall(reads: SubjectReads, time_limit: float) -> str | None:
    """Why some watches were not read, None if each was tried."""
    if not reads.unread:
        return None
    some = "1 watch was" if reads.unread == 1 else f"{reads.unread} watches were"
    if reads.unasked:
        return f"{some} not read. {reads.unasked} The next sync or recheck reads what is left first."
    return f"{some} not reached within {time_limit:g} s; the next recheck reads what is left first."
