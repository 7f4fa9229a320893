"""The search page, without a script and as the script asks for it."""

import pytest
from starlette.datastructures import QueryParams

from registerwatch.copy.search.queries import SearchPage
from registerwatch.pages.page_position import PagePosition
from registerwatch.pages.public.parameters import query_of
from registerwatch.pages.public.search import Introduction, Results
from registerwatch.pages.rendering import render
from tests.pages.conftest import SiteMaker
from tests.pages.markup import Markup
from tests.pages.registrations import MAKER, gtin, registration
from tests.support.harness import ServiceHarness

FRAGMENT = {"X-Fragment": "results"}
OFF = "refdata.device-model-status.no-longer-on-the-market"
CLASS_III = "refdata.risk-class.class-iii"


async def _page(harness: ServiceHarness, path: str, **params: str | int) -> Markup:
    response = await (harness.get(path, **params) if params else harness.client.get(path))
    assert response.status_code == 200, response.text
    return Markup.of(response)


async def test_the_first_visit_says_what_this_is_and_every_example_finds_something(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Titanium stem", risk_class=CLASS_III)) as harness:
        page = await _page(harness, "/")

        assert "keeps a copy of a source that is not EUDAMED" in page.main
        assert "1 device can be found here" in page.main
        assert list(page.facts) == ["Name", "UDI-DI", "Manufacturer’s SRN", "Filters"]
        for example in page.facts.values():
            assert "1 device " in (await _page(harness, page.link(example))).main


async def test_an_empty_copy_says_how_to_fill_it(site: SiteMaker) -> None:
    async with site() as harness:
        page = await _page(harness, "/")

        assert "registerwatch copy fill" in page.main
        assert page.facts == {}


async def test_an_index_that_is_behind_is_told_instead_of_an_empty_copy() -> None:
    behind = "The search index is being built; 9,000 of 10,000 changes are not findable yet."
    nothing, words = query_of(QueryParams("")), query_of(QueryParams("q=stem"))
    found = Results(words, SearchPage([], 0, "name", None, behind), PagePosition(1, 8, 0), None)
    first = render("results.html", parameters=nothing, introduction=Introduction([], 0, behind), results=None)
    later = render("results.html", parameters=words, introduction=None, results=found)

    assert behind in first
    assert behind in later
    assert "No device is stored yet" not in first


async def test_a_form_that_is_sent_shows_the_devices_and_keeps_what_was_typed(site: SiteMaker) -> None:
    async with site(
        registration(gtin(1), "Titanium stem"),
        registration(gtin(2), "Ceramic head", status=OFF),
    ) as harness:
        page = await _page(harness, "/", q="titan", status="on", risk="")

        assert page.rows == [[f"Titanium stem {gtin(1)}", "Muster GmbH", "✓ On the EU market", "Class IIb"]]
        assert page.link("Titanium stem") == f"/d/{gtin(1)}"
        assert page.link("Muster GmbH") == "/a/DE-MF-000000901"
        assert "1 device found by name" in page.main
        assert page.one("input", id="q")["value"] == "titan"
        assert [each.text for each in page.all("option") if "selected" in each.attributes] == ["On the EU market"]
        assert page.title == "titan · Registerwatch"


async def test_filters_narrow_the_results_and_work_alone(site: SiteMaker) -> None:
    async with site(
        registration(gtin(1), "Stem one"),
        registration(gtin(2), "Stem two", status=OFF),
        registration(gtin(3), "Stem three", status=OFF, risk_class=CLASS_III),
    ) as harness:
        off = await _page(harness, "/", q="stem", status="off")
        both = await _page(harness, "/", status="off", risk="iii")

        assert {row[0].split()[1] for row in off.rows} == {"two", "three"}
        assert both.rows == [
            [f"Stem three {gtin(3)}", "Muster GmbH", "! No longer placed on the EU market", "Class III"]
        ]
        assert "1 device with these filters" in both.main


async def test_names_come_eight_a_page_and_links_lead_through_all_of_them(site: SiteMaker) -> None:
    async with site(*(registration(gtin(number), "Stem") for number in range(19))) as harness:
        address, seen, lengths = "/?q=stem&status=on", set(), []
        while address:
            page = Markup.of(await harness.client.get(address))
            lengths.append(len(page.rows))
            seen |= {row[0] for row in page.rows}
            next_links = page.all("a", rel="next")
            address = next_links[0]["href"] if next_links else ""

        assert lengths == [8, 8, 3]
        assert len(seen) == 19
        assert "Devices 17 to 19 of 19" in page.main
        assert page.one("a", rel="prev")["href"] == "/?q=stem&status=on&page=2"


async def test_a_manufacturer_s_devices_come_twenty_a_page(site: SiteMaker) -> None:
    async with site(*(registration(gtin(number), "Stem") for number in range(21))) as harness:
        page = await _page(harness, "/", q="de-mf-000000901")

        assert len(page.rows) == 20
        assert "21 devices of this manufacturer" in page.main
        assert page.link("DE-MF-000000901") == "/a/DE-MF-000000901"
        assert page.one("a", rel="next")["href"] == "/?q=de-mf-000000901&page=2"


async def test_a_page_behind_the_last_one_leads_back(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Stem")) as harness:
        page = await _page(harness, "/", q="stem", page=99_999_999_999)

        assert page.link("Go to page 1") == "/?q=stem"


@pytest.mark.parametrize(
    ("query", "headline"),
    [
        (gtin(1), "1 device with this UDI-DI"),
        (f"(01){gtin(1)}(10)LOT", "1 device with this UDI-DI"),
        ("4012345TESTQ7", "2 devices with this Basic UDI-DI"),
        ("ref 77", "1 device with this catalogue reference"),
        ("muster", "2 devices found by name"),
        ("titanum", "2 devices found by name"),
    ],
)
async def test_the_page_says_which_way_of_looking_found_it(site: SiteMaker, query: str, headline: str) -> None:
    async with site(registration(gtin(1), "Titanium", reference="REF77"), registration(gtin(2), "Titanium")) as harness:
        page = await _page(harness, "/", q=query)

        assert page.one("h2").text == headline


async def test_a_device_without_a_trade_name_is_listed_as_its_page_calls_it(site: SiteMaker) -> None:
    unnamed = [registration(gtin(1), None, model="TITANIUM CAGE"), registration(gtin(2), None, reference="REF77")]
    async with site(*unnamed) as harness:
        page = await _page(harness, "/", q="cage")

        assert page.rows[0][0] == f"TITANIUM CAGE {gtin(1)} No trade name"
        assert page.link("TITANIUM CAGE") == f"/d/{gtin(1)}"
        assert (await _page(harness, f"/d/{gtin(1)}")).one("h1").text == "TITANIUM CAGE"

        page = await _page(harness, "/", q="ref 77")

        assert page.rows[0][0] == f"{gtin(2)} No trade name"
        assert page.link(gtin(2)) == f"/d/{gtin(2)}"


async def test_a_code_that_is_not_in_the_copy_can_be_read_from_the_register(site: SiteMaker) -> None:
    async with site() as harness:
        device = await _page(harness, "/", q=gtin(1))
        actor = await _page(harness, "/", q="DE-MF-000000999")

        assert device.link(f"Read {gtin(1)} from the register") == f"/d/{gtin(1)}"
        assert actor.link("Read DE-MF-000000999 from the register") == "/a/DE-MF-000000999"


async def test_nothing_found_says_what_to_do(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Titanium stem")) as harness:
        page = await _page(harness, "/", q="titanium", risk="a")
        found = await _page(harness, page.link("Search without the filters"))

        assert page.one("h2").text == "No device found"
        assert "try fewer words" in page.main
        assert len(found.rows) == 1


async def test_the_fragment_is_the_results_region_of_the_page(site: SiteMaker) -> None:
    async with site(*(registration(gtin(number), "Stem") for number in range(9))) as harness:
        whole = await harness.get("/", q="stem")
        fragment = await harness.client.get("/?q=stem", headers=FRAGMENT)

        assert fragment.text.strip() in whole.text
        section = Markup.of(fragment).one("section")
        assert section["data-announce"] == "9 devices found by name"
        assert section["data-title"] == Markup.of(whole).title
        assert whole.headers["vary"] == fragment.headers["vary"] == "x-fragment, Cookie, Accept-Encoding"


async def test_the_fragment_of_nothing_asked_is_the_introduction(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Stem")) as harness:
        fragment = await harness.client.get("/", headers=FRAGMENT)

        assert "<main" not in fragment.text
        assert "keeps a copy of a source that is not EUDAMED" in fragment.text


async def test_an_error_while_typing_is_a_fragment_too(site: SiteMaker) -> None:
    async with site() as harness:
        response = await harness.client.get("/", params={"q": "x" * 201}, headers=FRAGMENT)

        assert response.status_code == 400
        assert Markup.of(response).one("section")["data-announce"] == "This request cannot be understood"


async def test_hostile_names_and_queries_stay_text(site: SiteMaker) -> None:
    name = "\"><script>alert('x')</script><b a='\u202egnp.exe"
    maker = {**MAKER, "name": "<img src=x onerror=alert(1)> & Söhne"}
    async with site(registration(gtin(1), name, manufacturer=maker)) as harness:
        page = await _page(harness, "/", q=f"{gtin(1)}")
        echoed = await _page(harness, "/", q="'\"><script>alert(2)</script>")

        assert page.rows[0][:2] == [f"{name} {gtin(1)}", maker["name"]]
        assert [each.text for each in page.all("bdi")] == [name, maker["name"]]
        assert echoed.one("input", id="q")["value"] == "'\"><script>alert(2)</script>"
        for each in (page, echoed):
            assert len(each.all("script")) == 1
            assert not each.all("img")
            assert each.problems == []


async def test_results_are_kept_out_of_search_engines_and_the_first_page_is_not(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Stem")) as harness:
        assert (await _page(harness, "/", q="stem")).one("meta", name="robots")["content"] == "noindex"
        assert (await _page(harness, "/")).all("meta", name="robots") == []
