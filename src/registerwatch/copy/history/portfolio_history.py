"""Reads which devices of a manufacturer came onto the market or left it, according to its lists.

The changes of one list form one group for each kind of change, however many devices it has.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import BigInteger, Integer, bindparam, func, literal_column, select

from registerwatch.copy.portfolio import PortfolioChange
from registerwatch.copy.tables import portfolio_news
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.statements import PreparedSelect

MAX_NAMED = 50
"""Devices of a group that are named."""


class PortfolioGroup(msgspec.Struct, frozen=True):
    """Devices with the same change, found at once (unix seconds); `devices` are UDI-DI and name of the first ones."""

    id: int
    found_at: int
    change: str
    total: int
    devices: Sequence[tuple[str, str]]


class MarketChange(msgspec.Struct, frozen=True):
    """A device that came onto the market or left it, found in a list that began at `seen_at` (unix seconds)."""

    is_on_market: bool
    seen_at: int


class PortfolioHistory:
    """Changes in the portfolios of manufacturers, in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def groups(self, srn: str, *, until: int, before: int, limit: int) -> Sequence[PortfolioGroup]:
        """Groups of a manufacturer, the last one first: those found until an instant, and of those found at that
        instant the ones whose id is smaller than `before`.
        """
        asked = {"srn": srn, "until": until, "before": before, "most": limit, "instants": limit + 1}
        rows = await self._database.rows(_GROUPS, **asked, skipped=0)
        return [
            PortfolioGroup(last, found_at, change, total, await self._devices(srn, found_at, change, first, last))
            for found_at, change, total, first, last in rows
        ]

    async def market_change(self, srn: str, udi: str, since: int) -> MarketChange | None:
        """The last change of a device's market status, by a list that began after an instant."""
        rows = await self._database.rows(_MARKET, srn=srn, udi=udi, since=since)
        return next((MarketChange(change == PortfolioChange.ON_MARKET, seen_at) for change, seen_at in rows), None)

    async def _devices(self, srn: str, found_at: int, change: str, first: int, last: int) -> Sequence[tuple[str, str]]:
        asked = {"srn": srn, "found_at": found_at, "change": change, "first": first, "last": last}
        return [(udi, name) for udi, name in await self._database.rows(_NAMED, **asked, most=MAX_NAMED, skipped=0)]


_NEWS = portfolio_news.c  # the offset is always given, since SQLite's dialect would add one that has no name
_LAST = func.max(_NEWS.id)
_UNTIL = bindparam("until", type_=BigInteger)
_INSTANTS = (  # each but the first has a group at least, so older ones are not counted
    select(_NEWS.found_at)
    .where(_NEWS.srn == bindparam("srn"), _NEWS.found_at <= _UNTIL)
    .distinct()
    .order_by(_NEWS.found_at.desc())
    .limit(bindparam("instants", type_=Integer))
    .offset(bindparam("skipped", type_=Integer))
    .subquery()
)
_GROUPS = PreparedSelect(
    select(_NEWS.found_at, _NEWS.change, func.count(), func.min(_NEWS.id), _LAST)
    .where(
        _NEWS.srn == bindparam("srn"),
        _NEWS.found_at <= _UNTIL,
        _NEWS.found_at >= select(func.min(_INSTANTS.c.found_at)).scalar_subquery(),
    )
    .group_by(_NEWS.found_at, _NEWS.change)
    .having((_NEWS.found_at < _UNTIL) | (bindparam("before", type_=BigInteger) > _LAST))
    .order_by(_NEWS.found_at.desc(), _LAST.desc())
    .limit(bindparam("most", type_=Integer))
    .offset(bindparam("skipped", type_=Integer))
)
_NAMED = PreparedSelect(
    select(_NEWS.primary_di, _NEWS.name)
    .where(
        _NEWS.srn == bindparam("srn"),
        _NEWS.id.between(bindparam("first", type_=BigInteger), bindparam("last", type_=BigInteger)),
        _NEWS.found_at == bindparam("found_at", type_=BigInteger),
        _NEWS.change == bindparam("change"),
    )
    .order_by(_NEWS.id)
    .limit(bindparam("most", type_=Integer))
    .offset(bindparam("skipped", type_=Integer))
)
_SINCE = bindparam("since", type_=BigInteger)
_OFF_OR_ON = PortfolioChange.OFF_MARKET, PortfolioChange.ON_MARKET
_OF_MARKET: Sequence[Any] = [literal_column(f"'{each.value}'") for each in _OFF_OR_ON]
_MARKET = PreparedSelect(
    select(_NEWS.change, _NEWS.visible_at)
    .where(_NEWS.srn == bindparam("srn"), _NEWS.found_at > _SINCE, _NEWS.visible_at > _SINCE)
    .where(_NEWS.primary_di == bindparam("udi"), _NEWS.change.in_(_OF_MARKET))
    .order_by(_NEWS.id.desc())
)
