"""An index of devices that a test made up, without a database: row ids are places in the list, from 1."""

from collections.abc import Callable, Iterable
from pathlib import Path

from registerwatch.copy.search.hits import Hits
from registerwatch.copy.search.index import SearchIndex
from registerwatch.copy.search.index_writer import IndexWriter
from registerwatch.register.models import Device, document

COPY = "a copy"
EVERYTHING = 10_000

SearchService = Callable[[int, int], Hits]
"""One page of a search, by its limit and its offset."""


def indexed(folder: Path, devices: Iterable[Device], *, batches: int = 1) -> SearchIndex:
    """A committed index of these devices, in as many commits."""
    index = SearchIndex(folder / "index")
    writer = IndexWriter(index)
    assert writer.acquire(COPY)
    numbered = list(enumerate(devices, start=1))
    step = max(1, -(-len(numbered) // batches))
    for start in range(0, len(numbered), step):
        for number, device in numbered[start : start + step]:
            writer.put(number, document(device), is_current=True)
        writer.commit(numbered[min(start + step, len(numbered)) - 1][0])
    writer.finish()
    assert index.refresh()
    return index


def page_through(search: SearchService, size: int) -> tuple[list[int], set[int]]:
    """All ids over all pages of a search, in order, and the totals that the pages told."""
    ids: list[int] = []
    totals: set[int] = set()
    while True:
        hits = search(size, len(ids))
        totals.add(hits.total)
        if not hits.ids:
            return ids, totals
        ids += hits.ids
