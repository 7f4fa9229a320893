"""The SQL of what is swept for watches. It concerns the watches of every account."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, case, distinct, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.db.tables import accounts, watches
from registerwatch.register.store.sweeps import SweptManufacturer


async def manufacturers(connection: AsyncConnection, now: int) -> Sequence[SweptManufacturer]:
    """The manufacturers of everything that is watched, with what active accounts watch of each."""
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


def _is_of(kind: str) -> ColumnElement[bool]:
    return watches.c.kind == kind
