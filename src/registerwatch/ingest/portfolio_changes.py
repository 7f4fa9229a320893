"""Changes of a manufacturer's portfolio, found by comparing its device lists with earlier ones. Pure.

A UDI-DI may have several records. It is newly registered when no earlier list had it. It is on the market when its
current record is, by the same rule as for the device itself (`RecordPrecedence`); while it is unknown which record is
current, the earlier result stays. A missing row proves nothing: lists shift while they are read, and leave rows out.
Pages are read one after the other, so a change of a UDI-DI with several records counts once two walks have found it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from registerwatch.copy.portfolio import ListedDevice, PortfolioChange, StoredListing
from registerwatch.register.codes import StatusFilter


class MarketJudgement(msgspec.Struct, frozen=True):
    """The UDI-DIs that a complete walk found on the market, and the changes of that."""

    on_market: Mapping[str, bool]
    changes: Mapping[str, PortfolioChange]


def newly_registered(rows: Iterable[ListedDevice], known: Collection[str]) -> list[ListedDevice]:
    """The first row of each UDI-DI that no earlier list had."""
    new: dict[str, ListedDevice] = {}
    for row in rows:
        if row.udi not in known:
            new.setdefault(row.udi, row)
    return list(new.values())


def judged(rows: Sequence[StoredListing], *, is_one_page: bool) -> MarketJudgement:
    """The market statuses after a walk that listed every record, from all stored rows of some UDI-DIs.

    A UDI-DI without a clear status keeps the earlier result. Its first status is not a change.
    `is_one_page` says that all records were listed at the same moment.
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
    """Whether the current one of a UDI-DI's listed records is on the market; None where it is not known.

    An unknown legislation may decide which record is current. Then all candidates have to say the same.
    """
    if len(listed) > 1:
        first = min(row.precedence.rank for row in listed)
        listed = [row for row in listed if row.precedence.best_rank <= first]
    codes = {row.status_code for row in listed}
    found = {code == StatusFilter.ON.code if code else None for code in codes}
    return found.pop() if len(found) == 1 else None


def _are_of_one_moment(listed: Sequence[StoredListing]) -> bool:
    """Whether a walk found all records of a UDI-DI as they were at one moment: a single record, or several that did not
    change since the walk before. Else another record may be current by then.
    """
    return len(listed) == 1 or all(row.is_settled for row in listed)


def _agree(listed: Sequence[StoredListing]) -> bool:
    """Whether all records say the same: that counts as a first status, whichever of them is current."""
    return len({row.status_code for row in listed}) == 1


def _found_before(rows: Iterable[StoredListing]) -> bool | None:
    """The result of the last complete walk for a UDI-DI. All rows that have it have the same."""
    return next((row.was_on_market for row in rows if row.was_on_market is not None), None)
