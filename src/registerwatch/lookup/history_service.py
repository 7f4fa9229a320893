"""The history of a device and of an actor for a surface: what this service observed, in pages, and as of an instant.

It is this service's own memory: the register shows only the present.
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime

import msgspec

from registerwatch.copy.history.history_prune import HistoryPruner
from registerwatch.copy.history.history_reader import HistoryReader
from registerwatch.copy.history.portfolio_history import MarketChange, PortfolioGroup, PortfolioHistory
from registerwatch.copy.history.record_history import ObservedChange, RecordHistory, StatesAsOf, ValueChange
from registerwatch.errors import InvalidInput
from registerwatch.platform.clock import Clock, iso_utc
from registerwatch.platform.db.engine import Database
from registerwatch.platform.db.row_pages import MAX_ROW_ID
from registerwatch.register.codes import StatusFilter
from registerwatch.register.models import Device

MAX_ENTRIES, DEFAULT_ENTRIES = 100, 20
"""The most entries of a page, and the default."""
DAY_SECONDS = 24 * 3600

NOT_YET = "This service had not observed it yet. It has observed it since {}."
DROPPED = "What it was then is kept no more: it changed very often, and its older history was deleted."


class Cursor(msgspec.Struct, frozen=True):
    """The end of a page: the instant of an entry, and its number among those of a change or of a portfolio."""

    observed_at: int
    is_portfolio: bool
    id: int

    def __str__(self) -> str:
        return f"{self.observed_at}{'p' if self.is_portfolio else 'r'}{self.id}"

    @property
    def order(self) -> tuple[int, bool, int]:
        """Sorts the last observed entries last; at one instant, changes of the record after those of the portfolio."""
        return self.observed_at, not self.is_portfolio, self.id


class Entry(msgspec.Struct, frozen=True):
    """One change with its position in the list; `devices` are UDI-DI and name of a portfolio change's first devices."""

    cursor: Cursor
    change: ObservedChange
    devices: Sequence[tuple[str, str]] = ()


class HistoryPage(msgspec.Struct, frozen=True):
    """Some changes of a subject, the last one first, and the overall knowledge of it."""

    history: RecordHistory
    entries: Sequence[Entry]
    more: bool


class AsOf(msgspec.Struct, frozen=True):
    """A subject as of an instant. Without `states` the `note` says why."""

    instant: int
    states: StatesAsOf
    note: str | None


class HistoryService:
    """Histories of one copy."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._reader = HistoryReader(database)
        self._portfolio = PortfolioHistory(database)
        self._clock = clock
        self.pruner = HistoryPruner(database)

    async def device(
        self, udi: str, *, limit: int = DEFAULT_ENTRIES, before: str = "", only_changes: bool = False
    ) -> HistoryPage:
        """Changes of the records of a stored UDI-DI. Raises `InvalidInput` for a wrong cursor.

        With `only_changes` it leaves out entries in which fields were read for the first time and nothing changed.
        """
        cursor = _cursor(before)
        history = await self._reader.device(udi)
        return _page(history, _entries(history, only_changes=only_changes), cursor, limit)

    async def actor(
        self,
        srn: str,
        *,
        limit: int = DEFAULT_ENTRIES,
        before: str = "",
        only_changes: bool = False,
        is_watched: bool = False,
    ) -> HistoryPage:
        """Changes of a stored actor, and of its portfolio where the caller watches it: devices of other manufacturers
        are not listed regularly, so entries would show which manufacturers are watched.
        """
        cursor = _cursor(before)
        history = await self._reader.actor(srn)
        entries = _entries(history, only_changes=only_changes)
        if is_watched:
            end = cursor or Cursor(MAX_ROW_ID, True, MAX_ROW_ID)
            groups = await self._portfolio.groups(
                srn, until=end.observed_at, before=end.id if end.is_portfolio else MAX_ROW_ID, limit=limit + 1
            )
            entries += map(_portfolio_entry, groups)
        return _page(history, entries, cursor, limit)

    async def newer_listing(self, device: Device, read_at: int) -> MarketChange | None:
        """The market change in a list of the manufacturer's devices that began after the record was read (`read_at` in
        unix seconds) and differs from it; None where there is none. Only for watchers of the device or manufacturer.
        """
        found = await self._portfolio.market_change(device.manufacturer_srn, device.udi, read_at)
        is_on_market = device.status_code == StatusFilter.ON.code
        return None if found is None or found.is_on_market is is_on_market else found

    def instant(self, text: str) -> int:
        """The instant in a text: for a date its end (UTC), at most now. Raises `InvalidInput`."""
        now = int(self._clock.now())
        instant = _instant_of(text)
        if _DATE.fullmatch(text) and instant - DAY_SECONDS < now <= instant:
            return now
        if instant > now:
            raise InvalidInput("`at` lies in the future.")
        return instant


def as_of(history: RecordHistory, instant: int) -> AsOf:
    """The records of a subject as of an instant, with a sentence where they are not known."""
    states = history.as_of(instant)
    if states.is_dropped:
        return AsOf(instant, states, DROPPED)
    if states.current is not None:
        return AsOf(instant, states, None)
    return AsOf(instant, states, NOT_YET.format(iso_utc(history.observed_since)))


_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_CURSOR = re.compile(r"([0-9]{1,18})([rp])([0-9]{1,18})")


def _instant_of(text: str) -> int:
    """Unix seconds of a date's end or of an instant. Raises `InvalidInput`."""
    try:
        if _DATE.fullmatch(text):
            begin = datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC)
            return int(begin.timestamp()) + DAY_SECONDS - 1
        moment = datetime.fromisoformat(text[:40])
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        raise InvalidInput(
            "`at` is a date such as 2026-06-01, or an instant such as 2026-06-01T12:00:00Z (ISO 8601)."
        ) from None


def _cursor(text: str) -> Cursor | None:
    if not text:
        return None
    found = _CURSOR.fullmatch(text)
    if found is None:
        raise InvalidInput("`before` is the `id` of an entry of this history.")
    return Cursor(int(found[1]), found[2] == "p", int(found[3]))


def _entries(history: RecordHistory, *, only_changes: bool) -> list[Entry]:
    return [
        Entry(Cursor(each.observed_at, False, each.id), each)
        for each in history.changes
        if each.changes or not only_changes
    ]


def _portfolio_entry(group: PortfolioGroup) -> Entry:
    change = ObservedChange(
        group.id, "", group.found_at, None, [ValueChange(f"devices_{group.change}", None, group.total)]
    )
    return Entry(Cursor(group.found_at, True, group.id), change, group.devices)


def _page(history: RecordHistory, entries: Sequence[Entry], before: Cursor | None, limit: int) -> HistoryPage:
    wanted = [each for each in entries if before is None or each.cursor.order < before.order]
    ordered = sorted(wanted, key=lambda each: each.cursor.order, reverse=True)
    return HistoryPage(history, ordered[:limit], len(ordered) > limit)
