"""Pages of what a query finds, in the order of UDI-DIs or the best first."""

from tantivy import Order, Query, Searcher

from registerwatch.register.search.hits import Hits, Selection, count_of
from registerwatch.register.search.query_parts import any_of
from registerwatch.register.search.ties import MAX_TIED, page_in_order, rows_at

MAX_ALLOCATED = 20_000
"""Hits before a page for which the library may reserve memory without knowing whether there are so many."""


def in_order(searcher: Searcher, query: Query, limit: int, offset: int) -> Hits:
    """A page in the order of UDI-DIs."""
    selection = Selection(searcher, query)
    if offset > MAX_ALLOCATED and offset >= (total := selection.total()):
        return Hits([], total, selection)
    result = searcher.search(query, limit, count=True, offset=offset, order_by_field="order", order=Order.Asc)
    return Hits(rows_at(searcher, [address for _, address in result.hits]), count_of(result), selection)


def ranked(searcher: Searcher, query: Query, limit: int, offset: int, expected: int = 0) -> Hits:
    """A page of hits, the best first. `expected` says about how many there are."""
    selection = Selection(searcher, query)
    if offset > MAX_ALLOCATED and offset >= (total := selection.total()):
        return Hits([], total, selection)
    rows, total = page_in_order(searcher, query, limit, offset, expected=expected)
    return Hits(rows, total, selection)


def one_before_another(
    searcher: Searcher, first: Query, then: Query, limit: int, offset: int, expected: tuple[int, int]
) -> Hits:
    """A page of what two queries find that have no document in common: all hits of the first, the best first, then
    those of the other, which are all equal. `expected` says about how many hits each of them has.
    """
    both = Selection(searcher, any_of([first, then]))
    best = ranked(searcher, first, limit, offset, expected[0])
    # Leaving out few documents of many costs more than counting them together.
    others = Selection(searcher, then).total(expected[1]) if expected[1] < expected[0] else both.total() - best.total
    rows, start = best.ids, max(0, offset - best.total)
    if len(rows) < limit and others > start:
        rows = [*rows, *_equal(searcher, then, others, limit - len(rows), start)]
    return Hits(rows, best.total + others, both)


def _equal(searcher: Searcher, query: Query, total: int, limit: int, offset: int) -> list[int]:
    """Rows among hits that are all equal, as `page_in_order` has them."""
    if total <= MAX_TIED:
        return in_order(searcher, query, limit, offset).ids
    hits = searcher.search(query, limit, count=False, offset=offset).hits
    return rows_at(searcher, [address for _, address in hits])
