"""Searching the index of this node."""

import asyncio
import json
import os
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import tantivy
from tantivy import Occur, Order, Query

from registerwatch.errors import IndexUnavailable
from registerwatch.register.codes import StatusFilter
from registerwatch.register.search.fields import (
    LAYOUT,
    analyzer,
    filter_field,
    indexable,
    narrowed,
    reference_key,
    schema,
)
from registerwatch.register.search.filters import Facet, Filters
from registerwatch.register.search.hits import SMALL, Hits, Selection, count_of
from registerwatch.register.search.index_files import META, LoadedFiles
from registerwatch.register.search.ties import MAX_TIED, page_in_order, rows_at

MAX_EXPANSIONS = 48
"""Words that a prefix is spelled out into, so that they can be ranked; more are matched without ranking."""

REST_BOOST = 0.2
MAX_ALLOCATED = 20_000
"""Hits before a page for which the library may reserve memory without knowing whether there are so many."""
COMMON = 2_000
"""Devices with a word from which on the word alone fills the first pages."""

MARK = "follows.json"

Result = TypeVar("Result")

INDEX_UNREADABLE = "The search index cannot be read; it is being built anew."


class SearchIndex:
    """The index of one node. Several processes may read it; `IndexWriter` makes sure that one writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / LAYOUT
        self._index: tantivy.Index | None = None
        self._analyzer = analyzer()
        self._schema = schema()
        self._committed = b""
        self._files = LoadedFiles()
        self._damaged: bytes | None = None
        """A commit whose files were cut off while it was loaded; it is not loaded again."""
        self._loaded = ("", 0)
        """Copy and revision that the loaded index has at least."""

    def refresh(self) -> bool:
        """Load what was committed since. False while there is no index yet.

        What is compared is the content of the file that names the segments: every commit and every rebuild makes
        another, while times, sizes and inodes can come back. It has a few kilobytes; reading them takes 20 µs.
        """
        noted = self._noted()  # before the commit that it may belong to is loaded, so that it is never too late
        try:
            committed = (self.folder / META).read_bytes()
            if committed == self._damaged:
                return False
            if self._index is None:
                self._index = self.open()
            elif committed != self._committed:
                self._index.reload()
            if committed != self._committed:
                self._files.note(self.folder, committed)
            self._committed, self._loaded = committed, noted
        except FileNotFoundError:
            self._index = None
            return False
        except ValueError as error:
            self._index = None
            raise IndexUnavailable(f"The search index in {self.folder} cannot be read: {error}") from error
        return True

    @property
    def is_open(self) -> bool:
        """Whether there is an index that searches can use."""
        return self._index is not None

    def close(self) -> None:
        """Use the loaded index no more. Searches find nothing until another one is loaded."""
        self._index, self._committed = None, b""

    def open(self) -> tantivy.Index:
        """Open the index on disk, making an empty one where there is none."""
        index = tantivy.Index(self._schema, str(self.folder), reuse=True)
        index.register_tokenizer("words", self._analyzer)
        index.config_reader("manual")  # else a thread of the library loads what is committed too, damaged or not
        return index

    @property
    def documents(self) -> int:
        """Number of devices that can be found."""
        return self._searcher().num_docs if self._ready() else 0

    def indexed_revision(self, copy_id: str) -> int:
        """The revision of this copy that the index on disk has, 0 when there is none or it is of another copy."""
        revision = self.noted_revision(copy_id)
        return revision if revision and tantivy.Index.exists(str(self.folder)) else 0

    def noted_revision(self, copy_id: str) -> int:
        """The same by the note alone, whatever became of the index beside it."""
        noted_of, revision = self._noted()
        return revision if noted_of == copy_id else 0

    def loaded_revision(self, copy_id: str) -> int:
        """The revision of this copy that searches see at least."""
        loaded_of, revision = self._loaded
        return revision if self._index is not None and loaded_of == copy_id else 0

    def _noted(self) -> tuple[str, int]:
        """Copy and revision that were noted on disk."""
        try:
            mark = json.loads((self.folder / MARK).read_text())
            return str(mark["copy"]), int(mark["revision"])
        except (OSError, ValueError, KeyError, TypeError):
            return "", 0

    def note_revision(self, copy_id: str, revision: int) -> None:
        """Note that the index on disk has this revision of this copy."""
        new = self.folder / f"{MARK}.new"
        new.write_text(json.dumps({"copy": copy_id, "revision": revision}))
        os.replace(new, self.folder / MARK)

    async def run(self, look: Callable[[], Result], *, is_long: bool = False) -> Result:
        """Call a function that searches: in a thread, so that others need not wait for it, unless the index is so
        small that a thread would cost more. Raises `IndexUnavailable`.
        """
        if is_long or self.documents > SMALL:
            return await asyncio.to_thread(without_panics, look)
        return without_panics(look)

    def by_identifier(self, identifiers: Iterable[str], filters: Filters, *, limit: int, offset: int) -> Hits:
        """Devices with one of these UDI-DIs or Basic UDI-DIs."""
        terms = dict.fromkeys([*identifiers, *(reference_key(each) for each in identifiers)])
        return self._exact("identifier", terms, filters, limit=limit, offset=offset)

    def by_srn(self, srn: str, filters: Filters, *, limit: int, offset: int, without: Collection[str] = ()) -> Hits:
        """Devices of one manufacturer, without some UDI-DIs."""
        return self._exact("manufacturer", [srn], filters, limit=limit, offset=offset, without=without)

    def by_reference(self, reference: str, filters: Filters, *, limit: int, offset: int) -> Hits:
        """Devices with this catalogue reference, without regard to case and spaces."""
        return self._exact("reference", [reference_key(reference)], filters, limit=limit, offset=offset)

    def by_filters(self, filters: Filters, *, limit: int, offset: int, without: Collection[str] = ()) -> Hits:
        """Every device that the filters let through, without some UDI-DIs."""
        if not self._ready():
            return Hits([], 0)
        return self._in_order(self._without(self._passing(Query.all_query(), filters), without), limit, offset)

    def by_name(self, text: str, filters: Filters, *, limit: int, offset: int) -> Hits:
        """Devices whose names have every word; the last one may be the beginning of a word."""
        words = self.words(text)
        if not words or not self._ready():
            return Hits([], 0)
        *firsts, last = words
        searcher = self._searcher()
        if not all(searcher.doc_freq("names", word) for word in firsts):
            return Hits([], 0)
        longer, frequency = self._longer_words(last), searcher.doc_freq("names", last)
        if not longer and not frequency:
            return Hits([], 0)
        whole = self._in_names(filters, lambda field: [self._word(field, word) for word in words])
        if not longer:
            return self._ranked(whole, limit, offset, frequency)
        if frequency and not firsts:
            more = self._in_names(filters, lambda field: [self._only_longer(field, last, longer)])
            return self._one_before_another(whole, more, limit, offset, frequency)
        begins = self._in_names(
            filters, lambda field: [*(self._word(field, word) for word in firsts), self._beginning(field, last, longer)]
        )
        if frequency > COMMON and offset + limit <= COMMON:
            # So many devices have the whole word, which ranks first, that it alone fills this page.
            page, _ = page_in_order(searcher, whole, limit, offset, expected=frequency)
            if len(page) == limit:
                selection = Selection(searcher, begins)
                return Hits(page, selection.total(), selection)
        return self._ranked(begins, limit, offset)

    def by_similar_name(self, text: str, filters: Filters, *, limit: int, offset: int) -> Hits:
        """The same, one typo forgiven in each word of four letters or more."""
        words = self.words(text)
        if not any(len(word) >= 4 for word in words) or not self._ready():
            return Hits([], 0)
        query = self._in_names(
            filters,
            lambda field: [self._similar(field, word) if len(word) >= 4 else self._word(field, word) for word in words],
        )
        return self._ranked(query, limit, offset)

    def words(self, text: str) -> list[str]:
        """The words of a query, as the index knows words, each once."""
        return list(dict.fromkeys(self._analyzer.analyze(indexable(text))))

    def _ready(self) -> bool:
        with suppress(IndexUnavailable):  # the indexer meets it too, and says so
            if self._index is None:
                return self.refresh()
            if self._files.are_intact():
                return True
            self._damaged = self._committed
            self.close()
        return False

    def _searcher(self) -> tantivy.Searcher:
        if self._index is None:
            raise IndexUnavailable("The search index is not open.")
        return self._index.searcher()

    def _term(self, field: str, value: str) -> Query:
        return Query.term_query(self._schema, field, value, "basic")

    def _word(self, field: str, word: str) -> Query:
        return Query.term_query(self._schema, field, word, "freq")

    def _similar(self, field: str, word: str) -> Query:
        return Query.fuzzy_term_query(self._schema, field, word, distance=1)

    def _longer_words(self, word: str) -> list[str]:
        """Words that begin with this one; for one or two letters only where they are no word themselves.

        Two letters begin the words of a fifth of the register, so that list would help nobody and cost everybody.
        """
        searcher = self._searcher()
        if len(word) <= 2 and searcher.doc_freq("names", word):
            return []
        found = [term for term, _ in searcher.terms_with_prefix("names", word, limit=MAX_EXPANSIONS + 1)]
        return [term for term in found if term != word]

    def _longer(self, field: str, word: str, longer: list[str]) -> list[Query]:
        """The words that begin with a word, one by one; where they are many, all at once, together with the word."""
        if len(longer) < MAX_EXPANSIONS:
            return [self._word(field, term) for term in longer]
        return [Query.fuzzy_term_query(self._schema, field, word, distance=0, prefix=True)]

    def _only_longer(self, field: str, word: str, longer: list[str]) -> Query:
        """A word that begins with this one, and not this one; unranked."""
        others = Query.const_score_query(_any(self._longer(field, word, longer)), 0.0)
        return Query.boolean_query([(Occur.Must, others), (Occur.MustNot, self._word(field, word))])

    def _beginning(self, field: str, word: str, longer: list[str]) -> Query:
        """The word or one that begins with it; the word itself ranks first."""
        others = _any(self._longer(field, word, longer))
        if not self._searcher().doc_freq("names", word):
            return others
        # Whatever begins with the word adds nothing to a device that has it whole: those rank as they do without it.
        return Query.disjunction_max_query([self._word(field, word), Query.const_score_query(others, 0.0)])

    def _in_names(self, filters: Filters, clauses: Callable[[str], list[Query]]) -> Query:
        """Documents that meet every clause, in the fields whose words have the filters applied already."""
        others = [self._unscored(*each) for each in filters.chosen if each[0] not in (Facet.STATUS, Facet.RISK)]
        query = self._in_narrowed_names(filters, clauses)
        return _all([query, *others]) if others else query

    def _in_narrowed_names(self, filters: Filters, clauses: Callable[[str], list[Query]]) -> Query:
        status, risk = filters.status, filters.risk
        if risk is None:
            return _all(clauses("names" if status is None else f"filtered.{narrowed(status)}"))
        on_market = _all(clauses(f"filtered.{narrowed(risk, on_market=True)}"))
        if status is StatusFilter.ON:
            return on_market
        rest = clauses(f"filtered.{narrowed(risk, on_market=False)}")
        if status is not None:
            return _all([*rest, self._unscored(Facet.STATUS, status)])
        # Rarer words score higher, and in the small field all are rare: on the market comes first all the same.
        return _any([on_market, Query.boost_query(_all(rest), REST_BOOST)])

    def _unscored(self, facet: Facet, value: str) -> Query:
        return Query.const_score_query(self._term(filter_field(facet, value), value), 0.0)

    def _without(self, query: Query, udis: Collection[str]) -> Query:
        if not udis:
            return query
        left_out = Query.term_set_query(self._schema, "udi", list(udis))
        return Query.boolean_query([(Occur.Must, query), (Occur.MustNot, left_out)])

    def _exact(
        self,
        field: str,
        values: Iterable[str],
        filters: Filters,
        *,
        limit: int,
        offset: int,
        without: Collection[str] = (),
    ) -> Hits:
        """Devices that have one of the values in a field, in the order of their UDI-DIs."""
        if not self._ready():
            return Hits([], 0)
        searcher = self._searcher()
        known = [self._term(field, value) for value in values if value and searcher.doc_freq(field, value)]
        if not known:
            return Hits([], 0)
        return self._in_order(self._without(self._passing(_any(known), filters), without), limit, offset)

    def _passing(self, query: Query, filters: Filters) -> Query:
        """What the filters let through of a query that ranks nothing."""
        return _all([query, *(self._unscored(*each) for each in filters.chosen)])

    def _in_order(self, query: Query, limit: int, offset: int) -> Hits:
        """A page in the order of UDI-DIs."""
        searcher = self._searcher()
        selection = Selection(searcher, query)
        if offset > MAX_ALLOCATED and offset >= (total := selection.total()):
            return Hits([], total, selection)
        result = searcher.search(query, limit, count=True, offset=offset, order_by_field="order", order=Order.Asc)
        return Hits(rows_at(searcher, [address for _, address in result.hits]), count_of(result), selection)

    def _ranked(self, query: Query, limit: int, offset: int, expected: int = 0) -> Hits:
        """A page of hits, the best first. `expected` says about how many there are."""
        searcher = self._searcher()
        selection = Selection(searcher, query)
        if offset > MAX_ALLOCATED and offset >= (total := selection.total()):
            return Hits([], total, selection)
        rows, total = page_in_order(searcher, query, limit, offset, expected=expected)
        return Hits(rows, total, selection)

    def _one_before_another(self, first: Query, then: Query, limit: int, offset: int, expected: int) -> Hits:
        """A page of what two queries find, which share no document: all hits of the first, then those of the other."""
        searcher = self._searcher()
        ranked = self._ranked(first, limit, offset, expected)
        others = Selection(searcher, then).total()
        rows, start = ranked.ids, max(0, offset - ranked.total)
        if len(rows) < limit and others > start:
            rows = [*rows, *self._unranked(then, others, limit - len(rows), start)]
        return Hits(rows, ranked.total + others, Selection(searcher, _any([first, then])))

    def _unranked(self, query: Query, total: int, limit: int, offset: int) -> list[int]:
        """Rows among hits that are all equal, as `page_in_order` has them."""
        if total <= MAX_TIED:
            return self._in_order(query, limit, offset).ids
        searcher = self._searcher()
        return rows_at(
            searcher, [address for _, address in searcher.search(query, limit, count=False, offset=offset).hits]
        )


def _all(clauses: list[Query]) -> Query:
    return clauses[0] if len(clauses) == 1 else Query.boolean_query([(Occur.Must, clause) for clause in clauses])


def _any(clauses: list[Query]) -> Query:
    return clauses[0] if len(clauses) == 1 else Query.boolean_query([(Occur.Should, clause) for clause in clauses])


def without_panics(work: Callable[..., Result], *arguments: object) -> Result:
    """Do work of the library. Where files that were changed make it fail or, as it says, panic: `IndexUnavailable`."""
    try:
        return work(*arguments)
    except BaseException as error:
        # The library names its panics nowhere, and they are no `Exception`.
        if type(error).__name__ != "PanicException" and not isinstance(error, ValueError):
            raise
        raise IndexUnavailable(f"The search index cannot be used: {error}") from error
