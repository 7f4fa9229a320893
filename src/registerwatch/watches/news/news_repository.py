"""The SQL of news: the logs of what sweeps found, and the cursors of watches over them.

A writer of a log holds a lock from before its first row to the end of its transaction: `device_sweeps` of the
manufacturer for `portfolio_news`, `walks` for `certificate_news`. So ids of news grow in the order in which they become
visible, and a cursor leaves nothing out. Functions run in the transaction of the connection that they are given.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Select, case, exists, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registerwatch.accounts.tables import accounts
from registerwatch.copy.tables import certificate_news, device_sweeps, portfolio_news, walks
from registerwatch.platform.clock import CLOCK_DIFFERENCE_SECONDS
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.news.news_changes import FIELD_OF_NEWS, MAX_DEVICES, DeviceNews
from registerwatch.watches.options import WatchOptions, options_of
from registerwatch.watches.repository import chunks
from registerwatch.watches.tables import watches

CERTIFICATE_WALK = "certificates"
"""The name of the certificate sweep in `walks`."""
BASELINE_SECONDS = 24 * 3600
"""Age up to which a complete list is the baseline of a new watch."""

_changes = msgspec.json.Decoder(list[FieldChange])


class NewsLog(StrEnum):
    """A log of news. The value is the column of `watches` with a watch's cursor: the last id it passed."""

    PORTFOLIO = "portfolio_seen"
    CERTIFICATES = "certificates_seen"


class NewsReader(msgspec.Struct, frozen=True):
    """A watch of a manufacturer, locked, with its cursor over a log; None before there is a baseline."""

    id: int
    account_id: int
    srn: str
    label: str
    options: WatchOptions
    seen: int | None


class PortfolioNews(msgspec.Struct, frozen=True):
    """News of a manufacturer's devices: the number for each change, and the first ones named."""

    counts: Mapping[str, int]
    named: Sequence[DeviceNews]
    visible_at: int


class CertificateNews(msgspec.Struct, frozen=True):
    """The changes of one certificate."""

    id: int
    changes: Sequence[FieldChange]
    visible_at: int


async def portfolio_readers(connection: AsyncConnection, srn: str, now: int) -> Sequence[NewsReader]:
    """The watches of active accounts on a manufacturer that have unreported news, or get their baseline now."""
    last = _last(NewsLog.PORTFOLIO).scalar_subquery()
    is_behind = or_(watches.c.portfolio_seen < last, _gets_baseline(NewsLog.PORTFOLIO, now))
    return await _readers(connection, NewsLog.PORTFOLIO, watches.c.subject == srn, is_behind, now)


async def certificate_readers(connection: AsyncConnection, now: int) -> Sequence[NewsReader]:
    """The watches of all manufacturers that have unreported news of certificates, or get their baseline now."""
    news = certificate_news.c
    has_news = exists().where(news.srn == watches.c.subject, news.id > watches.c.certificates_seen)
    is_behind = or_(has_news, _gets_baseline(NewsLog.CERTIFICATES, now))
    return await _readers(connection, NewsLog.CERTIFICATES, watches.c.kind == "srn", is_behind, now)


async def last_of_manufacturer(connection: AsyncConnection, srn: str) -> int:
    """The id of the newest news of a manufacturer's devices, 0 where there is none."""
    newest = select(func.max(portfolio_news.c.id)).where(portfolio_news.c.srn == srn)
    return (await connection.execute(newest)).scalar_one() or 0


async def last_of_certificates(connection: AsyncConnection) -> int:
    """The id of the newest news of certificates, 0 where there is none."""
    return (await connection.execute(select(func.max(certificate_news.c.id)))).scalar_one() or 0


async def portfolio_after(connection: AsyncConnection, srn: str, after: int, last: int) -> PortfolioNews | None:
    """News of a manufacturer's devices after one id, up to another; None where there is none."""
    news = portfolio_news.c
    meant = news.srn == srn, news.id > after, news.id <= last, news.change.in_(FIELD_OF_NEWS)
    counted = select(news.change, func.count().label("number"), func.min(news.visible_at).label("visible_at"))
    rows = (await connection.execute(counted.where(*meant).group_by(news.change))).all()
    if not rows:
        return None
    order = case({change: position for position, change in enumerate(FIELD_OF_NEWS)}, value=news.change)
    first = select(news.primary_di, news.name, news.change).where(*meant).order_by(order, news.id).limit(MAX_DEVICES)
    named = [DeviceNews(*row) for row in await connection.execute(first)]
    counts = {row.change: row.number for row in rows}
    return PortfolioNews(counts, named, min(row.visible_at for row in rows))


