"""The SQL of the recheck's queue. It concerns every active account; who has waited longest has the next turn.

Instants of turns are microseconds, so that the turns of one run have an order. An account without one waits since it
was made: a new account joins behind all others. A watch that was never tried waits since it was made, too, so that
deleting and adding it again wins nothing.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import BigInteger, ColumnElement, and_, case, func, literal, or_, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.clock import CLOCK_DIFFERENCE_SECONDS
from registerwatch.db.tables import accounts, recheck_turns, watches
from registerwatch.watches.recheck_turns import Turn, WaitingAccount, places_of_first_reads, turns_of

MICROSECONDS = 1_000_000
MAX_ACCOUNTS = 1_000
"""Accounts that one run looks at for subjects that it does not read already."""

_NEVER_READ = and_(watches.c.tried_at == 0, watches.c.last_sync.is_(None))


async def due(connection: AsyncConnection, now: int, places: int) -> list[Turn]:
    """The turns of a run that reads so many subjects: those of watches that were never read, then the others."""
    last = (await connection.execute(_LAST_TURNS)).one()
    were_last = (last.first_reads_at or 0) > (last.rechecked_at or 0)
    first_places = places_of_first_reads(places, were_last=were_last)
    first = await _turns(connection, now, first_places, set(), is_first_read=True)
    taken = {turn.subject for turn in first if turn.subject is not None}
    return [*first, *await _turns(connection, now, places - len(taken), taken, is_first_read=False)]


async def note_turns(connection: AsyncConnection, turns: Sequence[Turn], now: int) -> None:
    """These accounts have had their turns, in this order."""
    instants = {turn: now * MICROSECONDS + place for place, turn in enumerate(turns)}
    found = select(accounts.c.id).where(accounts.c.id.in_({turn.account_id for turn in turns})).order_by(accounts.c.id)
    present = set((await connection.execute(found.with_for_update(read=True, key_share=True))).scalars())
    for is_first_read, column in ((True, "first_reads_at"), (False, "rechecked_at")):
        last = {
            turn.account_id: instant
            for turn, instant in instants.items()
            if turn.is_first_read is is_first_read and turn.account_id in present
        }
        if last:
            await _store(connection, column, last)


async def _store(connection: AsyncConnection, column: str, last: Mapping[int, int]) -> None:
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    added = insert(recheck_turns)
    stored = added.on_conflict_do_update(index_elements=["account_id"], set_={column: added.excluded[column]})
    await connection.execute(stored, [{"account_id": each, column: last[each]} for each in sorted(last)])


async def _turns(
    connection: AsyncConnection, now: int, places: int, taken: set[str], *, is_first_read: bool
) -> list[Turn]:
    """The turns of one kind. Accounts are looked at until there are as many subjects as places."""
    waiting: list[WaitingAccount] = []
    turns: list[Turn] = []
    while places:
        found = await _accounts(connection, now, places, waiting[-1] if waiting else None, is_first_read=is_first_read)
        ids = [account_id for account_id, _ in found]
        subjects = await _subjects(connection, now, ids, places + len(taken), is_first_read=is_first_read)
        waiting += [WaitingAccount(account_id, since, subjects[account_id]) for account_id, since in found]
        turns = turns_of(waiting, places, taken, is_first_read=is_first_read)
        is_full = sum(turn.subject is not None for turn in turns) == places
        if is_full or len(found) < places or len(waiting) >= MAX_ACCOUNTS:
            break
    return turns


async def _accounts(
    connection: AsyncConnection, now: int, most: int, after: WaitingAccount | None, *, is_first_read: bool
) -> list[tuple[int, int]]:
    """The accounts that wait for the longest time, after one of them, and since when each does."""
    since = _waiting_since(now, recheck_turns.c.first_reads_at if is_first_read else recheck_turns.c.rechecked_at)
    watching = select(watches.c.account_id).where(watches.c.account_id == accounts.c.id)
    never_read = accounts.c.id.in_(select(watches.c.account_id).where(_NEVER_READ))
    found = (
        select(accounts.c.id, since.label("since"))
        .join_from(accounts, recheck_turns, recheck_turns.c.account_id == accounts.c.id, isouter=True)
        .where(accounts.c.expires_at > now, never_read if is_first_read else watching.exists())
        .order_by(since, accounts.c.id)
        .limit(most)
    )
    if after is not None:
        last = literal(after.waiting_since, BigInteger), literal(after.id, BigInteger)
        found = found.where(tuple_(since, accounts.c.id) > tuple_(*last))
    return [(row.id, row.since) for row in await connection.execute(found)]


async def _subjects(
    connection: AsyncConnection, now: int, account_ids: Sequence[int], most: int, *, is_first_read: bool
) -> dict[int, list[str]]:
    """So many subjects of each account, the longest unread first."""
    longest_unread_first = unread_since(now), watches.c.tried_at, watches.c.id
    place = func.row_number().over(partition_by=watches.c.account_id, order_by=longest_unread_first).label("place")
    ranked = select(watches.c.account_id, watches.c.subject, place).where(watches.c.account_id.in_(account_ids))
    if is_first_read:
        ranked = ranked.where(_NEVER_READ)
    chosen = ranked.subquery()
    found = select(chosen).where(chosen.c.place <= most).order_by(chosen.c.account_id, chosen.c.place)
    subjects: dict[int, list[str]] = {account_id: [] for account_id in account_ids}
    for row in await connection.execute(found):
        subjects[row.account_id].append(row.subject)
    return subjects


def unread_since(now: int) -> ColumnElement[int]:
    """Since when a watch waits to be read: since its last try, or since it was made.

    One that is to be read next, as `repository.make_due` notes, waits since for ever; so does one that was tried after
    now, since the clock was put back.
    """
    made_due = and_(watches.c.tried_at == 0, watches.c.last_sync > watches.c.created_at)
    since = case((watches.c.tried_at > 0, watches.c.tried_at), else_=watches.c.created_at)
    return case((or_(made_due, since > now + CLOCK_DIFFERENCE_SECONDS), 0), else_=since)


def _waiting_since(now: int, last_turn: ColumnElement[int]) -> ColumnElement[int]:
    since = func.coalesce(last_turn, accounts.c.created_at * MICROSECONDS)
    is_ahead = since > (now + CLOCK_DIFFERENCE_SECONDS) * MICROSECONDS
    return case((is_ahead, literal(0, BigInteger)), else_=since)


_LAST_TURNS = select(
    func.max(recheck_turns.c.first_reads_at).label("first_reads_at"),
    func.max(recheck_turns.c.rechecked_at).label("rechecked_at"),
)
