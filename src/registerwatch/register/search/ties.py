"""Pages of scored hits, equal scores in the order of UDI-DIs.

The library orders equal scores by where a document is written, which changes whenever a record is indexed again: a page
would repeat or leave out devices that the page before it showed.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from tantivy import DocAddress, Query, Searcher

MARGIN = 24
"""Hits before and after a page that are looked at first."""
MAX_TIED = 2_000
"""Equal hits that are put in order; more of them stay in the order of the library."""

Hit = tuple[Any, DocAddress]
"""Score and address of a document."""


def rows_in_order(searcher: Searcher, query: Query, limit: int, offset: int) -> list[int]:
    """Row ids of a page of hits, the best first, equal ones in the order of their UDI-DIs."""
    first, end, margin = max(0, offset - MARGIN), offset + limit + MARGIN, MARGIN
    while True:
        hits = searcher.search(query, end - first, count=False, offset=first).hits
        is_last = len(hits) < end - first
        page = hits[offset - first : offset - first + limit]
        before = bool(page) and first > 0 and hits[0][0] == page[0][0] and offset - first < MAX_TIED
        after = bool(page) and not is_last and hits[-1][0] == page[-1][0] and end - offset - limit < MAX_TIED
        if not (before or after):
            break
        margin *= 4
        first, end = max(0, first - margin) if before else first, end + margin if after else end
    in_order = [*_in_order(searcher, hits, is_first=first == 0, is_last=is_last)]
    rows = searcher.fast_field_values("row", in_order[offset - first : offset - first + limit])
    return [int(row) for row in rows if row is not None]


def _in_order(searcher: Searcher, hits: list[Hit], *, is_first: bool, is_last: bool) -> Iterator[DocAddress]:
    """The addresses of hits, equal ones in order; but for those of which the window cuts some off, or that are many."""
    place = 0
    for _, equal in groupby(hits, key=lambda hit: hit[0]):
        addresses = [address for _, address in equal]
        is_cut = (place == 0 and not is_first) or (place + len(addresses) == len(hits) and not is_last)
        place += len(addresses)
        if len(addresses) == 1 or is_cut or len(addresses) > MAX_TIED:
            yield from addresses
        else:
            keys = zip(*(searcher.fast_field_values(name, addresses) for name in ("order", "row")), strict=True)
            yield from (address for _, address in sorted(zip(keys, addresses, strict=True), key=lambda each: each[0]))