async def certificates_after(
    connection: AsyncConnection, watch_ids: Sequence[int], last: int
) -> Mapping[str, Sequence[CertificateNews]]:
    """News of certificates by SRN, for the manufacturers of some watches, oldest first: all after the lowest cursor
    of a manufacturer's watches, up to an id.
    """
    news = certificate_news.c
    found: defaultdict[str, list[CertificateNews]] = defaultdict(list)
    of_watches = watches.c.id.in_(watch_ids), watches.c.certificates_seen.is_not(None)
    seen = select(watches.c.subject, func.min(watches.c.certificates_seen).label("seen"))
    oldest = seen.where(*of_watches).group_by(watches.c.subject).subquery()
    asked = select(news.id, news.srn, news.changes, news.visible_at).join(
        oldest, (oldest.c.subject == news.srn) & (news.id > oldest.c.seen)
    )
    for row in await connection.execute(asked.where(news.id <= last).order_by(news.id)):
        found[row.srn].append(CertificateNews(row.id, _changes.decode(row.changes), row.visible_at))
    return found


async def set_seen(connection: AsyncConnection, log: NewsLog, watch_ids: Sequence[int], last: int) -> None:
    """Move the cursors of watches over a log to an id."""
    for chunk in chunks(watch_ids):
        await connection.execute(update(watches).where(watches.c.id.in_(chunk)).values({log.value: last}))


async def begin(connection: AsyncConnection, account_id: int, watch_ids: Sequence[int], log: NewsLog, now: int) -> None:
    """Let watches of an account report news that a log gets from now on.

    Where the newest complete list is older than a day, the next one becomes their baseline.
    """
    newest = func.coalesce(_last(log).scalar_subquery(), 0)
    is_fresh = exists(_lists(log).where(_complete_at(log) >= now - BASELINE_SECONDS))
    values = {log.value: case((is_fresh, newest)), "news_since": now}
    for chunk in chunks(watch_ids):
        of_account = watches.c.account_id == account_id, watches.c.kind == "srn", watches.c.id.in_(chunk)
        await connection.execute(update(watches).where(*of_account).values(values))


async def _readers(
    connection: AsyncConnection, log: NewsLog, of: ColumnElement[bool], is_behind: ColumnElement[bool], now: int
) -> Sequence[NewsReader]:
    """Watches of active accounts, locked in the order of their ids."""
    columns = watches.c.id, watches.c.account_id, watches.c.subject, watches.c.label, watches.c.options
    found = (
        select(*columns, watches.c[log.value].label("seen"))
        .join(accounts, accounts.c.id == watches.c.account_id)
        .where(of, watches.c.kind == "srn", accounts.c.expires_at > now, is_behind)
        .order_by(watches.c.id)
        .with_for_update(of=watches)
    )
    rows = await connection.execute(found)
    return [
        NewsReader(row.id, row.account_id, row.subject, row.label, options_of(row.options), row.seen) for row in rows
    ]


def _gets_baseline(log: NewsLog, now: int) -> ColumnElement[bool]:
    """Whether a watch has no baseline, and a complete list was read since it began to wait for one.

    An instant in the future, left by a clock that was put back, counts as 0.
    """
    noted = func.coalesce(watches.c.news_since, watches.c.created_at)
    since = case((noted > now + CLOCK_DIFFERENCE_SECONDS, 0), else_=noted)
    return watches.c[log.value].is_(None) & exists(_lists(log).where(_complete_at(log) >= since))


def _last(log: NewsLog) -> Select[Any]:
    """The id of the newest news of a watch's manufacturer."""
    table = _TABLES[log]
    return select(func.max(table.c.id)).where(table.c.srn == watches.c.subject).correlate(watches)


def _lists(log: NewsLog) -> Select[Any]:
    """The rows that say when the list for a watch was read completely."""
    if log is NewsLog.PORTFOLIO:
        return select(device_sweeps.c.srn).where(device_sweeps.c.srn == watches.c.subject).correlate(watches)
    return select(walks.c.name).where(walks.c.name == CERTIFICATE_WALK)


def _complete_at(log: NewsLog) -> ColumnElement[int | None]:
    return device_sweeps.c.complete_at if log is NewsLog.PORTFOLIO else walks.c.complete_at


_TABLES = {NewsLog.PORTFOLIO: portfolio_news, NewsLog.CERTIFICATES: certificate_news}
