"""Pages of scored hits, with equal scores in the order of UDI-DIs.

The library orders equal scores by the position of their documents, which changes whenever a record is indexed again: a
page would repeat or leave out devices of the page before it.
"""

from typing import Any

from tantivy import DocAddress, Query, Searcher

from registerwatch.copy.search.hits import count_of

MARGIN = 24
"""Hits before and after a page that are fetched first."""
MAX_TIED = 2_000
"""Equal hits that are put in order; more of them stay in the order of the library."""
MANY = 50_000
"""Hits from which on one fetch of all that may be equal costs less than two."""

Hit = tuple[Any, DocAddress]
"""Score and address of a document."""


def page_in_order(
    searcher: Searcher, query: Query, limit: int, offset: int, *, expected: int = 0, above: float = -1.0
) -> tuple[list[int], int]:
    """Row ids of a page of hits, the best first, equal ones in the order of their UDI-DIs; and the number of all hits.

    The library scores every hit each time, so it is called once, and a second time where hits beyond the margin may
    equal those on the page. `expected` is about how many hits there are.
    """
    window = _Window(limit, offset, MARGIN if expected < MANY else MAX_TIED)
    result = searcher.search(query, window.size, count=True, offset=window.first)
    total, hits = count_of(result), result.hits
    if hits and hits[min(window.end, len(hits)) - 1][0] <= above:
        return [], total
    if window.margin < MAX_TIED and window.cuts_off(hits):
        window = _Window(limit, offset, MAX_TIED)
        hits = searcher.search(query, window.size, count=False, offset=window.first).hits
    return rows_at(searcher, _page_of(searcher, hits, window)), total


def rows_at(searcher: Searcher, addresses: list[DocAddress]) -> list[int]:
    """The row ids of documents."""
    if not addresses:
        return []  # opening the column of every segment takes a seventh of a millisecond
    return [int(row) for row in searcher.fast_field_values("row", addresses) if row is not None]


class _Window:
    """The fetched hits: those of a page, and a margin before and after them."""

    def __init__(self, limit: int, offset: int, margin: int) -> None:
        self.margin = margin
        self.first = max(0, offset - margin)
        self.size = offset + limit + margin - self.first
        self.begin = offset - self.first
        """Position of the page among the hits."""
        self.end = self.begin + limit

    def cuts_off(self, hits: list[Hit]) -> bool:
        """Whether hits outside may equal one on the page."""
        page = hits[self.begin : self.end]
        if not page:
            return False
        before = self.first > 0 and hits[0][0] == page[0][0]
        return before or (len(hits) == self.size and hits[-1][0] == page[-1][0])


def _page_of(searcher: Searcher, hits: list[Hit], window: _Window) -> list[DocAddress]:
    """The addresses on the page, equal hits in order, unless these are too many or some are outside."""
    position, end = window.begin, min(window.end, len(hits))
    if position >= end:
        return []
    groups: list[tuple[int, int]] = []
    start = last = _equal(hits, position)[0]
    while last < end:
        first, last = _equal(hits, max(position, last))
        is_cut = (first == 0 and window.first > 0) or (last == len(hits) == window.size)
        if 1 < last - first <= MAX_TIED and not is_cut:
            groups.append((first, last))
    addresses = [address for _, address in hits[start:last]]
    if groups:
        keys = _keys(searcher, addresses)
        for first, after in groups:
            in_order = sorted(range(first - start, after - start), key=keys.__getitem__)
            hits[first:after] = [(None, addresses[at]) for at in in_order]
    return [address for _, address in hits[position:end]]


def _keys(searcher: Searcher, addresses: list[DocAddress]) -> list[Any]:
    """Sort keys of documents: their UDI-DIs' numbers, and their rows where two have the same number."""
    orders: list[Any] = searcher.fast_field_values("order", addresses)
    if len(set(orders)) == len(orders):
        return orders
    return list(zip(orders, searcher.fast_field_values("row", addresses), strict=True))


def _equal(hits: list[Hit], position: int) -> tuple[int, int]:
    """The range of hits with the same score as the one at this position."""
    score, first, last = hits[position][0], position, position + 1
    while first > 0 and hits[first - 1][0] == score:
        first -= 1
    while last < len(hits) and hits[last][0] == score:
        last += 1
    return first, last
