"""Searching the index of this node."""

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
from registerwatch.register.search.hits import Hits, Selection
from registerwatch.register.search.index_files import META, LoadedFiles
from registerwatch.register.search.ties import rows_in_order

MAX_EXPANSIONS = 48
"""Words that a prefix is spelled out into, so that they can be ranked; more are matched without ranking."""

REST_BOOST = 0.2
COMMON = 2_000
"""Devices with a word from which on the word alone fills the first pages."""

MARK = "follows.json"

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

    def by_identifier(self, identifiers: Iterable[str], filters: Filters, *, limit: int, offset: int) -> Hits:
        """Devices with one of these UDI-DIs or Basic UDI-DIs."""
        terms = list(dict.fromkeys([*identifiers, *(reference_key(each) for each in identifiers)]))
        return self._exact(Query.term_set_query(self._schema, "identifier", terms), filters, limit, offset)

    def by_srn(self, srn: str, filters: Filters, *, limit: int, offset: int, without: Collection[str] = ()) -> Hits:
        """Devices of one manufacturer, without some UDI-DIs."""
        return self._exact(self._without(self._term("manufacturer", srn), without), filters, limit, offset)

    def by_reference(self, reference: str, filters: Filters, *, limit: int, offset: int) -> Hits:
        """Devices with this catalogue reference, without regard to case and spaces."""
        key = reference_key(reference)
        return self._exact(self._term("reference", key), filters, limit, offset) if key else Hits([], 0)

    def by_filters(self, filters: Filters, *, limit: int, offset: int, without: Collection[str] = ()) -> Hits:
        """Every device that the filters let through, without some UDI-DIs."""
        return self._exact(self._without(Query.all_query(), without), filters, limit, offset)

    def by_name(self, text: str, filters: Filters, *, limit: int, offset: int) -> Hits:
        """Devices whose names have every word; the last one may be the beginning of a word."""
        words = self.words(text)
        if not words or not self._ready():
            return Hits([], 0)
        *firsts, last = words
        longer = self._longer_words(last)
        if not longer:
            return self._search(
                self._in_names(filters, lambda field: [self._word(field, word) for word in words]), limit, offset
            )
        begins = self._in_names(
            filters, lambda field: [*(self._word(field, word) for word in firsts), self._beginning(field, last, longer)]
        )
        if self._searcher().doc_freq("names", last) > COMMON:
            # So many devices have the whole word, which ranks first, that it alone fills this page.
            whole = self._in_names(filters, lambda field: [self._word(field, word) for word in words])
            page = rows_in_order(self._searcher(), whole, limit, offset) if offset + limit <= COMMON else []
            if page and len(page) == limit:
                selection = Selection(self._searcher(), begins)
                return Hits(page, selection.total(), selection)
        return self._search(begins, limit, offset)

    def by_similar_name(self, text: str, filters: Filters, *, limit: int, offset: int) -> Hits:
        """The same, one typo forgiven in each word of four letters or more."""
        words = self.words(text)
        if not any(len(word) >= 4 for word in words) or not self._ready():
            return Hits([], 0)
        query = self._in_names(
            filters,
            lambda field: [self._similar(field, word) if len(word) >= 4 else self._word(field, word) for word in words],
        )
        return self._search(query, limit, offset)

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

    def _beginning(self, field: str, word: str, longer: list[str]) -> Query:
        """The word or one that begins with it; the word itself ranks first."""
        if len(longer) < MAX_EXPANSIONS:
            others = [self._word(field, term) for term in longer]
        else:
            others = [Query.fuzzy_term_query(self._schema, field, word, distance=0, prefix=True)]
        if not self._searcher().doc_freq("names", word):
            return _any(others)
        # Whatever begins with the word adds nothing to a device that has it whole: those rank as they do without it.
        return Query.disjunction_max_query([self._word(field, word), Query.const_score_query(_any(others), 0.0)])

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

    def _exact(self, query: Query, filters: Filters, limit: int, offset: int) -> Hits:
        clauses = [(Occur.Must, self._unscored(*each)) for each in filters.chosen]
        if clauses:
            query = Query.boolean_query([(Occur.Must, query), *clauses])
        return self._search(query, limit, offset, in_order=True)

    def _search(self, query: Query, limit: int, offset: int, *, in_order: bool = False) -> Hits:
        if not self._ready():
            return Hits([], 0)
        searcher = self._searcher()
        selection = Selection(searcher, query)
        if offset > limit or not in_order:  # allocate nothing for a page after the last one
            total = selection.total()
            if offset >= total:
                return Hits([], total, selection)
        if not in_order:
            return Hits(rows_in_order(searcher, query, limit, offset), total, selection)
        result = searcher.search(query, limit, count=True, offset=offset, order_by_field="order", order=Order.Asc)
        rows = searcher.fast_field_values("row", [address for _, address in result.hits])
        return Hits([int(row) for row in rows if row is not None], _count(result), selection)


def _all(clauses: list[Query]) -> Query:
    return clauses[0] if len(clauses) == 1 else Query.boolean_query([(Occur.Must, clause) for clause in clauses])


def _any(clauses: list[Query]) -> Query:
    return clauses[0] if len(clauses) == 1 else Query.boolean_query([(Occur.Should, clause) for clause in clauses])


def _count(result: tantivy.SearchResult) -> int:
    count: int | None = result.count  # type: ignore[attr-defined]  # the library's stubs leave it out
    return count or 0


Result = TypeVar("Result")


def without_panics(work: Callable[..., Result], *arguments: object) -> Result:
    """Do work of the library. Where files that were changed make it fail or, as it says, panic: `IndexUnavailable`."""
    try:
        return work(*arguments)
    except BaseException as error:
        # The library names its panics nowhere, and they are no `Exception`.
        if type(error).__name__ != "PanicException" and not isinstance(error, ValueError):
            raise
        raise IndexUnavailable(f"The search index cannot be used: {error}") from error
