"""Searches to try."""

from registerwatch.copy.search.filters import Filters
from registerwatch.pages.public.examples import examples
from registerwatch.register.codes import RiskFilter, StatusFilter
from registerwatch.register.models import SearchRow

FILTERS = Filters(StatusFilter.ON, RiskFilter.III)


def _row(udi: str, trade_name: str, srn: str = "DE-MF-000000901") -> SearchRow:
    return SearchRow(udi, trade_name, "Muster GmbH", srn, "", "", "")


def test_examples_show_every_way_to_search_with_something_that_is_stored() -> None:
    shown = examples([_row("1", "3 in 1"), _row("04012345000016", "My (Titanium) stem")], FILTERS)

    assert [(each.match_kind, each.text) for each in shown] == [
        ("Name", "Titanium"),
        ("UDI-DI", "04012345000016"),
        ("Manufacturer’s SRN", "DE-MF-000000901"),
        ("Filters", "Class III, On the EU market"),
    ]
    assert shown[0].address == "/?q=Titanium"
    assert shown[3].address == "/?status=on&risk=iii"


def test_a_device_without_names_still_gives_examples() -> None:
    shown = examples([_row("04012345000016", "", srn="")], Filters(StatusFilter.ON))

    assert [each.match_kind for each in shown] == ["UDI-DI", "Filters"]


def test_an_empty_copy_gives_none() -> None:
    assert examples([], FILTERS) == []
