"""The log of failed reads, and its SQL.

Consecutive failures of a watch for the same reason are one row, so a subject that cannot be read for a week is one
line, not a thousand. Functions run in the transaction of the connection that they are given; the caller has locked the
watches, which protects their rows.
"""

from collections.abc import Mapping, Sequence

import msgspec
from sqlalchemy import ColumnElement, and_, delete, func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.platform.db.listed_values import LISTED, listed
from registerwatch.register.standing import DELISTED, NOT_IN_REGISTER
from registerwatch.watches.models import NOT_REGISTERED, READ_IN_PART
from registerwatch.watches.repository import IS_NOT_REGISTERED, chunks
from registerwatch.watches.tables import read_failures, watches

MAX_KEPT = 50
"""How many rows of a watch are kept, the newest."""


class ReadFailure(msgspec.Struct, frozen=True):
    """Consecutive failed reads of a watch for the same reason. Instants are unix seconds."""

    id: int
    reason: str
    first_at: int
    last_at: int
    times: int
    ended_at: int | None
    """When a read succeeded, or failed for another reason; None until then. `NOT_REGISTERED` ends only with a read that
    finds the subject, at least in part.
    """

    def words(self, first_seen_at: int | None) -> str:
        """Its short name then. `first_seen_at` is when the copy first had the subject: before that the register had not
        listed it.
        """
        if self.reason != NOT_REGISTERED:
            return "Not read"
        was_seen = first_seen_at is not None and first_seen_at <= self.last_at
        return DELISTED[0] if was_seen else NOT_IN_REGISTER[0]


async def note(connection: AsyncConnection, watch_ids: Sequence[int], reason: str, now: int) -> None:
    """Note that a read of these watches failed."""
    goes_on = {reason} if reason in READ_IN_PART else {reason, NOT_REGISTERED}
    for chunk in chunks(watch_ids):
        is_over = read_failures.c.reason.not_in(goes_on)
        await connection.execute(update(read_failures).where(*_open(chunk), is_over).values(ended_at=now))
        again = (
            update(read_failures)
            .where(*_open(chunk), read_failures.c.reason == reason)
            .values(times=read_failures.c.times + 1, last_at=now)
            .returning(read_failures.c.watch_id)
        )
        continued = set((await connection.execute(again)).scalars())
        await _begin(connection, {each: now for each in chunk if each not in continued}, reason)


async def note_denials(connection: AsyncConnection, denied_at: Mapping[int, int]) -> None:
    """Note since when (unix seconds) the register does not have the subjects of watches, by their ids, which others
    have found. A log that has it stays.
    """
    for chunk in chunks(list(denied_at)):
        known = select(read_failures.c.watch_id).where(*_open(chunk), read_failures.c.reason == NOT_REGISTERED)
        noted = set((await connection.execute(known)).scalars())
        await _begin(connection, {each: denied_at[each] for each in chunk if each not in noted}, NOT_REGISTERED)


async def end(connection: AsyncConnection, watch_ids: Sequence[int], now: int) -> None:
    """Note that a read of these watches succeeded."""
    for chunk in chunks(watch_ids):
        await connection.execute(update(read_failures).where(*_open(chunk)).values(ended_at=now))


async def end_denials(connection: AsyncConnection, watch_ids: Sequence[int], now: int) -> None:
    """Note that the register has the subjects of these watches again. Other failures go on."""
    for chunk in chunks(watch_ids):
        is_denial = read_failures.c.reason == NOT_REGISTERED
        await connection.execute(update(read_failures).where(*_open(chunk), is_denial).values(ended_at=now))


async def of_watch(connection: AsyncConnection, account_id: int, watch_id: int) -> Sequence[ReadFailure]:
    """The log of a watch of the account, the newest first."""
    found = (
        select(
            read_failures.c.id,
            read_failures.c.reason,
            read_failures.c.first_at,
            read_failures.c.last_at,
            read_failures.c.times,
            read_failures.c.ended_at,
        )
        .join(watches, watches.c.id == read_failures.c.watch_id)
        .where(watches.c.account_id == account_id, watches.c.id == watch_id)
        .order_by(read_failures.c.last_at.desc(), read_failures.c.id.desc())
    )
    return [ReadFailure(*row) for row in await connection.execute(found)]


async def denied(connection: AsyncConnection, account_id: int, of_subjects: Sequence[str]) -> Mapping[str, int | None]:
    """The watched ones of some subjects that the register does not have, as far as is known; each with when it last
    said so (unix seconds), None if that is not stored.
    """
    is_denial = and_(
        read_failures.c.watch_id == watches.c.id,
        read_failures.c.reason == NOT_REGISTERED,
        read_failures.c.ended_at.is_(None),
    )
    found = (
        select(watches.c.subject, func.max(read_failures.c.last_at))
        .outerjoin(read_failures, is_denial)
        .where(
            watches.c.account_id == account_id,
            watches.c.subject.in_(text(LISTED[connection.dialect.name]).bindparams(listed=listed(of_subjects))),
            IS_NOT_REGISTERED,
        )
        .group_by(watches.c.id)
    )
    return {row[0]: row[1] for row in await connection.execute(found)}


def _open(watch_ids: Sequence[int]) -> Sequence[ColumnElement[bool]]:
    return read_failures.c.watch_id.in_(watch_ids), read_failures.c.ended_at.is_(None)


async def _begin(connection: AsyncConnection, began_at: Mapping[int, int], reason: str) -> None:
    """Add a row for each watch, and delete its rows beyond the newest `MAX_KEPT`."""
    if not began_at:
        return
    rows = [
        {"watch_id": each, "reason": reason, "first_at": at, "last_at": at, "times": 1} for each, at in began_at.items()
    ]
    await connection.execute(insert(read_failures), rows)
    rank = func.row_number().over(partition_by=read_failures.c.watch_id, order_by=read_failures.c.id.desc())
    ranked = (
        select(read_failures.c.id, rank.label("rank")).where(read_failures.c.watch_id.in_(list(began_at))).subquery()
    )
    old = select(ranked.c.id).where(ranked.c.rank > MAX_KEPT)
    await connection.execute(delete(read_failures).where(read_failures.c.id.in_(old)))
