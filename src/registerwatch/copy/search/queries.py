"""Searches the stored copy: exact UDI, exact SRN, names, catalogue references, in this order."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Literal

import msgspec

from registerwatch.copy.actor_lists import ActorLists, ListState
from registerwatch.copy.certificates.certificate_queries import CertificateQueries, CertificatesWithNumber
from registerwatch.copy.documents.documents import CodedDevice, DocumentReader, listed_or_all
from registerwatch.copy.search.filters import Counts, Facet, Filters, counted, passes, values_of_document
from registerwatch.copy.search.hits import Hits
from registerwatch.copy.search.index import INDEX_UNREADABLE, SearchIndex
from registerwatch.copy.search.manufacturer_devices import ManufacturerDevices
from registerwatch.errors import IndexUnavailable, InvalidInput
from registerwatch.platform.structs import replace
from registerwatch.register.identifiers import (
    ParsedCode,
    can_be_stored,
    kind,
    looks_like_udi,
    may_be_certificate_number,
    read_code,
    udi_spellings,
    udis_like_srn,
)
from registerwatch.register.models import SearchRow

NAME_ROWS = 8
SRN_ROWS = 20
CERTIFICATE_ROWS = 10
MAX_QUERY_LENGTH = 200
DELISTED = "The register no longer lists this device; its own page shows what was read of it before."

NOT_BUILT = (
    "The search index is being built, so nothing can be found by words and filters yet. Meanwhile devices and actors"
    " are found by their codes, UDI-DI and SRN."
)

MAX_RESULTS = 10_000
"""Results that pages lead to. Deeper results cost more, and people do not read so far."""

Match = Literal["udi", "srn", "name", "reference"]

_row = msgspec.json.Decoder(SearchRow)


class _Query(msgspec.Struct, frozen=True):
    """The typed text, its reading, its spellings as an identifier, and the UDI-DI in whose form it is written."""

    text: str
    read: ParsedCode
    spellings: Sequence[str]
    code: str | None

    @classmethod
    def of(cls, text: str) -> "_Query":
        """Read a text."""
        read = read_code(text)
        return cls(text, read, udi_spellings(text, read), _code_of(text, read))


class SearchPage(msgspec.Struct, frozen=True):
    """One page of results. `total` counts all of them exactly; `code` is the UDI-DI or SRN that was searched for.
    `maker_list` says how much of the register's list is known, where devices of one manufacturer were searched for.

    `numbered` are the certificates with the query as their number, whatever else was found by words; None where it can
    be no number, or a device has it as a code.
    `facets` has the requested counts of all results.
    """

    results: list[SearchRow]
    total: int
    match: Match
    code: str | None
    error: str | None
    numbered: CertificatesWithNumber | None = None
    coded: Sequence[CodedDevice] = ()
    """The devices of the whole result, where the query is another code of them, such as of a package."""
    facets: Counts = msgspec.field(default_factory=dict)
    maker_list: ListState | None = None

    @property
    def is_known_in_part(self) -> bool:
        """Whether devices that the register lists of the manufacturer are missing, since they were not read yet."""
        return self.maker_list is not None and not self.maker_list.is_whole

    @property
    def is_unindexed(self) -> bool:
        """Whether nothing is indexed yet, so that the same search may find something at any moment."""
        return self.error == NOT_BUILT

    @property
    def is_delisted(self) -> bool:
        """Whether a device was searched for that the register no longer lists."""
        return self.error == DELISTED


class SearchService:
    """Searches one copy through one index. `problem` says why the index cannot answer in full, None if it can;
    `has_nothing` whether it cannot answer at all; `list_problem` why the last try to read devices of a manufacturer
    failed, None where it did not.
    """

    def __init__(
        self,
        documents: DocumentReader,
        index: SearchIndex,
        problem: Callable[[], str | None],
        has_nothing: Callable[[], Awaitable[bool]],
        certificates: CertificateQueries,
        lists: ActorLists,
        list_problem: Callable[[str], str | None],
    ) -> None:
        self._certificates = certificates
        self._lists = lists
        self._list_problem = list_problem
        self._documents = documents
        self._index = index
        self._of_manufacturers = ManufacturerDevices(documents, index)
        self._problem = problem
        self._has_nothing = has_nothing

    async def search(
        self,
        query: str,
        filters: Filters,
        *,
        page: int = 1,
        name_rows: int = NAME_ROWS,
        srn_rows: int = SRN_ROWS,
        facets: Collection[Facet] = (),
    ) -> SearchPage:
        """One page (1-based). `name_rows` is the length of a page of names or references, `srn_rows` that of an SRN's.

        The `facets` are counted, too, which takes some milliseconds for each in millions of devices.

        Raises `InvalidInput` when there is neither a query nor a filter, or when one of them makes no sense, and
        `IndexUnavailable` where nothing was found since the index is not built yet.
        """
        text = query.encode("utf-8", "replace").decode().strip()  # half a surrogate pair is not a text
        if not text and filters.is_any:
            raise InvalidInput("Send a query in `q`, or a filter such as `status` or `risk`.")
        if len(text) > MAX_QUERY_LENGTH:
            raise InvalidInput(
                f"The query has {len(text)} characters; the longest that is possible has {MAX_QUERY_LENGTH}."
            )
        if page < 1:
            raise InvalidInput("The page number counts from 1.")
        asked = _Query.of(text)
        srn = asked.read.subject if asked.read.subject and kind(asked.read.subject) == "srn" else None
        rows = name_rows if srn is None else srn_rows
        is_within = page * rows <= MAX_RESULTS
        first = page if is_within else 1
        found = await self._in_copy(asked, srn, filters, first, rows, facets)
        if found is None:
            found = await self._in_index(asked, srn, filters, first, rows, facets)
        if is_within:
            return await self._with_list(found, filters)
        if (page - 1) * rows < found.total:
            raise InvalidInput(
                f"Only the first {MAX_RESULTS:,} of {found.total:,} results have pages: the last one is"
                f" {MAX_RESULTS // rows:,}. Narrow the search by more words or filters."
            )
        return await self._with_list(replace(found, results=[]), filters)

    async def _with_list(self, found: SearchPage, filters: Filters) -> SearchPage:
        """The page with how much of the manufacturer's list is known, where one manufacturer was searched for. Devices
        that could not be read are an error of the search; those that were not tried are not.
        """
        srn = found.code if found.match == "srn" else filters.manufacturer
        if srn is None or kind(srn) != "srn":
            return found
        is_counted = found.match == "srn" and filters.is_any
        known = found.total if is_counted else await self._of_manufacturers.count(srn)
        is_exact = not (found.error or self._problem())
        facts = await self._lists.facts(srn)
        state = facts.state(known, is_exact=is_exact)
        error = found.error or (None if state.is_whole else self._list_problem(srn))
        return replace(found, maker_list=state, error=error)

    async def _in_copy(
        self, asked: _Query, srn: str | None, filters: Filters, page: int, rows: int, facets: Collection[Facet]
    ) -> SearchPage | None:
        """The stored devices with this code, whether or not they pass the filters; None without any."""
        may_be_udi = srn is None or udis_like_srn(asked.text)
        if may_be_udi and (found := await self._by_udi(asked, filters, page, facets)):
            return found
        return None if srn is not None else await self._by_other_code(asked, filters, page, rows, facets)

    async def _in_index(
        self, asked: _Query, srn: str | None, filters: Filters, page: int, rows: int, facets: Collection[Facet]
    ) -> SearchPage:
        """Search the index by the SRN, or else by the first way that finds something. Raises `IndexUnavailable`, also
        where nothing was found since it is not built yet. For an SRN, whose devices are also in the copy, that is an
        error of the page.
        """
        try:
            if srn is not None:
                found = await self._by_srn(srn, filters, page, rows, facets)
            else:
                found = await self._by_words(asked, filters, page, rows, facets)
        except IndexUnavailable:  # the indexer meets it too, and builds the index anew
            raise IndexUnavailable(INDEX_UNREADABLE) from None
        if srn is None and may_be_certificate_number(asked.text):
            found = replace(found, numbered=await self._certificates.numbered(asked.text, CERTIFICATE_ROWS))
        is_certificate = found.numbered is not None and not found.numbered.is_empty
        if found.total or is_certificate or not await self._has_nothing():
            return found
        if srn is None:
            raise IndexUnavailable(NOT_BUILT)
        return replace(found, error=NOT_BUILT)

    async def similar(self, filters: Filters, udi: str, rows: int) -> SearchPage:
        """Devices that pass filters, except one."""
        before = self._problem()
        try:
            hits = await self._index.run(lambda: self._index.by_filters(filters, limit=rows, offset=0, without=[udi]))
        except IndexUnavailable:
            return SearchPage([], 0, "name", None, INDEX_UNREADABLE)
        return await self._page(hits, "name", None, {}, before)

    async def _by_srn(self, srn: str, filters: Filters, page: int, rows: int, facets: Collection[Facet]) -> SearchPage:
        before = self._problem()  # an index that is built meanwhile was not whole when it was asked
        found = await self._of_manufacturers.page(srn, filters, limit=rows, offset=(page - 1) * rows, facets=facets)
        return SearchPage(found.rows, found.total, "srn", srn, before or self._problem(), facets=found.facets)

    async def _by_udi(self, asked: _Query, filters: Filters, page: int, facets: Collection[Facet]) -> SearchPage | None:
        """The device with this UDI-DI, straight from the copy: it is found before the index has it.

        A listed device with the code as typed is the only result; else all that the text can mean.
        """
        typed = "".join(asked.text.split())
        delisted: SearchPage | None = None
        found: dict[str, bytes] = {}
        possible = [udi for udi in dict.fromkeys((typed, *asked.spellings)) if can_be_stored(udi)]
        all_stored = await self._documents.devices(possible) if possible else {}
        for udi in possible:
            stored = all_stored.get(udi)
            if stored is not None and stored.delisted_at is not None:
                delisted = delisted or SearchPage([], 0, "udi", udi, DELISTED)
            elif stored is not None:
                found[udi] = stored.document
                if udi == typed:
                    break
        if not found:
            return delisted
        passing = [document for document in found.values() if passes(document, filters)]
        counts = counted([values_of_document(document) for document in passing], facets, filters) if facets else {}
        shown = [_row.decode(document) for document in passing] if page == 1 else []
        code = next(iter(found)) if len(found) == 1 else None
        return SearchPage(shown, len(passing), "udi", code, None, facets=counts)

    async def _by_other_code(
        self, asked: _Query, filters: Filters, page: int, rows: int, facets: Collection[Facet]
    ) -> SearchPage | None:
        """The devices with this other code, straight from the copy; None for words and where there is none."""
        if not (asked.read.device_spellings or asked.code):
            return None
        spellings = [each for each in asked.spellings if can_be_stored(each)]
        coded = listed_or_all(await self._documents.coded(spellings))
        if not coded:
            return None
        code = coded[0].udi if len(coded) == 1 else None
        if not coded[0].is_listed:
            return SearchPage([], 0, "udi", code, DELISTED, coded=coded)
        passing = [each.document for each in coded if passes(each.document, filters)]
        counts = counted([values_of_document(document) for document in passing], facets, filters) if facets else {}
        start = (page - 1) * rows
        shown = [_row.decode(document) for document in passing[start : start + rows]]
        return SearchPage(shown, len(passing), "udi", code, None, coded=coded, facets=counts)

    async def _by_words(
        self, asked: _Query, filters: Filters, page: int, rows: int, facets: Collection[Facet]
    ) -> SearchPage:
        offset = (page - 1) * rows
        before = self._problem()

        def look() -> tuple[Hits, Match, Counts]:
            hits, match = self._first_match(asked, filters, rows, offset)
            return hits, match, hits.counts(facets, filters)

        hits, match, counts = await self._index.run(look, is_long=bool(facets))
        return await self._page(hits, match, asked.code, counts, before)

    def _first_match(self, asked: _Query, filters: Filters, limit: int, offset: int) -> tuple[Hits, Match]:
        """The first way to search the index that finds something."""
        text = asked.text
        if not text:
            return self._index.by_filters(filters, limit=limit, offset=offset), "name"
        by_identifier = self._index.by_identifier(asked.spellings, filters, limit=limit, offset=offset)
        if by_identifier.total:
            return by_identifier, "udi"
        by_name = self._index.by_name(text, filters, limit=limit, offset=offset)
        if by_name.total:
            return by_name, "name"
        by_reference = self._index.by_reference(text, filters, limit=limit, offset=offset)
        if by_reference.total:
            return by_reference, "reference"
        if asked.code is not None:
            return Hits([], 0), "udi"
        return self._index.by_similar_name(text, filters, limit=limit, offset=offset), "name"

    async def _page(
        self, hits: Hits, match: Match, code: str | None, counts: Counts, problem: str | None
    ) -> SearchPage:
        rows = [_row.decode(document) for document in await self._documents.rows(hits.ids)]
        return SearchPage(rows, hits.total, match, code, problem or self._problem(), facets=counts)


def _code_of(text: str, meant: ParsedCode) -> str | None:
    """The UDI-DI in whose form a text is written, as the register may have it; None for words."""
    if not looks_like_udi(text, meant):
        return None
    code = meant.subject or "".join(text.split()).lstrip("+")
    return code.upper() if code.isalnum() else code
