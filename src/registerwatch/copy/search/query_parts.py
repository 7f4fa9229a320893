"""Parts from which queries of the index are built."""

from collections.abc import Collection, Sequence

from tantivy import Occur, Query

from registerwatch.copy.search.fields import filter_field, schema
from registerwatch.copy.search.filters import Facet, Filters

SCHEMA = schema()


def value(field: str, text: str) -> Query:
    """Documents that have a value in a field."""
    return Query.term_query(SCHEMA, field, text, "basic")


def word(field: str, text: str) -> Query:
    """Documents that have a word in a field of words."""
    return Query.term_query(SCHEMA, field, text, "freq")


def begins_with(field: str, text: str) -> Query:
    """Documents that have a word that begins with a text, all equally good."""
    return Query.fuzzy_term_query(SCHEMA, field, text, distance=0, prefix=True)


def like_word(field: str, text: str) -> Query:
    """Documents that have a word but for one typo, all equally good."""
    return Query.fuzzy_term_query(SCHEMA, field, text, distance=1)


def all_of(clauses: Sequence[Query]) -> Query:
    """Documents that every query finds."""
    return clauses[0] if len(clauses) == 1 else Query.boolean_query([(Occur.Must, clause) for clause in clauses])


def any_of(clauses: Sequence[Query]) -> Query:
    """Documents that at least one of the queries finds."""
    return clauses[0] if len(clauses) == 1 else Query.boolean_query([(Occur.Should, clause) for clause in clauses])


def but_not(query: Query, left_out: Query) -> Query:
    """Documents that one query finds and another one does not."""
    return Query.boolean_query([(Occur.Must, query), (Occur.MustNot, left_out)])


def unscored(query: Query) -> Query:
    """A query that adds nothing to the score of what it finds."""
    return Query.const_score_query(query, 0.0)


def has_filter_value(facet: Facet, chosen: str) -> Query:
    """Documents that pass one filter, unscored."""
    return unscored(value(filter_field(facet, chosen), chosen))


def passing(query: Query, filters: Filters) -> Query:
    """Results of a query that pass filters."""
    return all_of([query, *(has_filter_value(*each) for each in filters.chosen)])


def but_for(query: Query, udis: Collection[str]) -> Query:
    """Results of a query, except some UDI-DIs."""
    return but_not(query, Query.term_set_query(SCHEMA, "udi", list(udis))) if udis else query
