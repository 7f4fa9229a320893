"""What the lists of a manufacturer's devices tell, one compared with those before. Pure.

A UDI-DI may have several records. It is newly registered when no list had it before; it is on the market when the
record is that answers for it, by the rule that decides so for the device itself (`RecordPrecedence`). Where it is not
known which record that is, what was found before stays. A row that is missing tells nothing: lists shift while they are
read, and leave rows out. Pages are read one after the other: what several records of a UDI-DI say counts as a change
once two walks have found it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from registerwatch.copy.portfolio import ListedDevice, PortfolioChange, StoredListing
from registerwatch.register.codes import StatusFilter


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
        listed, before = [row for row in of_udi if row.is_listed], _found_before(of_udi)
        found = is_on_market(listed)
        if found is None or not (is_one_page or _are_of_one_moment(listed) or (before is None and _agree(listed))):
            continue
        on_market[udi] = found
        if before is not None and before is not found:
            changes[udi] = PortfolioChange.ON_MARKET if found else PortfolioChange.OFF_MARKET
    return MarketJudgement(on_market, changes)


def is_on_market(listed: Sequence[StoredListing]) -> bool | None:
    """Whether the record that answers is on the market, of those that are listed of a UDI-DI; None where nothing tells.

    Legislation that is not known may decide which one answers. Then all those that may have to say the same.
    """
    if len(listed) > 1:
        first = min(row.precedence.rank for row in listed)
        listed = [row for row in listed if row.precedence.best_rank <= first]
    codes = {row.status_code for row in listed}
    found = {code == StatusFilter.ON.code if code else None for code in codes}
    return found.pop() if len(found) == 1 else None


def _are_of_one_moment(listed: Sequence[StoredListing]) -> bool:
    """Whether the records of a UDI-DI were at one moment what a walk found: one record is, several that did not change
    since the walk before were. Else the one that answers may be another one by then.
    """
    return len(listed) == 1 or all(row.is_settled for row in listed)


def _agree(listed: Sequence[StoredListing]) -> bool:
    """Whether all records say the same: as a first standing that counts, whichever of them answers."""
    return len({row.status_code for row in listed}) == 1


def _found_before(rows: Iterable[StoredListing]) -> bool | None:
    """What the last complete walk found of a UDI-DI. All of its rows that have it have the same."""
    return next((row.was_on_market for row in rows if row.was_on_market is not None), None)
