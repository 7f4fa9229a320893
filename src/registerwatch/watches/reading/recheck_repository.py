"""The SQL of the recheck's queue of active accounts, in which the account that has waited longest is next.

Paying accounts and trials have slots and an order of their own. An account's last service is stored in microseconds,
which keeps the order within a run. An account that was never served waits since it was created: it joins at the end. A
watch that was never tried waits since it was added: deleting and adding it again wins nothing.
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
from registerwatch.watches.reading.recheck_order import (
    RecheckEntry,
    WaitingAccount,
    alternated,
    order_of,
    slots_of_first_reads,
    slots_of_paying,
)
from registerwatch.watches.repository import MADE_DUE
from registerwatch.watches.tables import recheck_turns, watches

MICROSECONDS = 1_000_000
MAX_ACCOUNTS = 1_000
"""Accounts that one run looks at for subjects that it does not read already."""

_NEVER_READ = and_(watches.c.tried_at == 0, watches.c.last_sync.is_(None))


async def due(connection: AsyncConnection, now: int, slots: int) -> list[RecheckEntry]:
    """The entries of a run of this many slots: those of watches that were never read, then the others."""
    last = _LastServed.of((await connection.execute(_LAST_SERVED)).all())
    first_slots = slots_of_first_reads(slots, were_last=last.was_first_read)
    first = await _entries_of_all(
        connection, now, first_slots, set(), is_first_read=True, were_paying_last=last.was_paying[True]
    )
    taken = _subjects_of(first)
    others = await _entries_of_all(
        connection, now, slots - len(taken), taken, is_first_read=False, were_paying_last=last.was_paying[False]
    )
    return [*first, *others]


async def note_served(connection: AsyncConnection, entries: Sequence[RecheckEntry], now: int) -> None:
    """Store that these accounts were served, in this order."""
    instants = {entry: now * MICROSECONDS + position for position, entry in enumerate(entries)}
    found = (
        select(accounts.c.id).where(accounts.c.id.in_({entry.account_id for entry in entries})).order_by(accounts.c.id)
    )
    present = set((await connection.execute(found.with_for_update(read=True, key_share=True))).scalars())
    for is_first_read, column in ((True, "first_reads_at"), (False, "rechecked_at")):
        last = {
            entry.account_id: instant
            for entry, instant in instants.items()
            if entry.is_first_read is is_first_read and entry.account_id in present
        }
        if last:
            await _store(connection, column, last)


async def _store(connection: AsyncConnection, column: str, last: Mapping[int, int]) -> None:
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    added = insert(recheck_turns)
    stored = added.on_conflict_do_update(index_elements=["account_id"], set_={column: added.excluded[column]})
    await connection.execute(stored, [{"account_id": each, column: last[each]} for each in sorted(last)])


async def _entries_of_all(
    connection: AsyncConnection,
    now: int,
    slots: int,
    taken: set[str],
    *,
    is_first_read: bool,
    were_paying_last: bool,
) -> list[RecheckEntry]:
    """The entries of one kind. Paying accounts and trials can each use the slots that the other leaves free."""
    entries = partial(_entries, connection, now, is_first_read=is_first_read)
    paying = await entries(slots_of_paying(slots, were_last=were_paying_last), taken, is_trial=False)
    trials = await entries(slots - len(_subjects_of(paying)), taken | _subjects_of(paying), is_trial=True)
    left = slots - len(_subjects_of(trials))
    if left > len(_subjects_of(paying)):
        paying = await entries(left, taken | _subjects_of(trials), is_trial=False)
    return alternated(paying, trials)


async def _entries(
    connection: AsyncConnection, now: int, slots: int, taken: set[str], *, is_first_read: bool, is_trial: bool
) -> list[RecheckEntry]:
    """The entries of one kind and group. Accounts are read until the slots are full."""
    waiting: list[WaitingAccount] = []
    entries: list[RecheckEntry] = []
    while slots:
        last = waiting[-1] if waiting else None
        found = await _accounts(connection, now, slots, last, is_first_read=is_first_read, is_trial=is_trial)
        ids = [account_id for account_id, _ in found]
        subjects = await _subjects(connection, now, ids, slots + len(taken), is_first_read=is_first_read)
        waiting += [WaitingAccount(account_id, since, subjects[account_id]) for account_id, since in found]
        entries = order_of(waiting, slots, taken, is_first_read=is_first_read)
        is_full = sum(entry.subject is not None for entry in entries) == slots
        if is_full or len(found) < slots or len(waiting) >= MAX_ACCOUNTS:
            break
    return entries


async def _accounts(
    connection: AsyncConnection,
    now: int,
    most: int,
    after: WaitingAccount | None,
    *,
    is_first_read: bool,
    is_trial: bool,
) -> list[tuple[int, int]]:
    """The accounts of a group in the order of their waiting, after one of them, each with since when it waits."""
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
    """At most `most` subjects of each account, longest unread first."""
    longest_unread_first = unread_since(now), watches.c.tried_at, watches.c.id
    rank = func.row_number().over(partition_by=watches.c.account_id, order_by=longest_unread_first).label("rank")
    ranked = select(watches.c.account_id, watches.c.subject, rank).where(watches.c.account_id.in_(account_ids))
    if is_first_read:
        ranked = ranked.where(_NEVER_READ)
    chosen = ranked.subquery()
    found = select(chosen).where(chosen.c.rank <= most).order_by(chosen.c.account_id, chosen.c.rank)
    subjects: dict[int, list[str]] = {account_id: [] for account_id in account_ids}
    for row in await connection.execute(found):
        subjects[row.account_id].append(row.subject)
    return subjects


def unread_since(now: int) -> ColumnElement[int]:
    """Since when a watch waits to be read: its last try, else when it was added.

    0 for a watch that `repository.make_due` marked to be read next, and for one whose last try is in the future, as
    after the clock was put back.
    """
    was_read_since = and_(watches.c.tried_at == 0, watches.c.last_sync > watches.c.created_at)
    made_due = or_(was_read_since, watches.c.tried_at == MADE_DUE)
    since = case((watches.c.tried_at > 0, watches.c.tried_at), else_=watches.c.created_at)
    return case((or_(made_due, since > now + CLOCK_DIFFERENCE_SECONDS), 0), else_=since)


def _waiting_since(now: int, last_served: ColumnElement[int]) -> ColumnElement[int]:
    since = func.coalesce(last_served, accounts.c.created_at * MICROSECONDS)
    is_ahead = since > (now + CLOCK_DIFFERENCE_SECONDS) * MICROSECONDS
    return case((is_ahead, literal(0, BigInteger)), else_=since)


def _subjects_of(entries: Sequence[RecheckEntry]) -> set[str]:
    return {entry.subject for entry in entries if entry.subject is not None}


class _LastServed(msgspec.Struct, frozen=True):
    """Whether the last entry was of a watch that was never read, and for each kind whether a paying account's."""

    was_first_read: bool
    was_paying: Mapping[bool, bool]

    @classmethod
    def of(cls, rows: Sequence[Row[Any]]) -> "_LastServed":
        """Read the rows of `_LAST_SERVED`."""
        first = {row.is_trial: row.first_reads_at or 0 for row in rows}
        others = {row.is_trial: row.rechecked_at or 0 for row in rows}
        was_paying = {
            is_first_read: last.get(False, 0) > last.get(True, 0)
            for is_first_read, last in ((True, first), (False, others))
        }
        return cls(max(first.values(), default=0) > max(others.values(), default=0), was_paying)


_IS_TRIAL = accounts.c.plan == PlanName.TRIAL.value
_LAST_SERVED = (
    select(
        _IS_TRIAL.label("is_trial"),
        func.max(recheck_turns.c.first_reads_at).label("first_reads_at"),
        func.max(recheck_turns.c.rechecked_at).label("rechecked_at"),
    )
    .join_from(recheck_turns, accounts, accounts.c.id == recheck_turns.c.account_id)
    .group_by(_IS_TRIAL)
)
