"""Reports news of sweeps to watches of manufacturers: devices registered or off the market, and certificates.

Sweeps write news into logs; each watch has a cursor over each log. News after the cursor is reported in the
transaction that moves it, so that each watch gets everything once, whatever is restarted. Where a watch's option is
off, its cursor moves and nothing is reported. Watches of accounts whose period has ended keep their cursors.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.register.observation import ReadContext
from registerwatch.watches.diff import summary_of
from registerwatch.watches.events.event_publisher import EventPublisher, FoundEvent
from registerwatch.watches.news import news_repository
from registerwatch.watches.news.news_changes import certificate_changes, portfolio_changes, portfolio_counts
from registerwatch.watches.news.news_repository import CertificateNews, NewsLog, NewsReader, PortfolioNews
from registerwatch.watches.outbox import Outbox

MAX_WATCHES = 1_000
"""Watches whose news of certificates are read at a time."""


class WatchNews:
    """Makes events and deliveries from news in the logs."""

    def __init__(self, outbox: Outbox) -> None:
        self._publisher = EventPublisher(outbox)

    async def notify_portfolio(self, connection: AsyncConnection, srn: str, *, now: int) -> None:
        """Report a manufacturer's devices to its watches: one event each, with all news after the cursor.

        A watch without a baseline gets one where the manufacturer's devices were listed completely since it was made.
        """
        readers = await news_repository.portfolio_readers(connection, srn, now)
        if not readers:
            return
        last = await news_repository.last_of_manufacturer(connection, srn)
        notified = [each for each in readers if each.seen is not None and each.options.portfolio]
        news = {
            seen: await news_repository.portfolio_after(connection, srn, seen, last)
            for seen in sorted({each.seen for each in notified if each.seen is not None})
        }
        context = ReadContext()
        found = [_portfolio_event(each, about, context) for each in notified if (about := news.get(each.seen or 0))]
        await self._publisher.publish(connection, found, context, now)
        await news_repository.set_seen(connection, NewsLog.PORTFOLIO, [each.id for each in readers], last)

    async def notify_certificates(self, connection: AsyncConnection, *, now: int) -> None:
        """Report certificates to all watches of manufacturers: one event each, with all news after the cursor.

        A watch without a baseline gets one where all certificates were listed completely since it was made.
        """
        readers = await news_repository.certificate_readers(connection, now)
        if not readers:
            return
        last = await news_repository.last_of_certificates(connection)
        notified = [each for each in readers if each.seen is not None and each.options.certificates]
        context = ReadContext()
        found: list[FoundEvent] = []
        for start in range(0, len(notified), MAX_WATCHES):
            some = notified[start : start + MAX_WATCHES]
            news = await news_repository.certificates_after(connection, [each.id for each in some], last)
            found += [event for each in some if (event := _certificate_event(each, news, context))]
        await self._publisher.publish(connection, found, context, now)
        await news_repository.set_seen(connection, NewsLog.CERTIFICATES, [each.id for each in readers], last)


def _portfolio_event(watch: NewsReader, news: PortfolioNews, context: ReadContext) -> FoundEvent:
    return FoundEvent(
        account_id=watch.account_id,
        watch_id=watch.id,
        subject=watch.srn,
        label=watch.label,
        changes=portfolio_changes(news.counts, news.named),
        options=watch.options,
        manufacturer_srn=watch.srn,
        cause=_cause(watch, context),
        visible_at=news.visible_at,
        summary=summary_of(portfolio_counts(news.counts)),
    )


def _certificate_event(
    watch: NewsReader, news: Mapping[str, Sequence[CertificateNews]], context: ReadContext
) -> FoundEvent | None:
    """The event of one watch; None without unreported news."""
    new = [each for each in news.get(watch.srn, ()) if watch.seen is not None and each.id > watch.seen]
    changes, summary = certificate_changes([change for each in new for change in each.changes])
    if not changes:
        return None
    return FoundEvent(
        account_id=watch.account_id,
        watch_id=watch.id,
        subject=watch.srn,
        label=watch.label,
        changes=changes,
        options=watch.options,
        manufacturer_srn=watch.srn,
        cause=_cause(watch, context),
        visible_at=min(each.visible_at for each in new),
        summary=summary,
    )


def _cause(watch: NewsReader, context: ReadContext) -> str:
    """The cause of events of one manufacturer, from one run of news."""
    return f"{context.batch}/{watch.srn}"
