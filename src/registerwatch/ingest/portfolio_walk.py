"""Stores a page of a manufacturer's devices among those listed before, with its news."""

from collections.abc import Sequence

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.copy import portfolio
from registerwatch.copy.names import stored_names
from registerwatch.copy.portfolio import ListedDevice, PortfolioChange, PortfolioNews
from registerwatch.copy.sweeps import DeviceSweep
from registerwatch.ingest.portfolio_changes import judged, newly_registered
from registerwatch.register.models import DeviceReading, precedence_of


class StoredPage(msgspec.Struct, frozen=True):
    """The result of a page: records that the walk had not listed before, and changes."""

    new: int
    news: int


async def store_page(
    connection: AsyncConnection,
    sweep: DeviceSweep,
    readings: Sequence[DeviceReading],
    *,
    asked_at: int,
    now: int,
) -> StoredPage:
    """Store a page of a walk. UDI-DIs that were never listed are news once all devices were listed before."""
    rows = list({reading.device.uuid: _listed(reading) for reading in readings}.values())
    again = await portfolio.count_among(connection, sweep.srn, [row.uuid for row in rows], sweep.walk)
    udis, new = sorted({row.udi for row in rows}), list[ListedDevice]()
    if sweep.complete_at is not None:
        new = newly_registered(rows, await portfolio.known_udis(connection, sweep.srn, udis))
    await portfolio.store_rows(connection, sweep.srn, rows, sweep.walk)
    news = [PortfolioNews(row.udi, row.name, PortfolioChange.REGISTERED, asked_at) for row in new]
    await portfolio.add_news(connection, sweep.srn, news, now)
    return StoredPage(len(rows) - again, len(news))


async def end_complete_walk(
    connection: AsyncConnection, sweep: DeviceSweep, *, is_one_page: bool, began_at: int, now: int
) -> int:
    """Note the devices that came on the market or left it, after a walk that listed all. Returns their number."""
    judgement = judged(await portfolio.listings_to_judge(connection, sweep.srn, sweep.walk), is_one_page=is_one_page)
    await portfolio.note_markets(connection, sweep.srn, judgement.on_market)
    await portfolio.forget_replaced(connection, sweep.srn, sweep.walk)
    names = await stored_names(connection, list(judgement.changes))
    news = [
        PortfolioNews(udi, names[udi].name if udi in names else "", change, began_at)
        for udi, change in sorted(judgement.changes.items())
    ]
    await portfolio.add_news(connection, sweep.srn, news, now)
    return len(news)


def _listed(reading: DeviceReading) -> ListedDevice:
    device = reading.device
    precedence = precedence_of(reading)
    return ListedDevice(
        device.uuid,
        device.udi,
        device.trade_name,
        device.status_code,
        precedence.latest_version,
        precedence.version_number,
    )
