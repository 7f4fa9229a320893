"""The search index: Tantivy, derived from the copy, in a folder of this node.

What is in it, and why: `names` holds the words of every trade name (four times, so that a hit there outranks one in the
device name or the manufacturer's name, which count once); `filtered` holds the same words once for each market status
and once for each risk class, so that the usual filters cost no intersection of long posting lists; `facets` holds both
codes for the rarer combinations. A document is the current record of one UDI-DI.
"""

import fcntl
import json
import os
import shutil
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec
import tantivy
from tantivy import Document, Occur, Order, Query

from registerwatch.errors import IndexUnavailable
from registerwatch.register.codes import RISK_BY_CODE, STATUS_BY_CODE, RiskFilter, StatusFilter

LAYOUT = "v1"
"""Changes with the fields or the way words are cut; an index of another layout is built anew."""

WRITER_HEAP = 40_000_000
TRADE_NAME_WEIGHT = 4
MOST_EXPANSIONS = 48
"""Words that a prefix is spelled out into, so that they can be ranked; more are matched without ranking."""

LONGEST_WORD = 60
MARK = "follows.json"


@dataclass(frozen=True, slots=True)
class Hits:
    """Row ids of the devices on one page, best first, and the exact number of all."""

    ids: list[int]
    total: int


@dataclass(frozen=True, slots=True)
class Filters:
    """Market status and risk class that results must have; None for any."""

    status: StatusFilter | None = None
    risk: RiskFilter | None = None


class IndexedDevice(msgspec.Struct, frozen=True, gc=False):
    """The fields of a stored document that are searched."""

    udi: str
    trade_name: str = ""
    trade_names: dict[str, str] = {}
    device_name: str = ""
    device_model: str = ""
    manufacturer_name: str = ""
    manufacturer_srn: str = ""
    reference: str = ""
    basic_udi: str = ""
    status_code: str = ""
    risk_class_code: str = ""


_indexed = msgspec.json.Decoder(IndexedDevice)


