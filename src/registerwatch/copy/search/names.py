"""Searches the words of names: builds the queries, and ranks a last word that may be only a beginning."""

from collections.abc import Callable
from math import log

from tantivy import Occur, Query, Searcher

from registerwatch.copy.search.fields import narrowed
from registerwatch.copy.search.filters import Facet, Filters
from registerwatch.copy.search.hits import Hits, Selection
from registerwatch.copy.search.query_parts import (
    all_of,
    any_of,
    begins_with,
    but_not,
    has_filter_value,
    like_word,
    unscored,
    word,
)
from registerwatch.copy.search.result_pages import Parted, parted, ranked
from registerwatch.copy.search.ties import MANY, page_in_order
from registerwatch.register.codes import StatusFilter

MAX_EXPANSIONS = 48
"""Words that a prefix is expanded into, so that they can be ranked; more are matched without ranking."""

MIN_LIKE = 4
"""The fewest letters of a word in which a typo is forgiven."""
REST_BOOST = 0.2
COMMON = 2_000
"""Devices with a word from which on it alone fills the first pages."""
_MAX_WEIGHT = 2.2
"""The library's highest BM25 score of a word, in units of its rarity: 1 + k1."""

Clauses = Callable[[str], list[Query]]
"""The clauses of a query in a field of words, each of which a device must meet."""


class NameSearch:
    """Searches of names in one state of the index, which has `size` documents, deleted ones included."""

    def __init__(self, searcher: Searcher, size: int) -> None:
        self._searcher = searcher
        self._size = size

    def every_word(self, words: list[str], filters: Filters, limit: int, offset: int) -> Hits:
        """Devices whose names have every word; the last one may be the beginning of a word."""
        *firsts, last = words
        if not all(self._frequency(each) for each in firsts):
            return Hits([], 0)
        longer, frequency = self._longer_words(last), self._frequency(last)
        if not longer and not frequency:
            return Hits([], 0)
        whole = _in_names(filters, lambda field: [word(field, each) for each in words])
        if not longer:
            return ranked(self._searcher, whole, limit, offset, frequency)
        if frequency and not firsts:
            return parted(self._searcher, _whole_or_longer(whole, last, longer, frequency, filters), limit, offset)
        begins = _in_names(
            filters,
            lambda field: [
                *(word(field, each) for each in firsts),
                _beginning(field, last, longer, is_word=frequency > 0),
            ],
        )
        if firsts:
            return self._whole_word_first(whole, begins, limit, offset, frequency)
        return self._rarest_first(longer, begins, filters, limit, offset)

    def similar(self, words: list[str], filters: Filters, limit: int, offset: int) -> Hits:
        """Devices whose names have every word, with one typo forgiven in each word that is long enough."""
        if not any(len(each) >= MIN_LIKE for each in words):
            return Hits([], 0)
        query = _in_names(
            filters,
            lambda field: [like_word(field, each) if len(each) >= MIN_LIKE else word(field, each) for each in words],
        )
        return ranked(self._searcher, query, limit, offset)

    def _frequency(self, text: str, field: str = "names") -> int:
        """How many documents have a word, deleted ones included."""
        return self._searcher.doc_freq(field, text)

    def _longer_words(self, text: str) -> dict[str, int]:
        """Words that begin with this one, and their frequencies; for one or two letters only where these are not a word
        themselves.

        Two letters begin the words of a fifth of the register: such a list is long, costly and of no use.
        """
        if len(text) <= 2 and self._frequency(text):
            return {}
        found = dict(self._searcher.terms_with_prefix("names", text, limit=MAX_EXPANSIONS + 1))
        found.pop(text, None)
        return found

    def _whole_word_first(self, whole: Query, begins: Query, limit: int, offset: int, frequency: int) -> Hits:
        """A page for several words. Where many devices have the last one whole, it alone fills the page."""
        if frequency > COMMON and offset + limit <= COMMON:
            page, _ = page_in_order(self._searcher, whole, limit, offset, expected=frequency)
            if len(page) == limit:
                selection = Selection(self._searcher, begins)
                return Hits(page, selection.total(), selection)
        return ranked(self._searcher, begins, limit, offset)

    def _rarest_first(self, longer: dict[str, int], begins: Query, filters: Filters, limit: int, offset: int) -> Hits:
        """A page for a beginning that is not a word itself.

        One of its words may be so frequent that scoring its devices takes most of the time. Rarer words score higher:
        if devices with another word fill the page with higher scores than the frequent word alone can give, the other
        devices need not be scored.
        """
        often = max(longer, key=lambda each: longer[each])
        is_narrowed = filters.status is not None or filters.risk is not None
        if longer[often] < MANY or not 1 < len(longer) < MAX_EXPANSIONS or is_narrowed:
            return ranked(self._searcher, begins, limit, offset, sum(longer.values()))
        rarer = any_of([word("names", each) for each in longer if each != often])
        query = Query.boolean_query([(Occur.Must, rarer), (Occur.Should, word("names", often))])
        others = [has_filter_value(*each) for each in filters.chosen]
        rows, _ = page_in_order(
            self._searcher, all_of([query, *others]), limit, offset, above=self._highest_score(longer[often])
        )
        if len(rows) < limit:
            return ranked(self._searcher, begins, limit, offset, sum(longer.values()))
        selection = Selection(self._searcher, begins)
        return Hits(rows, selection.total(), selection)

    def _highest_score(self, frequency: int) -> float:
        """An upper bound of the score of a word this frequent."""
        return _MAX_WEIGHT * log(1 + (self._size - frequency + 0.5) / (frequency + 0.5)) * 1.001


