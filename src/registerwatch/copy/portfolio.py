"""SQL for the devices of watched manufacturers as they were last listed, and for the log of changes in the lists.

Functions run in the transaction of the given connection.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from sqlalchemy import and_, case, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy.tables import devices, portfolio_devices, portfolio_news
from registerwatch.register.codes import StatusFilter
from registerwatch.register.models import RecordPrecedence

MAX_NAME = 200
"""Characters of a device's name in the log."""
_CHUNK = 1_000


class ListedDevice(msgspec.Struct, frozen=True):
    """A row of a manufacturer's list."""

    uuid: str
    udi: str
    name: str
    status_code: str
    is_latest: bool
    version: int
    """0 where the row does not give it."""


class StoredListing(msgspec.Struct, frozen=True):
    """A stored row. `is_listed` says that the present walk has listed it, `was_on_market` the last result for its
    UDI-DI, None without one; `is_settled` says that an earlier walk found it as it is. Rows lack the legislation, which
    comes from the copy.
    """

    udi: str
    status_code: str
    precedence: RecordPrecedence
    is_listed: bool
    was_on_market: bool | None
    is_settled: bool


class PortfolioChange(StrEnum):
    """The kind of a UDI-DI's change."""

    REGISTERED = "registered"
    OFF_MARKET = "off_market"
    ON_MARKET = "on_market"


class PortfolioNews(msgspec.Struct, frozen=True):
    """A change of a manufacturer's devices. `visible_at` is before the request that listed it."""

    udi: str
    name: str
    change: PortfolioChange
    visible_at: int


async def known_udis(connection: AsyncConnection, srn: str, udis: Sequence[str]) -> set[str]:
    """The UDI-DIs among these that were listed before."""
    listed = portfolio_devices.c.srn == srn, portfolio_devices.c.primary_di.in_(udis)
    return set((await connection.execute(select(portfolio_devices.c.primary_di).where(*listed).distinct())).scalars())


async def store_rows(connection: AsyncConnection, srn: str, rows: Sequence[ListedDevice], walk: int) -> None:
    """Store rows of a page. The market result of a record's old UDI-DI does not apply to a new one."""
    if not rows:
        return
    values = [
        {
            "srn": srn,
            "uuid": row.uuid,
            "primary_di": row.udi,
            "status_code": row.status_code,
            "is_latest": row.is_latest,
            "version_number": row.version,
            "walk": walk,
            "changed_walk": walk,
        }
        for row in sorted(rows, key=lambda row: row.uuid)
    ]
    added = (postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert)(portfolio_devices)
    compared = "primary_di", "status_code", "is_latest", "version_number"
    is_same = portfolio_devices.c.primary_di == added.excluded.primary_di
    is_as_before = and_(*(portfolio_devices.c[name] == added.excluded[name] for name in compared))
    columns = {
        **{name: added.excluded[name] for name in (*compared, "walk")},
        "on_market": case((is_same, portfolio_devices.c.on_market)),
        "changed_walk": case((is_as_before, portfolio_devices.c.changed_walk), else_=added.excluded.changed_walk),
    }
    await connection.execute(added.on_conflict_do_update(index_elements=["srn", "uuid"], set_=columns), values)


async def count_listed(connection: AsyncConnection, srn: str, walk: int) -> int:
    """How many records a walk has listed."""
    listed = select(func.count()).where(portfolio_devices.c.srn == srn, portfolio_devices.c.walk == walk)
    return (await connection.execute(listed)).scalar_one()


async def count_known(connection: AsyncConnection, srn: str) -> int:
    """How many records were ever listed, also by incomplete walks."""
    return (await connection.execute(select(func.count()).where(portfolio_devices.c.srn == srn))).scalar_one()


async def count_among(connection: AsyncConnection, srn: str, uuids: Sequence[str], walk: int) -> int:
    """How many of these records a walk has listed."""
    table = portfolio_devices.c
    listed = table.srn == srn, table.uuid.in_(uuids), table.walk == walk
    return (await connection.execute(select(func.count()).where(*listed))).scalar_one()


