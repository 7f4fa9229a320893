"""Steps of a sweep of one manufacturer: the next request, and the walk after an answer. Pure.

A walk lists every page of a manufacturer, or searches its watched UDI-DIs one by one, whichever takes fewer requests. A
manufacturer that is watched itself is always listed. Pages shift while devices are registered, the newest first: where
the count grew, a walk that has come to the last page goes on at the first one, until every record was listed once.
"""

from collections.abc import Iterable, Sequence

import msgspec

from registerwatch.copy.sweeps import DeviceSweep
from registerwatch.platform.structs import replace
from registerwatch.register.list_doubt import doubted_since, is_believed

FEWER = "The register lists {total} of this manufacturer's devices, of which {known} are known: not believed yet."
NONE = "The register lists no device of this manufacturer: believed once lists have shown none for a day."

UNSETTLED = "Of some devices several records were listed one after the other: they are listed once more."

UNREADABLE = "Rows of its list of devices that cannot be read: {number}."
MAX_UNREADABLE = 100
"""A walk with more unreadable rows has not listed everything."""

_PAGE, _AGAIN, _UDI = "page ", "again ", "udi "


class PageStep(msgspec.Struct, frozen=True):
    """The next request lists a page (0-based). `is_again` says that the last page was listed already."""

    number: int
    is_again: bool = False


class SearchStep(msgspec.Struct, frozen=True):
    """The next request searches a UDI-DI."""

    udi: str


class ListedPage(msgspec.Struct, frozen=True):
    """The result of a page: the count of all records, whether it is the last page, how many records the walk has listed
    by now (None where that is not needed), and how many of them this page was the first to list.
    `is_unsettled` says that a first list may show records of a device as they were at different moments.
    """

    total: int
    is_last: bool
    listed: int | None = None
    new: int = 0
    is_unsettled: bool = False


Step = PageStep | SearchStep