def folded(text: str) -> str:
    """A text without case and diacritics: `Ceramïll ΆΛΦΑ` as `ceramill αλφα`."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text)
    return "".join(character for character in apart if not unicodedata.combining(character)).casefold()


def reference_key(text: str) -> str:
    """A catalogue reference or identifier as it is compared: capitals, no white space, no leading `+`."""
    return "".join(text.split()).upper().lstrip("+")


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("row", fast=True)
    builder.add_text_field("udi", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("identifier", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("srn", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("reference", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("facets", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("names", tokenizer_name="words", index_option="freq")
    builder.add_json_field("filtered", tokenizer_name="words", index_option="freq")
    return builder.build()


def _analyzer() -> tantivy.TextAnalyzer:
    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    return (
        words.filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.ascii_fold())
        .filter(tantivy.Filter.remove_long(LONGEST_WORD))
        .build()
    )


def to_document(row_id: int, stored: bytes) -> tuple[str, Document]:
    """The index document of a stored device, and the UDI-DI that it is known by."""
    device = _indexed.decode(stored)
    trade = dict.fromkeys(folded(name) for name in (device.trade_name, *device.trade_names.values()) if name)
    other = " ".join(
        folded(name) for name in (device.device_name, device.device_model, device.manufacturer_name) if name
    )
    words = [*(" ".join(trade),) * TRADE_NAME_WEIGHT, other] if trade else [other]
    entry = Document()
    entry.add_unsigned("row", row_id)
    entry.add_text("udi", device.udi)
    for identifier in {device.udi, reference_key(device.udi), reference_key(device.basic_udi)}:
        if identifier:
            entry.add_text("identifier", identifier)
    if device.manufacturer_srn:
        entry.add_text("srn", device.manufacturer_srn)
    if device.reference:
        entry.add_text("reference", reference_key(device.reference))
    for text in words:
        entry.add_text("names", text)
    filtered = {}
    for value in (STATUS_BY_CODE.get(device.status_code), RISK_BY_CODE.get(device.risk_class_code)):
        if value is not None:
            entry.add_text("facets", _facet(value))
            filtered[_facet(value)] = words
    if filtered:
        entry.add_json("filtered", filtered)
    return device.udi, entry


def _facet(value: StatusFilter | RiskFilter) -> str:
    return f"{'s' if isinstance(value, StatusFilter) else 'r'}_{value.value.replace('-', '_')}"


class SearchIndex:
    """The index of one node. Several processes may read it; `IndexWriter` makes sure that one writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / LAYOUT
        self._index: tantivy.Index | None = None
        self._analyzer = _analyzer()
        self._schema = _schema()
        self._committed: float = 0.0

    def refresh(self) -> bool:
        """Take up what was committed since. False while there is no index yet."""
        meta = self.folder / "meta.json"
        try:
            committed = meta.stat().st_mtime
            if self._index is None:
                self._index = self.open()
            elif committed != self._committed:
                self._index.reload()
            self._committed = committed
        except FileNotFoundError:
            self._index = None
            return False
        except ValueError as error:
            self._index = None
            raise IndexUnavailable(f"The search index in {self.folder} cannot be read: {error}") from error
        return True

    def open(self) -> tantivy.Index:
        """Open the index on disk, making an empty one where there is none."""
        index = tantivy.Index(self._schema, str(self.folder), reuse=True)
        index.register_tokenizer("words", self._analyzer)
        return index

    @property
    def documents(self) -> int:
        """Number of devices that can be found."""
        return self._searcher().num_docs if self._index or self.refresh() else 0

    def follows_until(self, copy_id: str) -> int:
        """The revision of this copy that the index on disk is at, 0 when there is none or it is of another copy."""
        try:
            mark = json.loads((self.folder / MARK).read_text())
            if mark["copy"] == copy_id and tantivy.Index.exists(str(self.folder)):
                return int(mark["revision"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return 0

    def mark(self, copy_id: str, revision: int) -> None:
        """Note that the index on disk is at this revision of this copy."""
        new = self.folder / f"{MARK}.new"
        new.write_text(json.dumps({"copy": copy_id, "revision": revision}))
        os.replace(new, self.folder / MARK)

    def by_identifier(self, identifiers: Iterable[str], filters: Filters, *, limit: int, offset: int) -> Hits:
        """Devices with one of these UDI-DIs or Basic UDI-DIs."""
        terms = list(dict.fromkeys([*identifiers, *(reference_key(each) for each in identifiers)]))
        return self._exact(Query.term_set_query(self._schema, "identifier", terms), filters, limit, offset)

    def by_srn(self, srn: str, filters: Filters, *, limit: int, offset: int) -> Hits:
        """Devices of one manufacturer, in the order in which the copy met them."""
        return self._exact(self._term("srn", srn), filters, limit, offset)

    def by_reference(self, reference: str, filters: Filters, *, limit: int, offset: int) -> Hits:
        """Devices with this catalogue reference, without regard to case and spaces."""
        key = reference_key(reference)
        return self._exact(self._term("reference", key), filters, limit, offset) if key else Hits([], 0)

    def by_filters(self, filters: Filters, *, limit: int, offset: int) -> Hits:
        """Every device that the filters let through."""
        return self._exact(Query.all_query(), filters, limit, offset)

    def by_name(self, text: str, filters: Filters, *, limit: int, offset: int) -> Hits:
        """Devices whose names have every word; the last one may be the beginning of a word."""
        words = self.words(text)
        if not words or not self._ready():
            return Hits([], 0)
        field, rest = self._field(filters)
        clauses = [self._word(field, word) for word in words[:-1]]
        clauses.append(self._beginning(field, words[-1]))
        return self._ranked(clauses, rest, limit, offset)

    def by_similar_name(self, text: str, filters: Filters, *, limit: int, offset: int) -> Hits:
        """The same, one typo forgiven in each word of four letters or more."""
        words = self.words(text)
        if not any(len(word) >= 4 for word in words) or not self._ready():
            return Hits([], 0)
        field, rest = self._field(filters)
        clauses = [
            Query.fuzzy_term_query(self._schema, field, word, distance=1) if len(word) >= 4 else self._word(field, word)
            for word in words
        ]
        return self._ranked(clauses, rest, limit, offset)

    def words(self, text: str) -> list[str]:
        """The words of a query, as the index knows words, each once."""
        return list(dict.fromkeys(self._analyzer.analyze(folded(text))))

    def _ready(self) -> bool:
        return self._index is not None or self.refresh()

    def _searcher(self) -> tantivy.Searcher:
        if self._index is None:
            raise IndexUnavailable("The search index is not open.")
        return self._index.searcher()

    def _term(self, field: str, value: str) -> Query:
        return Query.term_query(self._schema, field, value, "basic")

    def _word(self, field: str, word: str) -> Query:
        return Query.term_query(self._schema, field, word, "freq")

    def _beginning(self, field: str, word: str) -> Query:
        """Words that begin like this one; the word itself ranks first."""
        if len(word) == 1:
            return self._word(field, word)
        expansions = [term for term, _ in self._searcher().terms_with_prefix("names", word, limit=MOST_EXPANSIONS + 1)]
        if len(expansions) <= 1:
            return self._word(field, expansions[0] if expansions else word)
        if len(expansions) <= MOST_EXPANSIONS:
            return Query.boolean_query([(Occur.Should, self._word(field, term)) for term in expansions])
        whole = Query.boost_query(self._word(field, word), 2.0)
        begins = Query.fuzzy_term_query(self._schema, field, word, distance=0, prefix=True)
        return Query.boolean_query([(Occur.Should, whole), (Occur.Should, begins)])

    def _field(self, filters: Filters) -> tuple[str, list[tuple[Occur, Query]]]:
        """The field whose words already have the first filter applied, and clauses for what is left of them."""
        if filters.risk is not None:
            return f"filtered.{_facet(filters.risk)}", self._status_clauses(filters.status)
        if filters.status is not None:
            return f"filtered.{_facet(filters.status)}", []
        return "names", []

    def _status_clauses(self, status: StatusFilter | None) -> list[tuple[Occur, Query]]:
        return [] if status is None else [(Occur.Must, self._unscored(_facet(status)))]

    def _unscored(self, facet: str) -> Query:
        return Query.const_score_query(self._term("facets", facet), 0.0)

    def _exact(self, query: Query, filters: Filters, limit: int, offset: int) -> Hits:
        clauses = [(Occur.Must, self._unscored(_facet(f))) for f in (filters.status, filters.risk) if f is not None]
        if clauses:
            query = Query.boolean_query([(Occur.Must, query), *clauses])
        return self._search(query, limit, offset, in_order=True)

    def _ranked(self, clauses: list[Query], rest: list[tuple[Occur, Query]], limit: int, offset: int) -> Hits:
        if len(clauses) == 1 and not rest:
            return self._search(clauses[0], limit, offset)
        return self._search(Query.boolean_query([*((Occur.Must, clause) for clause in clauses), *rest]), limit, offset)

    def _search(self, query: Query, limit: int, offset: int, *, in_order: bool = False) -> Hits:
        if not self._ready():
            return Hits([], 0)
        searcher = self._searcher()
        if offset > limit:  # never make room for a page that lies behind the last one
            total = _count(searcher.search(query, 1, count=True))
            if offset >= total:
                return Hits([], total)
        if in_order:
            result = searcher.search(query, limit, count=True, offset=offset, order_by_field="row", order=Order.Asc)
        else:
            result = searcher.search(query, limit, count=True, offset=offset)
        rows = searcher.fast_field_values("row", [address for _, address in result.hits])
        return Hits([int(row) for row in rows if row is not None], _count(result))


def _count(result: tantivy.SearchResult) -> int:
    count: int | None = result.count  # type: ignore[attr-defined]  # the library's stubs leave it out
    return count or 0


class IndexWriter:
    """The one writer of a node's index. Holds a lock that ends with the process, however it ends.

    The revision up to which the index follows the copy is written after each commit: a kill between the two makes the
    same rows be written once more, which changes nothing.
    """

    def __init__(self, index: SearchIndex) -> None:
        self._target = index
        self._lock: IO[str] | None = None
        self._writer: tantivy.IndexWriter | None = None
        self._unseen: _Unseen | None = None
        self._copy_id = ""
        self._revision = 0

    @property
    def revision(self) -> int:
        """The copy's revision up to which the index is written."""
        return self._revision

    def acquire(self, copy_id: str) -> bool:
        """Become the writer of the index of this copy; False when another process is. Begins anew for another copy."""
        if self._writer is not None and self._copy_id == copy_id:
            return True
        self.release()
        folder = self._target.folder
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            lock = open(folder.parent / "writer.lock", "w")  # noqa: SIM115  # held until release
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                return False
            self._lock = lock
            self._copy_id = copy_id
            self._revision = self._target.follows_until(copy_id)
            if self._revision == 0:
                shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(exist_ok=True)
            self._writer = self._target.open().writer(heap_size=WRITER_HEAP, num_threads=1)
        except (OSError, ValueError) as error:
            self.release()
            raise IndexUnavailable(f"The search index in {folder} cannot be written: {error}") from error
        self._unseen = _Unseen() if self._revision == 0 else None
        return True

    def begin_anew(self) -> None:
        """Write everything once more; what was findable stays so until the next commit."""
        assert self._writer is not None, "acquire() comes first"
        self._writer.delete_all_documents()
        self._unseen = _Unseen()
        self._revision = 0

    def put(self, row_id: int, stored: bytes, *, is_current: bool) -> None:
        """Index a row in place of what was indexed for its UDI-DI; a row that is not current is left out."""
        assert self._writer is not None, "acquire() comes first"
        if not is_current:
            return  # the record that displaced it has a revision of its own
        udi, entry = to_document(row_id, stored)
        if self._unseen is None or not self._unseen.first(udi):
            self._writer.delete_documents_by_term("udi", udi)
        self._writer.add_document(entry)

    def commit(self, revision: int) -> None:
        """Make what was put findable, note how far the index follows. Raises `IndexUnavailable`, as on a full disk."""
        assert self._writer is not None, "acquire() comes first"
        try:
            self._writer.commit()
            self._target.mark(self._copy_id, revision)
        except (OSError, ValueError) as error:
            self.release()
            raise IndexUnavailable(f"The search index cannot be written: {error}") from error
        self._revision = revision

    def finish(self) -> None:
        """End merges that are under way and stop writing."""
        if self._writer is not None:
            self._writer.wait_merging_threads()
            self._writer = None
        self.release()

    def release(self) -> None:
        """Stop writing, so that another process can."""
        self._writer = None
        self._unseen = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None


class _Unseen:
    """Tells identifiers that were surely not put before, in 8 MB: a new index then needs no deletions for them.

    A false «seen» costs one deletion that finds nothing; a false «unseen» cannot be.
    """

    _BITS = 1 << 26

    def __init__(self) -> None:
        self._bits = bytearray(self._BITS >> 3)

    def first(self, identifier: str) -> bool:
        place = hash(identifier) & (self._BITS - 1)
        byte, mask = place >> 3, 1 << (place & 7)
        if self._bits[byte] & mask:
            return False
        self._bits[byte] |= mask
        return True
