"""Walks through whole lists: which node makes them, and the result of the last one.

The row of a list has a lease, so a list is read by one node at a time.
"""

from collections.abc import Collection
from typing import Final

import msgspec
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy import tables
from registerwatch.platform.clock import CLOCK_DIFFERENCE_SECONDS, Clock
from registerwatch.platform.db.engine import Database
from registerwatch.platform.leases import LEASE_SECONDS, Lease, new_holder

CERTIFICATES: Final = "certificates"
REFUSALS: Final = "refusals"
NOTIFIED_BODIES: Final = "notified bodies"
RETRY_SECONDS = 600
"""Pause after an incomplete walk."""
MAX_UNREAD = 1_000
"""Rows of a list that could not be read, whose ids are kept."""


class WalkRow(msgspec.Struct, frozen=True):
    """The stored last walk of a list. Instants are unix seconds."""

    name: str
    began_at: int
    ended_at: int | None
    """None while it goes on, and where its process was killed."""
    complete_at: int | None
    """When the last complete walk began, None before the first."""
    listed: int
    total: int | None
    problem: str
    """Why the last ended walk was not complete, or empty."""
    unread: frozenset[str] = frozenset()
    """Ids of rows that walks listed but never could read."""


class WalkEnd(msgspec.Struct, frozen=True):
    """The end of a walk. `is_complete` says that it saw the whole list; `unread` are as in `WalkRow`."""

    name: str
    began_at: int
    listed: int
    total: int | None
    problem: str
    is_complete: bool
    unread: Collection[str] = ()


class ClaimedWalk(msgspec.Struct, frozen=True):
    """A walk that this process makes: when it began (unix seconds), and the lease of its list."""

    began_at: int
    lease: Lease


async def claim(database: Database, clock: Clock, name: str, *, every: int) -> ClaimedWalk | None:
    """The walk of a list that is due, None where it is not or another node makes it.

    It is due every `every` seconds, sooner after an incomplete one, and at once after one that was killed.
    """
    now, holder = int(clock.now()), new_holder()
    asked = {
        "name": name,
        "now": now,
        "latest": now + LEASE_SECONDS + CLOCK_DIFFERENCE_SECONDS,
        "until": now + LEASE_SECONDS,
        "holder": holder,
        "due": now - every,
        "retry": now - min(every, RETRY_SECONDS),
    }
    async with database.reading() as connection:
        if (await connection.execute(_IS_TAKEN, asked)).first() is not None:
            return None
    async with database.transaction() as connection:
        is_claimed = (await connection.execute(_CLAIM, asked)).rowcount == 1
    own = tables.walks.c.name == name, tables.walks.c.lease_holder == holder
    return ClaimedWalk(now, Lease(database, clock, tables.walks, *own)) if is_claimed else None


async def lock(connection: AsyncConnection, name: str) -> None:
    """Let no walk of this list be stored before the transaction ends."""
    await connection.execute(_LOCK[connection.dialect.name], {"name": name})


async def note_end(connection: AsyncConnection, end: WalkEnd, *, now: int) -> None:
    """Note the end of a walk; its lease is returned."""
    await connection.execute(
        _END,
        {
            "name": end.name,
            "began_at": end.began_at,
            "ended_at": now,
            "complete_at": end.began_at if end.is_complete else None,
            "listed": end.listed,
            "total": end.total,
            "problem": end.problem,
            "unread": msgspec.json.encode(sorted(end.unread)[:MAX_UNREAD]).decode(),
        },
    )


async def walks(connection: AsyncConnection) -> dict[str, WalkRow]:
    """The last walk of every list that was ever read, by name."""
    rows = (await connection.execute(_WALKS)).all()
    return {row.name: WalkRow(**{**row._mapping, "unread": _unread.decode(row.unread)}) for row in rows}


_unread = msgspec.json.Decoder(frozenset[str])

# A lease or a walk in the far future is from before the clock was put back.
_IS_TAKEN = text(
    "SELECT 1 FROM walks WHERE name = :name AND NOT ((leased_until <= :now OR leased_until > :latest)"
    " AND (ended_at IS NULL OR began_at <= :due OR began_at > :latest OR (problem <> '' AND began_at <= :retry)))"
)
_CLAIM = text(
    "INSERT INTO walks (name, began_at, leased_until, lease_holder, listed, problem)"
    " VALUES (:name, :now, :until, :holder, 0, '')"
    " ON CONFLICT (name) DO UPDATE SET began_at = excluded.began_at, leased_until = excluded.leased_until,"
    " lease_holder = excluded.lease_holder, ended_at = NULL"
    " WHERE (walks.leased_until <= :now OR walks.leased_until > :latest)"
    " AND (walks.ended_at IS NULL OR walks.began_at <= :due OR walks.began_at > :latest"
    " OR (walks.problem <> '' AND walks.began_at <= :retry))"
)
_END = text(
    "INSERT INTO walks (name, began_at, ended_at, complete_at, leased_until, listed, total, problem, unread)"
    " VALUES (:name, :began_at, :ended_at, :complete_at, 0, :listed, :total, :problem, :unread)"
    " ON CONFLICT (name) DO UPDATE SET began_at = excluded.began_at, ended_at = excluded.ended_at,"
    " complete_at = COALESCE(excluded.complete_at, walks.complete_at), leased_until = 0, lease_holder = NULL,"
    " listed = excluded.listed, total = excluded.total, problem = excluded.problem,"
    " unread = excluded.unread"
)
_LOCK = {
    "sqlite": text("SELECT 1 FROM walks WHERE name = :name"),  # a transaction is alone there
    "postgresql": text("SELECT 1 FROM walks WHERE name = :name FOR UPDATE"),
}
_WALKS = text("SELECT name, began_at, ended_at, complete_at, listed, total, problem, unread FROM walks")
