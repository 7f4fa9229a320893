"""Sets the cursors from which watches report news, when they are added or an option is switched on."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.register.identifiers import kind
from registerwatch.watches import repository
from registerwatch.watches.news import news_repository
from registerwatch.watches.news.news_repository import NewsLog
from registerwatch.watches.options import OptionChange, WatchOptions, with_options
from registerwatch.watches.questions import watch_details_repository


async def begin_added(connection: AsyncConnection, account_id: int, subjects: Sequence[str], now: int) -> None:
    """Let watches that were just added report news from now on."""
    manufacturers = [subject for subject in subjects if kind(subject) == "srn"]
    if manufacturers:
        ids = list((await repository.ids_of(connection, account_id, manufacturers)).values())
        for log in NewsLog:
            await news_repository.begin(connection, account_id, ids, log, now)


async def set_options(
    connection: AsyncConnection, account_id: int, watch_id: int, change: OptionChange, now: int
) -> None:
    """Set options of a watch, if it is one of the account."""
    await watch_details_repository.lock(connection, account_id, watch_id)
    found = await watch_details_repository.with_settings(connection, account_id, watch_id)
    if found is not None:
        watch, stored = found
        wanted = change.applied_to(watch.options)
        options = with_options(stored.options, wanted)
        await watch_details_repository.set_options(connection, account_id, watch_id, options)
        await begin_switched_on(connection, account_id, watch_id, watch.options, wanted, now)


async def begin_switched_on(
    connection: AsyncConnection, account_id: int, watch_id: int, before: WatchOptions, after: WatchOptions, now: int
) -> None:
    """Let a watch report news from now on for each option that was switched on."""
    if after.portfolio and not before.portfolio:
        await news_repository.begin(connection, account_id, [watch_id], NewsLog.PORTFOLIO, now)
    if after.certificates and not before.certificates:
        await news_repository.begin(connection, account_id, [watch_id], NewsLog.CERTIFICATES, now)