def _longer(field: str, text: str, longer: dict[str, int]) -> list[Query]:
    """The words that begin with a text, one by one; where they are many, all at once, together with the text."""
    return [word(field, each) for each in longer] if len(longer) < MAX_EXPANSIONS else [begins_with(field, text)]


def _beginning(field: str, text: str, longer: dict[str, int], *, is_word: bool) -> Query:
    """A text or a word that begins with it; where the text is a word itself, that ranks first."""
    others = any_of(_longer(field, text, longer))
    if not is_word:
        return others
    # Longer words add nothing to a device that has the word whole: such devices rank as without them.
    return Query.disjunction_max_query([word(field, text), unscored(others)])


def _whole_or_longer(whole: Query, text: str, longer: dict[str, int], frequency: int, filters: Filters) -> Parted:
    """A whole word: devices that have it, then those with a longer word that begins with it."""
    only_longer = _in_names(
        filters, lambda field: [but_not(unscored(any_of(_longer(field, text, longer))), word(field, text))]
    )
    either = _in_names(filters, lambda field: [any_of([word(field, text), *_longer(field, text, longer)])])
    return Parted(whole, only_longer, either, (frequency, sum(longer.values())))


def _in_names(filters: Filters, clauses: Clauses) -> Query:
    """Documents that meet every clause, in fields whose words already have the filters applied."""
    others = [has_filter_value(*each) for each in filters.chosen if each[0] not in (Facet.STATUS, Facet.RISK)]
    return all_of([_in_narrowed_names(filters, clauses), *others])


def _in_narrowed_names(filters: Filters, clauses: Clauses) -> Query:
    status, risk = filters.status, filters.risk
    if risk is None:
        return all_of(clauses("names" if status is None else f"filtered.{narrowed(status)}"))
    on_market = all_of(clauses(f"filtered.{narrowed(risk, on_market=True)}"))
    if status is StatusFilter.ON:
        return on_market
    rest = clauses(f"filtered.{narrowed(risk, on_market=False)}")
    if status is not None:
        return all_of([*rest, has_filter_value(Facet.STATUS, status)])
    # Rarer words score higher, and in the small field all are rare: on the market comes first all the same.
    return any_of([on_market, Query.boost_query(all_of(rest), REST_BOOST)])
