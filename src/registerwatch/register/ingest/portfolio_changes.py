"""What the lists of a manufacturer's devices tell, one compared with those before. Pure.

A UDI-DI may have several records. It is newly registered when no list had it before; it is on the market when one of
its latest records is. A row that is missing tells nothing: lists shift while they are read, and leave rows out. Pages
are read one after the other: where several records of a UDI-DI are on several pages, two walks have to find that none
of them is on the market.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from registerwatch.register.codes import StatusFilter
from registerwatch.register.store.portfolio import ListedDevice, PortfolioChange, StoredListing


class MarketJudgement(msgspec.Struct, frozen=True):
    """Which UDI-DIs a complete walk found on the market, and what that changed."""

    on_market: Mapping[str, bool]
    changes: Mapping[str, PortfolioChange]


def newly_registered(rows: Iterable[ListedDevice], known: Collection[str]) -> list[ListedDevice]:
    """The first row of each UDI-DI that no list had before."""
    new: dict[str, ListedDevice] = {}
    for row in rows:
        if row.udi not in known:
            new.setdefault(row.udi, row)
    return list(new.values())


def judged(rows: Sequence[StoredListing], *, is_one_page: bool) -> MarketJudgement:
    """What a walk that listed every record tells of the market, from all stored rows of some UDI-DIs.

    A UDI-DI whose standing the list does not tell keeps what was found before. The first standing is no change.
    `is_one_page` tells that all records were listed at the same moment.
    """
    by_udi: dict[str, list[StoredListing]] = {}
    for row in rows:
        by_udi.setdefault(row.udi, []).append(row)
    on_market: dict[str, bool] = {}
    changes: dict[str, PortfolioChange] = {}
    for udi, of_udi in by_udi.items():
        found, before = is_on_market(of_udi), _found_before(of_udi)
        if found is None or not (found or is_one_page or _is_of_one_moment(of_udi)):
            continue
        on_market[udi] = found
        if before is not None and before is not found:
            changes[udi] = PortfolioChange.ON_MARKET if found else PortfolioChange.OFF_MARKET
    return MarketJudgement(on_market, changes)


def is_on_market(rows: Iterable[StoredListing]) -> bool | None:
    """Whether one of the latest records that are listed of a UDI-DI is on the market; None where they do not tell."""
    codes = {row.status_code for row in rows if row.is_listed and row.is_latest}
    if StatusFilter.ON.code in codes:
        return True
    return None if not codes or "" in codes else False


def _is_of_one_moment(rows: Iterable[StoredListing]) -> bool:
    """Whether the records of a UDI-DI were at one moment what a walk found: one record is, several that did not change
    since the walk before were. Else one may have come on the market after its page, before another one left it.
    """
    listed = [row for row in rows if row.is_listed]
    return len(listed) == 1 or all(row.is_settled for row in listed)


def _found_before(rows: Iterable[StoredListing]) -> bool | None:
    """What the last complete walk found of a UDI-DI. All of its rows that have it have the same."""
    return next((row.was_on_market for row in rows if row.was_on_market is not None), None)
