"""Pages of a query's results, in the order of UDI-DIs or the best first."""

import msgspec
from tantivy import Order, Query, Searcher

from registerwatch.copy.search.hits import Hits, Selection, count_of
from registerwatch.copy.search.ties import MAX_TIED, page_in_order, rows_at

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
    """A page of hits, the best first. `expected` is about how many there are."""
    selection = Selection(searcher, query)
    if offset > MAX_ALLOCATED and offset >= (total := selection.total()):
        return Hits([], total, selection)
    rows, total = page_in_order(searcher, query, limit, offset, expected=expected)
    return Hits(rows, total, selection)


class Parted(msgspec.Struct, frozen=True):
    """Results in two parts without a common document: those of `first`, the best first, then those of `then`, which are
    all equal. `both` finds all of them; `expected` is about how many hits each part has.
    """

    first: Query
    then: Query
    both: Query
    expected: tuple[int, int]


def parted(searcher: Searcher, asked: Parted, limit: int, offset: int) -> Hits:
    """A page of results in two parts."""
    selection = Selection(searcher, asked.both)
    best = ranked(searcher, asked.first, limit, offset, asked.expected[0])
    if asked.expected[1] < asked.expected[0]:
        others = Selection(searcher, asked.then).total(asked.expected[1])
    else:  # leaving few documents out of many costs more than counting all of them
        others = selection.total(sum(asked.expected)) - best.total
    rows, start = best.ids, max(0, offset - best.total)
    if len(rows) < limit and others > start:
        rows = [*rows, *_equal(searcher, asked.then, others, limit - len(rows), start)]
    return Hits(rows, best.total + others, selection)


def _equal(searcher: Searcher, query: Query, total: int, limit: int, offset: int) -> list[int]:
    """Rows among equal hits, in the order of `page_in_order`."""
    if total <= MAX_TIED:
        return in_order(searcher, query, limit, offset).ids
    hits = searcher.search(query, limit, count=False, offset=offset).hits
    return rows_at(searcher, [address for _, address in hits])
