"""The SQL of the recheck's queue. It concerns every active account; who has waited longest has the next turn,
among accounts that pay and among trials; each of these groups has its places.

Instants of turns are microseconds, so that the turns of one run have an order. An account without one waits since it
was made: a new account joins behind all others. A watch that was never tried waits since it was made, too, so that
deleting and adding it again wins nothing.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from sqlalchemy import BigInteger, ColumnElement, Row, and_, case, func, literal, or_, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.plans import PlanName
from registerwatch.accounts.tables import accounts
from registerwatch.platform.clock import CLOCK_DIFFERENCE_SECONDS
from registerwatch.watches.reading.recheck_turns import (
    Turn,
    WaitingAccount,
    by_turns,
    places_of_first_reads,
    places_of_paying,
    turns_of,
)
from registerwatch.watches.tables import recheck_turns, watches

MICROSECONDS = 1_000_000
MAX_ACCOUNTS = 1_000
"""Accounts that one run looks at for subjects that it does not read already."""

_NEVER_READ = and_(watches.c.tried_at == 0, watches.c.last_sync.is_(None))


async def due(connection: AsyncConnection, now: int, places: int) -> list[Turn]:
    """The turns of a run that reads so many subjects: those of watches that were never read, then the others."""
    last = _LastTurns.of((await connection.execute(_LAST_TURNS)).all())
    first_places = places_of_first_reads(places, were_last=last.was_first_read)
    first = await _turns_of_all(
        connection, now, first_places, set(), is_first_read=True, were_paying_last=last.was_paying[True]
    )
    taken = _subjects_of(first)
    others = await _turns_of_all(
        connection, now, places - len(taken), taken, is_first_read=False, were_paying_last=last.was_paying[False]
    )
    return [*first, *others]


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


async def _turns_of_all(
    connection: AsyncConnection,
    now: int,
    places: int,
    taken: set[str],
    *,
    is_first_read: bool,
    were_paying_last: bool,
) -> list[Turn]:
    """The turns of one kind: of accounts that pay and of trials. What one group leaves unused the other takes."""
    turns = partial(_turns, connection, now, is_first_read=is_first_read)
    paying = await turns(places_of_paying(places, were_last=were_paying_last), taken, is_trial=False)
    trials = await turns(places - len(_subjects_of(paying)), taken | _subjects_of(paying), is_trial=True)
    left = places - len(_subjects_of(trials))
    if left > len(_subjects_of(paying)):
        paying = await turns(left, taken | _subjects_of(trials), is_trial=False)
    return by_turns(paying, trials)


async def _turns(
    connection: AsyncConnection, now: int, places: int, taken: set[str], *, is_first_read: bool, is_trial: bool
) -> list[Turn]:
    """The turns of one kind and group. Accounts are looked at until there are as many subjects as places."""
    waiting: list[WaitingAccount] = []
    turns: list[Turn] = []
    while places:
        last = waiting[-1] if waiting else None
        found = await _accounts(connection, now, places, last, is_first_read=is_first_read, is_trial=is_trial)
        ids = [account_id for account_id, _ in found]
        subjects = await _subjects(connection, now, ids, places + len(taken), is_first_read=is_first_read)
        waiting += [WaitingAccount(account_id, since, subjects[account_id]) for account_id, since in found]
        turns = turns_of(waiting, places, taken, is_first_read=is_first_read)
        is_full = sum(turn.subject is not None for turn in turns) == places
        if is_full or len(found) < places or len(waiting) >= MAX_ACCOUNTS:
            break
    return turns


async def _accounts(
    connection: AsyncConnection,
    now: int,
    most: int,
    after: WaitingAccount | None,
    *,
    is_first_read: bool,
    is_trial: bool,
) -> list[tuple[int, int]]:
    """The accounts of a group that wait for the longest time, after one of them, and since when each does."""
    since = _waiting_since(now, recheck_turns.c.first_reads_at if is_first_read else recheck_turns.c.rechecked_at)
    watching = select(watches.c.account_id).where(watches.c.account_id == accounts.c.id)
    never_read = accounts.c.id.in_(select(watches.c.account_id).where(_NEVER_READ))
    found = (
        select(accounts.c.id, since.label("since"))
        .join_from(accounts, recheck_turns, recheck_turns.c.account_id == accounts.c.id, isouter=True)
        .where(accounts.c.expires_at > now, never_read if is_first_read else watching.exists())
        .where(_IS_TRIAL if is_trial else ~_IS_TRIAL)
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


def _subjects_of(turns: Sequence[Turn]) -> set[str]:
    return {turn.subject for turn in turns if turn.subject is not None}


class _LastTurns(msgspec.Struct, frozen=True):
    """Whose the last turns were: whether of a watch that was never read, and for each kind whether of who pays."""

    was_first_read: bool
    was_paying: Mapping[bool, bool]

    @classmethod
    def of(cls, rows: Sequence[Row[Any]]) -> "_LastTurns":
        """What the rows of `_LAST_TURNS` say."""
        first = {row.is_trial: row.first_reads_at or 0 for row in rows}
        others = {row.is_trial: row.rechecked_at or 0 for row in rows}
        was_paying = {
            is_first_read: last.get(False, 0) > last.get(True, 0)
            for is_first_read, last in ((True, first), (False, others))
        }
        return cls(max(first.values(), default=0) > max(others.values(), default=0), was_paying)


_IS_TRIAL = accounts.c.plan == PlanName.TRIAL.value
_LAST_TURNS = (
    select(
        _IS_TRIAL.label("is_trial"),
        func.max(recheck_turns.c.first_reads_at).label("first_reads_at"),
        func.max(recheck_turns.c.rechecked_at).label("rechecked_at"),
    )
    .join_from(recheck_turns, accounts, accounts.c.id == recheck_turns.c.account_id)
    .group_by(_IS_TRIAL)
)
