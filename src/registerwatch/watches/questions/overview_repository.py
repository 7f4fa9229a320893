"""The SQL of the overview. Every function about watches takes the account's id."""

from collections.abc import Mapping, Sequence

import msgspec
from sqlalchemy import ColumnElement, case, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.platform.db.tables import ticks
from registerwatch.platform.db.text_search import holds_text
from registerwatch.register.codes import StatusFilter
from registerwatch.watches.models import HealthState
from registerwatch.watches.repository import IS_NOT_REGISTERED, health_state
from registerwatch.watches.tables import watches


class StateCount(msgspec.Struct, frozen=True):
    """Counts of the watches in one state: all, never read, failed, devices not on the EU market, with a snapshot; and
    their oldest last read.
    """

    watches: int
    never_read: int
    failed: int
    read_first: int | None
    off_market: int
    once_read: int


class FailingWatch(msgspec.Struct, frozen=True):
    """A watch whose last read failed."""

    id: int
    subject: str
    label: str
    last_error: str
    failing_since: int


async def states(
    connection: AsyncConnection, account_id: int, now: int
) -> tuple[Mapping[HealthState, StateCount], int | None]:
    """The account's watches by state, and the time slot of the last recheck; None for an account without watches."""
    state = health_state(now)
    last_recheck = select(ticks.c.slot).where(ticks.c.name == "recheck").scalar_subquery()
    counted = (
        select(
            state,
            func.count(),
            func.sum(case((watches.c.last_sync.is_(None), 1), else_=0)),
            func.sum(case((watches.c.failing_since.is_not(None), 1), else_=0)),
            func.min(watches.c.last_sync),
            func.sum(case((or_(*_off_market()), 1), else_=0)),
            func.count(watches.c.snapshot),
            last_recheck,
        )
        .where(watches.c.account_id == account_id)
        .group_by(state)
    )
    rows = (await connection.execute(counted)).all()
    return {row[0]: StateCount(*row[1:7]) for row in rows}, next((row[7] for row in rows), None)


async def failing(connection: AsyncConnection, account_id: int, limit: int) -> Sequence[FailingWatch]:
    """The account's watches whose last read failed, longest failing first; without those unknown to the register."""
    row = watches.c
    found = (
        select(row.id, row.subject, row.label, row.last_error, row.failing_since)
        .where(row.account_id == account_id, row.failing_since.is_not(None), ~IS_NOT_REGISTERED)
        .order_by(row.failing_since, row.id)
        .limit(limit)
    )
    return [FailingWatch(*each) for each in await connection.execute(found)]


def _off_market() -> Sequence[ColumnElement[bool]]:
    """Conditions for devices. Quotation marks within values have a backslash, so no value passes for the field."""
    codes = (StatusFilter.OFF.code, StatusFilter.NOT_EU.code)
    return [holds_text(watches.c.snapshot, f'"status_code":"{code}"') for code in codes]