def lists_pages(sweep: DeviceSweep, page_size: int) -> bool:
    """Whether pages are cheaper than single searches. The first page is read to learn an unknown count."""
    if sweep.lists_all or sweep.total is None:
        return sweep.lists_all or sweep.watched > 1
    return max(1, -(-sweep.total // page_size)) <= sweep.watched


def begun(sweep: DeviceSweep, page_size: int, now: int) -> DeviceSweep:
    """The sweep in its current walk, else in a new one. After searches, pages begin anew."""
    is_other = lists_pages(sweep, page_size) and sweep.cursor.startswith(_UDI)
    if sweep.walk_began_at is not None and not is_other:
        return sweep
    return replace(sweep, walk=sweep.walk + 1, walk_began_at=now, cursor="", is_steady=True, unreadable="")


def next_step(sweep: DeviceSweep, watched: Sequence[str], page_size: int) -> Step | None:
    """The next request of the walk; None where no watched UDI-DI is left. `watched` are in order."""
    if lists_pages(sweep, page_size):
        if sweep.cursor.startswith(_AGAIN):
            return PageStep(int(sweep.cursor.removeprefix(_AGAIN)), is_again=True)
        return PageStep(int(sweep.cursor.removeprefix(_PAGE) or 0))
    after = sweep.cursor.removeprefix(_UDI) if sweep.cursor.startswith(_UDI) else ""
    udi = next((udi for udi in watched if udi > after), None)
    return None if udi is None else SearchStep(udi)


def after_page(sweep: DeviceSweep, step: PageStep, page: ListedPage, known: int | None) -> tuple[DeviceSweep, bool]:
    """The sweep after a page, and whether its walk has ended and listed every device. `known` is how many devices it
    should list by other knowledge of the manufacturer, None where there is none.
    """
    is_steady = sweep.is_steady and (step == PageStep(0) or page.total >= (sweep.total or 0))
    grew = page.listed is not None and page.total > page.listed + unnamed(sweep)
    after = replace(sweep, total=page.total, is_steady=is_steady, problem="")
    if step.is_again:
        if is_steady and grew and page.new and not page.is_last:
            return replace(after, cursor=f"{_AGAIN}{step.number + 1}"), False
    elif not page.is_last:
        return replace(after, cursor=f"{_PAGE}{step.number + 1}"), False
    elif is_steady and grew and step.number:
        return replace(after, cursor=f"{_AGAIN}0"), False
    has_all = is_complete(after, page, known)
    is_in_doubt = _is_first(after) and not has_all and (_is_too_short(page, known) or page.is_unsettled)
    after = replace(after, doubted_at=_doubted_since(after) if is_in_doubt else None)
    problem = UNREADABLE.format(number=len(sweep.unreadable.split())) if sweep.unreadable else ""
    if lists_too_few(after, page, known):
        problem = FEWER.format(total=page.total, known=known) if known else NONE
    elif is_unsettled(after, page) and not problem:
        problem = UNSETTLED
    return replace(ended(after, is_complete=has_all), problem=problem), has_all


def is_complete(sweep: DeviceSweep, page: ListedPage, known: int | None) -> bool:
    """Whether a walk that ends with a page has listed every device: as many records as there are, while their count
    never fell. An empty list is believed only if nothing else is known and lists have been empty for a day.
    """
    if page.total == 0 and (sweep.watched or known or sweep.complete_at is not None):
        return False
    if lists_too_few(sweep, page, known) or is_unsettled(sweep, page):
        return False
    return sweep.is_steady and page.listed is not None and page.listed + unnamed(sweep) == page.total


def with_unreadable(sweep: DeviceSweep, unreadable: Iterable[int]) -> DeviceSweep:
    """The sweep with rows without a readable key, each once, by their digests."""
    known = {*sweep.unreadable.split(), *(f"{digest:016x}" for digest in unreadable)}
    return replace(sweep, unreadable=" ".join(sorted(known)[:MAX_UNREADABLE]))


def unnamed(sweep: DeviceSweep) -> int:
    """How many rows of a walk have no readable key, so that they are not listed."""
    return len(sweep.unreadable.split())


def lists_too_few(sweep: DeviceSweep, page: ListedPage, known: int | None) -> bool:
    """Whether the first list of a manufacturer contradicts what is known. If it were stored, all that a fault had left
    out would be news later. After a day the list is believed instead. An empty list is doubted whatever is known:
    nothing else distinguishes a false answer from a true one.
    """
    return _may_wait(sweep) and _is_too_short(page, known)


def is_unsettled(sweep: DeviceSweep, page: ListedPage) -> bool:
    """Whether a first list waits for the next one to confirm devices with several records. It cannot wait for ever: if
    they change all the time, the list is believed after a day.
    """
    return _may_wait(sweep) and page.is_unsettled


def _is_too_short(page: ListedPage, known: int | None) -> bool:
    return not page.total or page.total * 10 < (known or 0) * 9


def _is_first(sweep: DeviceSweep) -> bool:
    """Whether a complete list would be the baseline."""
    return sweep.lists_all and sweep.complete_at is None


def _may_wait(sweep: DeviceSweep) -> bool:
    """Whether a list is a first one, and lists have been doubted for less than a day. However long the manufacturer has
    waited for it, one list alone does not show that a fault lasts.
    """
    if not _is_first(sweep) or sweep.walk_began_at is None:
        return False
    return not is_believed(sweep.walk_began_at, _doubted_since(sweep))


def _doubted_since(sweep: DeviceSweep) -> int:
    """Start of the first of the lists that have been doubted ever since."""
    began = sweep.walk_began_at
    assert began is not None, "a list that is doubted comes from a walk"
    return doubted_since(began, sweep.doubted_at, sweep.swept_at)


def after_search(sweep: DeviceSweep, step: SearchStep) -> DeviceSweep:
    """The sweep after a search."""
    return replace(sweep, cursor=f"{_UDI}{step.udi}", problem="")


def ended(sweep: DeviceSweep, *, is_complete: bool = False) -> DeviceSweep:
    """The sweep after the end of its walk."""
    complete_at = sweep.walk_began_at if is_complete else sweep.complete_at
    return replace(sweep, walk_began_at=None, cursor="", swept_at=sweep.walk_began_at, complete_at=complete_at)
