"""Devices of manufacturers as they were listed, and the log of what changed: the limits of both databases."""

from sqlalchemy import insert, select

from registerwatch.copy import portfolio
from registerwatch.copy.history.portfolio_history import PortfolioHistory
from registerwatch.copy.names import stored_names
from registerwatch.copy.portfolio import MAX_NAME, ListedDevice, PortfolioChange, PortfolioNews
from registerwatch.copy.tables import portfolio_news
from registerwatch.ingest.portfolio_changes import judged
from registerwatch.platform.db.engine import Database
from registerwatch.register.codes import StatusFilter

SRN = "DE-MF-000000001"
ON, OFF = StatusFilter.ON.code, StatusFilter.OFF.code


async def changes(database: Database, walk: int, *rows: ListedDevice) -> dict[str, PortfolioChange]:
    """What a complete walk with these rows tells of the market."""
    async with database.transaction() as connection:
        await portfolio.store_rows(connection, SRN, rows, walk)
        judgement = judged(await portfolio.listings_to_judge(connection, SRN, walk), is_one_page=True)
        await portfolio.note_markets(connection, SRN, judgement.on_market)
    return dict(judgement.changes)


async def test_a_record_that_has_another_udi_di_takes_no_standing_along(database: Database) -> None:
    moving, twin = ListedDevice("u-1", "1", "", ON, True, 1), ListedDevice("u-2", "1", "", OFF, False, 1)
    assert await changes(database, 1, moving, twin) == {}

    moved = ListedDevice("u-1", "2", "", OFF, True, 1)

    assert await changes(database, 2, moved, twin) == {"1": PortfolioChange.OFF_MARKET}
    assert await changes(database, 3, moved, twin) == {}


async def test_many_devices_are_named_at_once_and_no_name_is_longer_than_a_line(database: Database) -> None:
    async with database.transaction() as connection:
        assert await stored_names(connection, [f"{each:014}" for each in range(66_000)]) == {}
        await portfolio.add_news(connection, SRN, [PortfolioNews("1", "n" * 9_000, PortfolioChange.REGISTERED, 1)], 1)
        [name] = (await connection.execute(select(portfolio_news.c.name))).scalars()
    assert name == "n" * MAX_NAME


async def test_groups_of_changes_go_on_where_the_last_page_ended(database: Database) -> None:
    news = [
        {"srn": SRN, "primary_di": str(each), "name": "", "change": change, "found_at": each // 3, "visible_at": 1}
        for each in range(30)
        for change in ("registered", "off_market")
    ]
    async with database.transaction() as connection:
        await connection.execute(insert(portfolio_news), news)
    history, found = PortfolioHistory(database), []

    until, before = 2**40, 2**40
    while page := await history.groups(SRN, until=until, before=before, limit=3):
        assert len(page) <= 3
        found += [(each.found_at, each.change, each.total) for each in page]
        until, before = page[-1].found_at, page[-1].id

    assert found == [(at, change, 3) for at in reversed(range(10)) for change in ("off_market", "registered")]
