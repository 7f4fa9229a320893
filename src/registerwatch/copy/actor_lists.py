"""Whether the copy has every device that the register lists of an actor: what is noted of that, and what it proves.

Three facts are noted: the register's own count of the actor's registrations, when it was last read; how many records it
listed when the copy last had every one of them; and when the last load of the whole register began that came to its
end. See docs/decisions/0062-lists-of-actors.md.
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
    """What is noted of the devices that the register lists of one actor. Instants are unix seconds.

    `total` is the count in the actor's own record as of `read_at`, None where that was never read. `listed` is the
    number of records that the register listed at `listed_at`, when the copy had all of them, None where it never had.
    `filled_at` is the beginning of the last load of the whole register that came to its end, None where none did.
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

        `known` is the number of its devices that the copy lists, None where they cannot be counted now. After a load of
        the whole register that number proves it, since the newest records come with each read of the actor. In a copy
        that only has what was asked for it proves nothing: some that have left may count for others that are missing.
        Devices name no other actor than their manufacturer, so of others nothing is listed that could be missing.
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
        """What an answer says of the list. A number that is not exact proves nothing."""
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
        """What is noted of an actor, also of one that the copy does not have."""
        rows = await self._database.rows(_FACTS, srn=srn)
        return ListFacts(srn, *rows[0]) if rows else ListFacts(srn)

    async def note_whole(self, srn: str, records: int, at: int) -> None:
        """Note that the register listed so many records, the copy having all of them. `at` is the instant before the
        register was last asked for them.
        """
        async with self._database.transaction() as connection:
            await note_whole(connection, srn, records, at)

    async def note_newest(self, srn: str, newest: Collection[Record], total: int, at: int) -> None:
        """Note what the newest records, the first page of a list, prove: the copy has all where it had all before, and
        so many were stored first since then. `total` is the register's count, `at` as for `note_whole`.
        """
        facts = await self.facts(srn)
        if facts.listed is None or total <= facts.listed:
            return
        async with self._database.reading() as connection:
            added = await _added_since(connection, newest, facts.listed_at or 0)
        if added < len(newest) and total <= facts.listed + added:
            await self.note_whole(srn, total, at)


async def note_whole(connection: AsyncConnection, srn: str, records: int, at: int) -> None:
    """The same inside a transaction that the caller has open."""
    await connection.execute(statements.NOTE_LISTED, {"srn": srn, "listed": records, "at": at})


async def end_doubt(connection: AsyncConnection, srn: str) -> None:
    """A list has shown devices of an actor: an answer that there are none, which is doubted, was wrong."""
    is_doubted = actors.c.srn == srn, actors.c.doubted_at.is_not(None)
    await connection.execute(update(actors).where(*is_doubted).values(doubted_at=None))


async def note_walk(connection: AsyncConnection, srn: str, walk: int, records: int, at: int) -> None:
    """The same after a walk of the sweep, where the copy has every record that it listed. A row that cannot be read has
    none, nor has a watched device that was not read yet.
    """
    asked = {"srn": srn, "walk": walk, "listed": records, "at": at}
    await connection.execute(statements.NOTE_LISTED_BY_WALK, asked)


async def _added_since(connection: AsyncConnection, records: Collection[Record], since: int) -> int:
    """How many of some records were stored first after an instant."""
    asked = {"listed": listed({udi for udi, _ in records}), "since": since}
    found = await connection.execute(statements.ADDED_SINCE[connection.dialect.name], asked)
    return len(set(records).intersection((row.primary_di, row.uuid) for row in found))


_FACTS = PreparedSelect(
    select(
        actors.c.device_total, actors.c.read_at, actors.c.listed, actors.c.listed_at, copy_state.c.whole_at
    ).select_from(copy_state.outerjoin(actors, actors.c.srn == bindparam("srn")))
)
