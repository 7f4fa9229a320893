"""Stored facts about the register's list of an actor's devices, and whether the copy has the whole list.

Three facts are stored: the register's own count of the actor's registrations, when last read; how many records it
listed when the copy last had every one of them; and when the last complete load of the whole register began. See
docs/decisions/0062-lists-of-actors.md.
"""

from collections.abc import Collection

import msgspec
from sqlalchemy import bindparam, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy import statements
from registerwatch.copy.tables import actors, copy_state
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.listed_values import listed
from registerwatch.platform.db.statements import PreparedSelect
from registerwatch.register.identifiers import is_actor_of_devices

Record = tuple[str, str]
"""UDI-DI and uuid of a record."""


class ListFacts(msgspec.Struct, frozen=True):
    """Stored facts about the devices that the register lists of one actor. Instants are unix seconds.

    `total` is the count in the actor's own record as of `read_at`, None where that was never read. `listed` is the
    number of records that the register listed at `listed_at`, when the copy had all of them, None where it never had.
    `filled_at` is the beginning of the last complete load of the whole register, None where there was none.
    """

    srn: str
    total: int | None = None
    read_at: int | None = None
    listed: int | None = None
    listed_at: int | None = None
    filled_at: int | None = None

    @property
    def registered(self) -> int | None:
        """The register's last count of the actor's registrations, None where it was never asked."""
        is_older = self.total is None or (self.read_at or 0) <= (self.listed_at or 0)
        return self.listed if self.listed is not None and is_older else self.total

    def are_whole(self, known: int | None) -> bool:
        """Whether the copy has every device that the register lists of the actor, by the last count.

        `known` is the number of its listed devices in the copy, None where they cannot be counted now. After a load of
        the whole register that number proves it, since the newest records come with each read of the actor. In a copy
        with single reads only it proves nothing: devices that have left may make up for missing ones. Devices name no
        other actor than their manufacturer, so the lists of other actors cannot lack any.
        """
        registered = self.registered
        if not is_actor_of_devices(self.srn):
            return True
        if registered is None:
            return self.filled_at is not None
        if self.listed is not None and registered <= self.listed:
            return True
        if self.filled_at is None:
            return False
        return self.filled_at > (self.read_at or 0) or known is None or known >= registered

    def state(self, known: int | None, *, is_exact: bool = True) -> "ListState":
        """The list's state for an answer. A number that is not exact proves nothing."""
        return ListState(known, self.registered, self.are_whole(known if is_exact else None))


class ListState(msgspec.Struct, frozen=True):
    """How much of an actor's list of devices is known: devices in the copy (None where they cannot be counted now), the
    register's own count of registrations (None where it was never asked), whether none is missing.
    """

    known: int | None
    registered: int | None
    is_whole: bool


class ActorLists:
    """The facts about lists of actors, in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def facts(self, srn: str) -> ListFacts:
        """The facts about an actor's list, also without a stored actor."""
        rows = await self._database.rows(_FACTS, srn=srn)
        return ListFacts(srn, *rows[0]) if rows else ListFacts(srn)

    async def note_whole(self, srn: str, records: int, at: int) -> None:
        """Note that the register listed this many records, the copy having all of them. `at` is the instant before the
        register was last asked for them.
        """
        async with self._database.transaction() as connection:
            await note_whole(connection, srn, records, at)

    async def note_newest(self, srn: str, newest: Collection[Record], total: int, at: int) -> None:
        """Note what the newest records, the first page of a list, prove: the copy has all if it had all before, and
        the difference was first stored since then. `total` is the register's count, `at` as for `note_whole`.
        """
        facts = await self.facts(srn)
        if facts.listed is None or total <= facts.listed:
            return
        async with self._database.reading() as connection:
            added = await _added_since(connection, newest, facts.listed_at or 0)
        if added < len(newest) and total <= facts.listed + added:
            await self.note_whole(srn, total, at)


async def note_whole(connection: AsyncConnection, srn: str, records: int, at: int) -> None:
    """Note a whole list inside an open transaction."""
    await connection.execute(statements.NOTE_LISTED, {"srn": srn, "listed": records, "at": at})


async def end_doubt(connection: AsyncConnection, srn: str) -> None:
    """End the doubt that an actor has no devices: a list has shown some."""
    is_doubted = actors.c.srn == srn, actors.c.doubted_at.is_not(None)
    await connection.execute(update(actors).where(*is_doubted).values(doubted_at=None))


async def note_walk(connection: AsyncConnection, srn: str, walk: int, records: int, at: int) -> None:
    """Note a whole list after a walk of the sweep, if the copy has every listed record. It lacks those of unreadable
    rows and of watched devices that were not read yet.
    """
    asked = {"srn": srn, "walk": walk, "listed": records, "at": at}
    await connection.execute(statements.NOTE_LISTED_BY_WALK, asked)


async def _added_since(connection: AsyncConnection, records: Collection[Record], since: int) -> int:
    """How many of these records were first stored after an instant."""
    asked = {"listed": listed({udi for udi, _ in records}), "since": since}
    found = await connection.execute(statements.ADDED_SINCE[connection.dialect.name], asked)
    return len(set(records).intersection((row.primary_di, row.uuid) for row in found))


_FACTS = PreparedSelect(
    select(
        actors.c.device_total, actors.c.read_at, actors.c.listed, actors.c.listed_at, copy_state.c.whole_at
    ).select_from(copy_state.outerjoin(actors, actors.c.srn == bindparam("srn")))
)
