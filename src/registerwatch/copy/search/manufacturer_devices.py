"""Lists the devices of one manufacturer from the index and newer stored rows, so that an answer has everything that its
request has just read.
"""

from collections.abc import Collection, Sequence

import msgspec

from registerwatch.copy.documents.documents import DocumentReader, UnindexedRow
from registerwatch.copy.search.fields import udi_order
from registerwatch.copy.search.filters import Counts, Facet, Filters, counted, passes, values_of_document
from registerwatch.copy.search.hits import Hits
from registerwatch.copy.search.index import SearchIndex
from registerwatch.errors import IndexUnavailable
from registerwatch.register.models import SearchRow

MAX_UNINDEXED = 5_000
"""Changes that are searched, the newest first. An index that lacks more says so."""

_row = msgspec.json.Decoder(SearchRow)


class DevicePage(msgspec.Struct, frozen=True):
    """One page of a manufacturer's devices in the order of their UDI-DIs, and the exact number of all.

    `facets` count the values of all of them.
    """

    rows: list[SearchRow]
    total: int
    facets: Counts = msgspec.field(default_factory=dict)


class ManufacturerDevices:
    """Lists devices by SRN, from the index and the copy together."""

    def __init__(self, documents: DocumentReader, index: SearchIndex) -> None:
        self._documents = documents
        self._index = index

    async def page(
        self, srn: str, filters: Filters, *, limit: int, offset: int, facets: Collection[Facet] = ()
    ) -> DevicePage:
        """The devices from `offset` on, at most `limit`. Raises `IndexUnavailable`."""
        changed = await self._unindexed(srn)
        passing = _passing(changed, srn, filters)
        # Devices before this window, indexed or newer, also come before the page, however they mix.
        before, wanted = max(0, offset - len(passing)), limit + len(passing)
        without = [row.udi for row in changed]

        def look() -> tuple[Hits, Counts]:
            hits = self._index.by_srn(srn, filters, limit=wanted, offset=before, without=without)
            return hits, hits.counts(facets, filters)

        hits, counts = await self._index.run(look, is_long=bool(facets))
        if facets and passing:
            more = counted([values_of_document(document) for document, _ in passing], facets, filters)
            counts = {facet: counts[facet].with_more(more[facet], facet) for facet in facets}
        indexed = [_row.decode(document) for document in await self._documents.rows(hits.ids)]
        rows = (
            sorted([*indexed, *(row for _, row in passing)], key=lambda row: udi_order(row.udi)) if passing else indexed
        )
        return DevicePage(rows[offset - before : offset - before + limit], hits.total + len(passing), counts)

    async def count(self, srn: str) -> int:
        """How many devices it has at least: devices missing in the index are not counted."""
        try:
            return (await self.page(srn, Filters(), limit=1, offset=0)).total
        except IndexUnavailable:
            return 0

    async def _unindexed(self, srn: str) -> Sequence[UnindexedRow]:
        copy_id, revision = await self._documents.revision()
        indexed = self._index.loaded_revision(copy_id)
        return await self._documents.unindexed(srn, indexed, MAX_UNINDEXED) if revision > indexed else ()


def _passing(changed: Sequence[UnindexedRow], srn: str, filters: Filters) -> list[tuple[bytes, SearchRow]]:
    """The changed documents that belong to this manufacturer's list with these filters."""
    found = [(row.document, _row.decode(row.document)) for row in changed if row.is_listed and row.document is not None]
    return [(document, row) for document, row in found if row.manufacturer_srn == srn and passes(document, filters)]
