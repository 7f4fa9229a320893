"""Results of an index search: a page of them, all of them, and how many have which value."""

from collections.abc import Collection
from dataclasses import dataclass, field

import msgspec
import tantivy
from tantivy import Query

from registerwatch.copy.search.filters import EMDN_LEVELS, Counts, Facet, FacetCounts, Filters, shown_emdn_level

ALL_VALUES = 1_000_000
"""More values than a field has: every segment of the index returns all of them, so that their sums are exact."""


SMALL = 50_000
"""Up to this many devices a search takes some hundred microseconds, whatever it finds."""


def count_of(result: tantivy.SearchResult) -> int:
    """The number of all documents that a search has counted."""
    count: int | None = result.count  # type: ignore[attr-defined]  # the library's stubs leave it out
    return count or 0


class Selection(msgspec.Struct, frozen=True):
    """All documents that a search finds in one state of the index."""

    searcher: tantivy.Searcher
    query: Query

    def total(self, expected: int | None = None) -> int:
        """The exact number of documents. Many are counted without scoring them; with few, preparing that takes longer.

        `expected` is about how many there are.
        """
        if self.searcher.num_docs <= SMALL or (expected is not None and expected <= SMALL):
            return count_of(self.searcher.search(self.query, 1, count=True))
        return int(self.searcher.aggregate(self.query, {"all": {"filter": "*"}})["all"]["doc_count"])

    def counts(self, facets: Collection[Facet], filters: Filters) -> Counts:
        """How many documents have each value, exactly, in one walk through the documents."""
        level = shown_emdn_level(filters.emdn or "")
        asked = {
            facet: {"terms": _terms(facet, filters)}
            for facet in facets
            if level <= EMDN_LEVELS or facet is not Facet.EMDN
        }
        found = self.searcher.aggregate(self.query, {facet.value: terms for facet, terms in asked.items()})
        counts = dict.fromkeys(facets, FacetCounts())
        for facet in asked:
            buckets = found[facet.value]["buckets"]
            values = [(str(each["key"]), int(each["doc_count"])) for each in buckets]
            counts[facet] = FacetCounts.of(values, facet, int(found[facet.value]["sum_other_doc_count"]))
        return counts


def _terms(facet: Facet, filters: Filters) -> dict[str, object]:
    """The values to count. For EMDN only codes of the filter's branch, on the level below it."""
    terms: dict[str, object] = {"field": facet.value, "size": facet.max_values, "segment_size": ALL_VALUES}
    if facet is Facet.EMDN:
        above = filters.emdn or ""
        terms["field"] = f"emdn_{shown_emdn_level(above)}"
        if above:
            terms["include"] = f"{above}.*"
    return terms


@dataclass(frozen=True, slots=True)
class Hits:
    """Row ids of the devices on one page, best first, and the exact number of all, which are the `selection`."""

    ids: list[int]
    total: int
    selection: Selection | None = field(default=None, compare=False)

    def counts(self, facets: Collection[Facet], filters: Filters) -> Counts:
        """The counts of facets over all results."""
        counts: dict[Facet, FacetCounts] = dict.fromkeys(facets, FacetCounts())
        if self.selection is not None:
            for group in _COUNTED_TOGETHER:
                if asked := [facet for facet in group if facet in facets]:
                    counts |= self.selection.counts(asked, filters)
        return counts


_MANY_VALUES = (Facet.MANUFACTURER,)
_FEW_VALUES = [facet for facet in Facet if facet not in _MANY_VALUES]
_COUNTED_TOGETHER = [*(_FEW_VALUES[at : at + 4] for at in range(0, len(_FEW_VALUES), 4)), _MANY_VALUES]
"""A walk through millions of documents keeps all other threads waiting, so not all facets share one."""
