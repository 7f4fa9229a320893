"""What the lists of a manufacturer's devices tell, one compared with those before. Pure.

A UDI-DI may have several records. It is newly registered when no list had it before; it is on the market when one of
its latest records is. A row that is missing tells nothing: lists shift while they are read, and leave rows out.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from registerwatch.register.codes import StatusFilter
from registerwatch.register.store.portfolio import ListedDevice, StoredListing


class PortfolioChange(StrEnum):
    """What became of a UDI-DI."""

    REGISTERED = "registered"
    OFF_MARKET = "off_market"
    ON_MARKET = "on_market"


@dataclass(frozen=True, slots=True)
class MarketJudgement:
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


def judged(rows: Sequence[StoredListing]) -> MarketJudgement:
    """What a walk that listed every record tells of the market, from all stored rows of some UDI-DIs.

    A UDI-DI whose standing the list does not tell keeps what was found before. The first standing is no change.
    """
    by_udi: dict[str, list[StoredListing]] = {}
    for row in rows:
        by_udi.setdefault(row.udi, []).append(row)
    on_market: dict[str, bool] = {}
    changes: dict[str, PortfolioChange] = {}
    for udi, of_udi in by_udi.items():
        found, before = is_on_market(of_udi), _found_before(of_udi)
        if found is None:
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


def _found_before(rows: Iterable[StoredListing]) -> bool | None:
    """What the last complete walk found of a UDI-DI. All of its rows that have it have the same."""
    return next((row.was_on_market for row in rows if row.was_on_market is not None), None)
