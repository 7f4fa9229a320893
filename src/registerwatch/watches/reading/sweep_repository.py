"""The SQL of sweeps for watches, over the watches of every account."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import ColumnElement, and_, case, distinct, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.tables import accounts
from registerwatch.copy.sweeps import SweptManufacturer
from registerwatch.watches.models import READ_IN_PART
from registerwatch.watches.tables import watches


class FailedTry(msgspec.Struct, frozen=True):
    """The last, failed try of a subject, and since when tries have failed (unix seconds)."""

    subject: str
    tried_at: int
    since: int


async def manufacturers(connection: AsyncConnection, now: int) -> Sequence[SweptManufacturer]:
    """The manufacturers of all watched subjects, with what active accounts watch of each."""
    is_active = accounts.c.expires_at > now
    found = (
        select(
            watches.c.manufacturer_srn,
            func.max(case((and_(is_active, _is_of("srn")), 1), else_=0)),
            func.count(distinct(case((and_(is_active, _is_of("udi")), watches.c.subject)))),
        )
        .join(accounts, accounts.c.id == watches.c.account_id)
        .where(watches.c.manufacturer_srn != "")
        .group_by(watches.c.manufacturer_srn)
    )
    return [
        SweptManufacturer(srn, bool(lists_all), number) for srn, lists_all, number in await connection.execute(found)
    ]


async def devices_of(connection: AsyncConnection, srn: str, now: int) -> Sequence[str]:
    """The UDI-DIs of a manufacturer that active accounts watch."""
    found = (
        select(watches.c.subject)
        .join(accounts, accounts.c.id == watches.c.account_id)
        .where(watches.c.manufacturer_srn == srn, _is_of("udi"), accounts.c.expires_at > now)
        .distinct()
    )
    return (await connection.execute(found)).scalars().all()


async def failed_tries(connection: AsyncConnection, subjects: Sequence[str], now: int) -> Sequence[FailedTry]:
    """The failed last tries of some subjects, by watches of active accounts. A read that lacked only certificates is
    not a failed try; a watch that was made due again has no try.
    """
    found = (
        select(watches.c.subject, watches.c.tried_at, watches.c.failing_since, watches.c.last_sync)
        .join(accounts, accounts.c.id == watches.c.account_id)
        .where(
            watches.c.subject.in_(subjects),
            watches.c.failing_since.is_not(None),
            watches.c.last_error.not_in(READ_IN_PART),
            watches.c.tried_at > 0,
            accounts.c.expires_at > now,
        )
    )
    return [
        FailedTry(row.subject, row.tried_at, max(row.failing_since, row.last_sync or 0))
        for row in await connection.execute(found)
    ]


def _is_of(kind: str) -> ColumnElement[bool]:
    return watches.c.kind == kind
