"""What the addresses of pages may ask for."""

import pytest
from starlette.datastructures import QueryParams

from registerwatch.copy.search.filters import Filters
from registerwatch.errors import InvalidInput
from registerwatch.pages.public.parameters import query_of
from registerwatch.register.codes import RiskFilter, StatusFilter


def test_a_form_that_was_sent_empty_asks_for_nothing() -> None:
    assert query_of(QueryParams("q=&status=&risk=&page=")).is_nothing
    assert query_of(QueryParams("q=+++")).is_nothing
    assert query_of(QueryParams("")).page == 1


def test_words_filters_and_page_are_read_and_other_parameters_are_nobody_s_business() -> None:
    query = query_of(QueryParams("q=+hip+stem&status=not-eu&risk=iii&page=3&utm_source=mail"))

    assert query.query == "hip stem"
    assert query.filters == Filters(StatusFilter.NOT_EU, RiskFilter.III)
    assert query.page == 3


def test_a_filter_alone_is_something_to_ask_for() -> None:
    assert not query_of(QueryParams("risk=a")).is_nothing


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "two", "²", "٣", "1" * 12, "+1", "1e3"])
def test_a_page_that_is_no_number_is_refused(value: str) -> None:
    with pytest.raises(InvalidInput, match="whole number"):
        query_of(QueryParams({"page": value}))


def test_an_unknown_filter_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(InvalidInput, match="“maybe”; known are on, off, not-eu"):
        query_of(QueryParams("status=maybe"))
    with pytest.raises(InvalidInput, match="no risk") as refused:
        query_of(QueryParams({"risk": "x" * 10_000}))
    assert len(str(refused.value)) < 200
