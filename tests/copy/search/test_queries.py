"""Searching the copy: UDI-DI, SRN, words of a name, references, in this order; a typo is the last resort."""

from collections.abc import AsyncIterator

import pytest

from registerwatch.copy.search import queries
from registerwatch.copy.search.filters import Filters
from registerwatch.copy.search.queries import MAX_QUERY_LENGTH, SearchPage
from registerwatch.errors import InvalidInput
from registerwatch.pages.public import search as search_page
from registerwatch.register.codes import RiskFilter, StatusFilter
from registerwatch_standins.register.generated import GeneratedWorld
from registerwatch_standins.register.records import Registration
from tests.pages.markup import Markup
from tests.support.harness import ServiceHarness, ServiceStarter

NO_FILTERS = Filters()


class Made(GeneratedWorld):
    """A register with a few devices whose names a test can rely on."""

    def __init__(self) -> None:
        super().__init__(60, seed=7)
        self.made = [record for record in self.newest(0, 60) if record.basic_udi][:6]
        names = ["Qzalpha Titan", "Qzalpha Titanium", "Qzbeta", "Qzgamma Plate", "QZREF-77", "Qzdelta"]
        for record, name in zip(self.made, names, strict=True):
            self.change(record.uuid, trade_names={"en": name}, reference=f"QZ-{name[-3:]} 9", new_version=False)
        self.change(self.made[2].uuid, reference="QZREF-77", new_version=False)
        self.change(self.made[5].uuid, status="no-longer-on-the-market", new_version=False)


@pytest.fixture
def database_kind() -> str:
    """The order of the ways to search does not depend on the database; quick reads have tests on both."""
    return "sqlite"


@pytest.fixture
async def harness(start_service: ServiceStarter) -> AsyncIterator[ServiceHarness]:
    async with start_service(world=Made()) as harness:
        await harness.fill_copy()
        yield harness


@pytest.fixture
def made(harness: ServiceHarness) -> list[Registration]:
    assert isinstance(harness.world, Made)
    return harness.world.made


async def search(harness: ServiceHarness, query: str, filters: Filters = NO_FILTERS, page: int = 1) -> SearchPage:
    return await harness.service.search.search(query, filters, page=page)


def udis(page: SearchPage) -> list[str]:
    return [row.udi for row in page.results]


@pytest.mark.parametrize(
    "spelled",
    ["{}", " {} ", "(01){}", "(01){}(17)280101", "{0:.4} {1}"],
    ids=["plain", "blanks around", "element string", "with expiry", "blank inside"],
)
async def test_a_udi_is_found_however_it_is_typed(
    harness: ServiceHarness, made: list[Registration], spelled: str
) -> None:
    udi = next(each.primary_di for each in made if each.issuing_agency == "gs1")

    page = await search(harness, spelled.format(udi, udi[4:]))

    assert (udis(page), page.total, page.match) == ([udi], 1, "udi")
    assert page.code == udi


async def test_a_udi_is_found_before_the_index_has_it(start_service: ServiceStarter) -> None:
    async with start_service(world=Made()) as harness:
        await harness.service.bulk_loader.load(harness.service.bulk_source("datalake"), lambda _progress: None)
        udi = harness.world.newest(0, 1)[0].primary_di

        assert udis(await search(harness, udi)) == [udi]


async def test_filters_hold_for_an_exact_udi_too(harness: ServiceHarness, made: list[Registration]) -> None:
    off = made[5].primary_di

    assert udis(await search(harness, off, Filters(StatusFilter.OFF))) == [off]
    kept_out = await search(harness, off, Filters(StatusFilter.ON))
    assert (udis(kept_out), kept_out.total, kept_out.match) == ([], 0, "udi")
    assert udis(await search(harness, off, page=2)) == []


async def test_a_basic_udi_di_finds_its_devices(harness: ServiceHarness, made: list[Registration]) -> None:
    basic = made[0].basic_udi
    assert basic is not None

    page = await search(harness, basic)

    assert page.match == "udi"
    assert set(udis(page)) <= {each.primary_di for each in harness.world.by_basic_udi(basic)}
    assert page.total == len({each.primary_di for each in harness.world.by_basic_udi(basic)})


