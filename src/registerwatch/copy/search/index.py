"""Searches the index of this node."""

import asyncio
import json
import os
from collections.abc import Callable, Collection, Hashable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import tantivy
from tantivy import Query

from registerwatch.copy.search.fields import LAYOUT, analyzer, indexable, reference_key
from registerwatch.copy.search.filters import Filters
from registerwatch.copy.search.hits import SMALL, Hits
from registerwatch.copy.search.index_files import META, LoadedFiles, documents_in
from registerwatch.copy.search.names import NameSearch
from registerwatch.copy.search.query_parts import SCHEMA, any_of, but_for, passing, value
from registerwatch.copy.search.result_pages import in_order
from registerwatch.copy.search.ties import MANY
from registerwatch.errors import IndexUnavailable

MAX_KEPT = 500
"""Searches whose hits are kept."""

MARK = "follows.json"

Result = TypeVar("Result")

INDEX_UNREADABLE = "The search index cannot be read; it is being built anew."


class _State:
    """A loaded state: how many documents, deleted ones included, and hits of searches in it that took long."""

    def __init__(self, size: int = 0) -> None:
        self.size = size
        self.hits: dict[Hashable, Hits] = {}


class SearchIndex:
    """The index of one node. Several processes may read it; `IndexWriter` makes sure that only one writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / LAYOUT
        self._meta, self._mark = self.folder / META, self.folder / MARK
        self._read_mark = b"", ("", 0)
        """The last read content of the note, and the copy and revision that it names."""
        self._index: tantivy.Index | None = None
        self._analyzer = analyzer()
        self._committed = b""
        self._state = _State()
        self._files = LoadedFiles()
        self._damaged: bytes | None = None
        """A commit whose files were truncated while it was loaded; it is not loaded again."""
        self._loaded = ("", 0)
        """Copy and revision that the loaded index has at least."""

    def refresh(self) -> bool:
        """Load the last commit. False while there is no index yet. Raises `IndexUnavailable`.

        The content of the file that names the segments is compared: it differs after every commit and rebuild, while
        times, sizes and inodes can come back. It has a few kilobytes; reading them takes 20 µs.
        """
        noted = self._noted()  # before the commit that it may belong to is loaded, so that it is never too late
        try:
            committed = self._meta.read_bytes()
            if committed == self._damaged:
                return False
            if self._index is None:
                self._index = self.open()
            elif committed != self._committed:
                self._index.reload()
            if committed != self._committed:
                self._files.note(self.folder, committed)
                self._state = _State(documents_in(committed))
            self._committed, self._loaded = committed, noted
        except FileNotFoundError:
            self._index = None
            return False
        except (OSError, ValueError) as error:
            self._index = None
            raise IndexUnavailable(f"The search index in {self.folder} cannot be read: {error}") from error
        return True

    @property
    def is_open(self) -> bool:
        """Whether there is an index that searches can use."""
        return self._index is not None

    def close(self) -> None:
        """Stop using the loaded index. Searches find nothing until another one is loaded."""
        self._index, self._committed, self._state = None, b"", _State()

    def open(self) -> tantivy.Index:
        """Open the index on disk, making an empty one where there is none."""
        index = tantivy.Index(SCHEMA, str(self.folder), reuse=True)
        index.register_tokenizer("words", self._analyzer)
        index.config_reader("manual")  # else a thread of the library loads what is committed too, damaged or not
        return index

    @property
    def documents(self) -> int:
        """The number of devices that can be found."""
        return self._searcher().num_docs if self._ready() else 0

    def indexed_revision(self, copy_id: str) -> int:
        """The revision of this copy that the index on disk has, 0 when there is none or it is of another copy."""
        revision = self.noted_revision(copy_id)
        return revision if revision and self._meta.exists() else 0

    def noted_revision(self, copy_id: str) -> int:
        """The revision in the note alone, whatever happened to the index beside it."""
        noted_of, revision = self._noted()
        return revision if noted_of == copy_id else 0

    def loaded_revision(self, copy_id: str) -> int:
        """The revision of this copy that searches see at least."""
        loaded_of, revision = self._loaded
        return revision if self._index is not None and loaded_of == copy_id else 0

    def _noted(self) -> tuple[str, int]:
        """Copy and revision in the note on disk."""
        try:
            with open(self._mark, "rb", buffering=0) as file:
                content = file.read()
            if content != self._read_mark[0]:
                mark = json.loads(content)
                self._read_mark = content, (str(mark["copy"]), int(mark["revision"]))
            return self._read_mark[1]
        except (OSError, ValueError, KeyError, TypeError):
            return "", 0

    def note_revision(self, copy_id: str, revision: int) -> None:
        """Note that the index on disk has this revision of this copy."""
        new = self.folder / f"{MARK}.new"
        new.write_text(json.dumps({"copy": copy_id, "revision": revision}))
        os.replace(new, self._mark)

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
        return self._exact("manufacturer", [srn], filters, limit=limit, offset=offset, left_out=without)

    def by_reference(self, reference: str, filters: Filters, *, limit: int, offset: int) -> Hits:
        """Devices with this catalogue reference, without regard to case and spaces."""
        return self._exact("reference", [reference_key(reference)], filters, limit=limit, offset=offset)

    def by_filters(self, filters: Filters, *, limit: int, offset: int, without: Collection[str] = ()) -> Hits:
        """Every device that passes the filters, without some UDI-DIs."""
        return self._kept(
            ("filters", filters, limit, offset, *without),
            lambda searcher, _: in_order(
                searcher, but_for(passing(Query.all_query(), filters), without), limit, offset
            ),
        )

    def by_name(self, text: str, filters: Filters, *, limit: int, offset: int) -> Hits:
        """Devices whose names have every word; the last one may be the beginning of a word."""
        words = self.words(text)
        if not words:
            return Hits([], 0)
        return self._kept(
            ("name", *words, filters, limit, offset),
            lambda searcher, size: NameSearch(searcher, size).every_word(words, filters, limit, offset),
        )

    def by_similar_name(self, text: str, filters: Filters, *, limit: int, offset: int) -> Hits:
        """As `by_name`, one typo forgiven in each word of four letters or more."""
        words = self.words(text)
        return self._kept(
            ("similar", *words, filters, limit, offset),
            lambda searcher, size: NameSearch(searcher, size).similar(words, filters, limit, offset),
        )

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

    def _kept(self, asked: Hashable, search: Callable[[tantivy.Searcher, int], Hits]) -> Hits:
        """Run a search. Many hits, which take long, are kept until another state is loaded."""
        if not self._ready():
            return Hits([], 0)
        state = self._state  # taken before the searcher: hits are never kept for a later state than theirs
        found = state.hits.get(asked)
        if found is None:
            found = search(self._searcher(), state.size)
            if found.total > MANY:
                if len(state.hits) >= MAX_KEPT:
                    state.hits.clear()
                state.hits[asked] = found
        return found

    def _exact(
        self,
        field: str,
        values: Iterable[str],
        filters: Filters,
        *,
        limit: int,
        offset: int,
        left_out: Collection[str] = (),
    ) -> Hits:
        """Devices with one of the values in a field, in the order of their UDI-DIs."""
        if not self._ready():
            return Hits([], 0)
        searcher = self._searcher()
        known = [value(field, each) for each in values if each and searcher.doc_freq(field, each)]
        if not known:
            return Hits([], 0)
        return in_order(searcher, but_for(passing(any_of(known), filters), left_out), limit, offset)


def without_panics(work: Callable[..., Result], *arguments: object) -> Result:
    """Call the library. Raises `IndexUnavailable` where changed files make it fail or, in its own word, panic."""
    try:
        return work(*arguments)
    except BaseException as error:
        # The library does not export its panics, and they are not an `Exception`.
        if type(error).__name__ != "PanicException" and not isinstance(error, ValueError):
            raise
        raise IndexUnavailable(f"The search index cannot be used: {error}") from error
