"""Addresses lead back to what they were made of."""

from urllib.parse import parse_qs, unquote, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from registerwatch.copy.search.filters import Filters
from registerwatch.pages.addresses import actor_address, device_address, search_address
from registerwatch.register.codes import RiskFilter, StatusFilter

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(TEXT)
def test_any_identifier_survives_the_way_through_an_address(identifier: str) -> None:
    address = device_address(identifier)

    assert address.isascii()
    assert unquote(urlsplit(address).path) == f"/d/{identifier}"
    assert address.count("/") == 2


@given(TEXT)
def test_any_query_survives_the_way_through_an_address(query: str) -> None:
    assert parse_qs(urlsplit(search_address(query)).query, strict_parsing=True) == {"q": [query]}


def test_an_address_tells_only_what_says_something() -> None:
    assert search_address() == "/"
    assert search_address("a&b", Filters(), 1) == "/?q=a%26b"
    assert search_address("", Filters(StatusFilter.ON, RiskFilter.III), 2) == "/?status=on&risk=iii&page=2"
    assert actor_address("DE-MF-000000901", Filters(risk=RiskFilter.A)) == "/a/DE-MF-000000901?risk=a"