async def listings_to_judge(connection: AsyncConnection, srn: str, walk: int) -> Sequence[StoredListing]:
    """All rows of the UDI-DIs with a record that differs from the last result for them."""
    table = portfolio_devices.c
    is_on = case((table.status_code == StatusFilter.ON.code, True), else_=False)
    differs = table.srn == srn, table.walk == walk, table.on_market.is_distinct_from(is_on)
    udis = select(table.primary_di).where(*differs)
    found = (
        select(
            table.primary_di,
            table.status_code,
            table.uuid,
            table.is_latest,
            devices.c.legislation_code,
            table.version_number,
            table.walk == walk,
            table.on_market,
            table.changed_walk < walk,
        )
        .outerjoin_from(
            portfolio_devices, devices, and_(devices.c.primary_di == table.primary_di, devices.c.uuid == table.uuid)
        )
        .where(table.srn == srn, table.primary_di.in_(udis))
    )
    return [_listing(*row) for row in await connection.execute(found)]


def _listing(
    udi: str,
    status_code: str,
    uuid: str,
    is_latest: bool,
    legislation_code: str | None,
    version: int,
    *rest: Any,
) -> StoredListing:
    precedence = RecordPrecedence(uuid, is_latest, legislation_code or "", version)
    return StoredListing(udi, status_code, precedence, *rest)


async def has_unsettled(connection: AsyncConnection, srn: str, walk: int) -> bool:
    """Whether the records of some UDI-DI disagree, and one of them changed in this walk."""
    table = portfolio_devices.c
    unsettled = (
        select(table.primary_di)
        .where(table.srn == srn, table.walk == walk)
        .group_by(table.primary_di)
        .having(func.min(table.status_code) != func.max(table.status_code), func.max(table.changed_walk) == walk)
        .limit(1)
    )
    return (await connection.execute(unsettled)).first() is not None


async def note_markets(connection: AsyncConnection, srn: str, on_market: Mapping[str, bool]) -> None:
    """Store whether UDI-DIs were found on the market."""
    table = portfolio_devices
    for value in (True, False):
        udis = sorted(udi for udi, found in on_market.items() if found is value)
        for start in range(0, len(udis), _CHUNK):
            of_udis = table.c.srn == srn, table.c.primary_di.in_(udis[start : start + _CHUNK])
            is_news = table.c.on_market.is_distinct_from(value)
            await connection.execute(update(table).where(*of_udis, is_news).values(on_market=value))


async def forget_replaced(connection: AsyncConnection, srn: str, walk: int) -> None:
    """Forget records that a complete walk did not list, where it listed another one of their UDI-DI. The market result
    of the UDI-DI stays with the listed ones, also where the walk judged nothing.
    """
    table, other = portfolio_devices.c, portfolio_devices.alias().c
    judged = other.srn == srn, other.walk < walk, other.on_market.is_not(None)
    found = select(func.max(case((other.on_market, 1), else_=0)) == 1).where(
        *judged, other.primary_di == table.primary_di
    )
    not_judged = table.srn == srn, table.walk == walk, table.on_market.is_(None)
    after_judged = *not_judged, table.primary_di.in_(select(other.primary_di).where(*judged))
    await connection.execute(update(portfolio_devices).where(*after_judged).values(on_market=found.scalar_subquery()))
    listed = select(table.primary_di).where(table.srn == srn, table.walk == walk)
    gone = table.srn == srn, table.walk < walk, table.primary_di.in_(listed)
    await connection.execute(delete(portfolio_devices).where(*gone))


async def add_news(connection: AsyncConnection, srn: str, news: Sequence[PortfolioNews], now: int) -> None:
    """Write changes into the log."""
    rows: list[dict[str, Any]] = [
        {
            "srn": srn,
            "primary_di": each.udi,
            "name": each.name[:MAX_NAME],
            "change": each.change,
            "found_at": now,
            "visible_at": each.visible_at,
        }
        for each in news
    ]
    if rows:
        await connection.execute(insert(portfolio_news), rows)