async def test_an_srn_lists_the_devices_of_its_manufacturer_on_pages_of_twenty(harness: ServiceHarness) -> None:
    records = harness.world.newest(0, 60)
    srn = max(
        {each.manufacturer.srn for each in records}, key=lambda srn: sum(r.manufacturer.srn == srn for r in records)
    )
    owned = {each.primary_di for each in records if each.manufacturer.srn == srn}
    found: list[str] = []
    for number in range(1, len(owned) // 20 + 2):
        page = await search(harness, srn.lower(), page=number)
        assert (page.match, page.total, page.code) == ("srn", len(owned), srn)
        found += udis(page)

    assert len(found) == len(owned)
    assert set(found) == owned


async def test_words_of_a_name_are_found_with_the_whole_word_first(
    harness: ServiceHarness, made: list[Registration]
) -> None:
    page = await search(harness, "qzalpha TITAN")

    assert udis(page) == [made[0].primary_di, made[1].primary_di]
    assert (page.total, page.match, page.code) == (2, "name", None)


async def test_a_name_goes_before_a_reference_and_a_reference_before_a_typo(
    harness: ServiceHarness, made: list[Registration]
) -> None:
    assert udis(await search(harness, "qzref-77")) == [made[4].primary_di], "a name has these words"
    by_reference = await search(harness, "qz-lta9")
    assert (udis(by_reference), by_reference.match) == ([made[5].primary_di], "reference")


async def test_a_typo_is_forgiven_only_when_nothing_else_is_found(
    harness: ServiceHarness, made: list[Registration]
) -> None:
    assert udis(await search(harness, "qzgama")) == [made[3].primary_di]
    assert udis(await search(harness, "qzgamna plate")) == [made[3].primary_di]
    assert (await search(harness, "qzbeta")).total == 1, "qzdelta is not far away, and not meant"
    assert (await search(harness, "qzxxxxa")).total == 0


async def test_an_unknown_code_offers_to_ask_the_register(harness: ServiceHarness) -> None:
    page = await search(harness, "04099999999992")

    assert (page.results, page.total, page.match) == ([], 0, "udi")
    assert page.code == "04099999999992"


@pytest.mark.parametrize(
    ("query", "filters"), [("", NO_FILTERS), ("  ", NO_FILTERS), ("x" * (MAX_QUERY_LENGTH + 1), NO_FILTERS)]
)
async def test_a_query_that_makes_no_sense_is_refused(harness: ServiceHarness, query: str, filters: Filters) -> None:
    with pytest.raises(InvalidInput):
        await search(harness, query, filters)


async def test_a_page_before_the_first_is_refused(harness: ServiceHarness) -> None:
    with pytest.raises(InvalidInput, match="counts from 1"):
        await search(harness, "titan", page=0)


@pytest.mark.parametrize(
    "filters", [Filters(StatusFilter.ON), Filters(risk=RiskFilter.I), Filters(StatusFilter.OFF, RiskFilter.I)]
)
async def test_pages_of_a_filter_have_every_device_once(harness: ServiceHarness, filters: Filters) -> None:
    first = await search(harness, "", filters)
    found = [
        udi for number in range(1, first.total // 8 + 2) for udi in udis(await search(harness, "", filters, number))
    ]

    assert len(found) == len(set(found)) == first.total
    assert udis(await search(harness, "", filters, first.total // 8 + 2)) == []


@pytest.mark.parametrize("query", ["a\x00b", "\x00", "titan\x00", "\ud800", "names:*", "%", "_", "\\", "'", '"'])
async def test_a_strange_query_is_answered_or_refused(harness: ServiceHarness, query: str) -> None:
    try:
        page = await search(harness, query)
    except InvalidInput:
        return
    assert page.total == len(page.results) or page.total > len(page.results) > 0


# Pages that are deep


@pytest.fixture
def only_twenty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search whose first twenty results have pages."""
    for module in (queries, search_page):
        monkeypatch.setattr(module, "MAX_RESULTS", 20)


@pytest.mark.usefixtures("only_twenty")
async def test_results_behind_the_last_that_has_a_page_are_refused_with_what_to_do(harness: ServiceHarness) -> None:
    on_market = Filters(StatusFilter.ON)
    total = (await search(harness, "", on_market)).total
    assert total > 24

    assert len((await search(harness, "", on_market, page=2)).results) == 8
    with pytest.raises(
        InvalidInput, match=f"Only the first 20 of {total} results have pages: the last one is 2. Narrow"
    ):
        await search(harness, "", on_market, page=3)
    refused = await harness.get("/v1/search", status="on", page=3)
    assert refused.status_code == 400
    assert "Narrow the search" in refused.json()["error"]


@pytest.mark.usefixtures("only_twenty")
async def test_a_page_behind_the_last_result_stays_empty_however_deep_it_is(
    harness: ServiceHarness, made: list[Registration]
) -> None:
    for query in ("qzalpha titan", made[0].primary_di, "qz-lta9", made[0].manufacturer.srn, "qzxxxxa"):
        first, deep = await search(harness, query), await search(harness, query, page=10**9)

        assert (deep.results, deep.total, deep.match, deep.code) == ([], first.total, first.match, first.code)


@pytest.mark.usefixtures("only_twenty")
async def test_the_pages_of_a_search_end_where_results_have_no_page(harness: ServiceHarness) -> None:
    last = Markup.of(await harness.client.get("/?status=on&page=2"))

    assert not last.all("a", rel="next")
    assert "Only the first 20 results have pages. Narrow the search" in last.main
    assert Markup.of(await harness.client.get("/?status=on")).one("a", rel="next")["href"] == "/?status=on&page=2"
    deep = await harness.client.get("/?status=on&page=3")
    assert deep.status_code == 400
    assert "Narrow the search" in deep.text
