"""Narrowing down results: facets, chosen filters, names of the nomenclature, similar devices."""

import pytest

from tests.pages.conftest import SiteMaker
from tests.pages.markup import Markup
from tests.pages.registrations import gtin, registration
from tests.support.harness import ServiceHarness

AUSTRIAN = {"srn": "AT-MF-000000902", "name": "Beispiel AG"}
OFF = "refdata.device-model-status.no-longer-on-the-market"
DEVICES = (
    registration(gtin(1), "Stem one", sterile=True, emdn=["P0908"]),
    registration(gtin(2), "Stem two", sterile=False, emdn=["P090801"], manufacturer=AUSTRIAN),
    registration(gtin(3), "Stem three", emdn=["Q0101"], manufacturer=AUSTRIAN),
    registration(gtin(4), "Plate", sterile=True),
)


async def _page(harness: ServiceHarness, path: str) -> Markup:
    response = await harness.client.get(path)
    assert response.status_code == 200, response.text
    return Markup.of(response)


def chips(page: Markup) -> list[str]:
    return [each.text for each in page.all("a") if (each.attributes.get("aria-label") or "").startswith("Remove the")]


async def test_a_search_shows_facets_only_where_they_are_asked_for(site: SiteMaker) -> None:
    async with site(*DEVICES) as harness:
        plain = await _page(harness, "/?q=stem")
        narrowed = await _page(harness, plain.link("Narrow down by manufacturer, country, nomenclature and more"))

        assert not plain.all("details")
        assert "Country of the manufacturer Austria 2 Germany 1" in narrowed.main
        assert "Sterile No 1 Not known 1 Yes 1" in narrowed.main
        assert "Narrow down by" not in narrowed.main


async def test_a_value_narrows_the_results_and_its_mark_takes_it_away_again(site: SiteMaker) -> None:
    async with site(*DEVICES) as harness:
        all_stems = await _page(harness, "/?q=stem&facets=all")
        austrian = await _page(harness, all_stems.link("Austria"))
        [address] = [each["href"] for each in austrian.all("a") if "sterile=unknown" in each["href"]]
        unknown = await _page(harness, address)

        assert "2 devices found by name" in austrian.main
        assert chips(austrian) == ["Country of the manufacturer: Austria ✕"]
        assert [row[0] for row in unknown.rows] == [f"Stem three {gtin(3)}"]
        assert len(chips(unknown)) == 2
        back = await _page(harness, unknown.link("Country of the manufacturer: Austria ✕"))
        assert chips(back) == ["Sterile: Not known ✕"]
        bare = await _page(harness, unknown.link("Remove all of them"))
        assert (chips(bare), "3 devices found by name" in bare.main) == ([], True)


async def test_the_form_and_the_pages_of_results_keep_the_filters(site: SiteMaker) -> None:
    async with site(*(registration(gtin(number), "Stem", sterile=True) for number in range(9))) as harness:
        page = await _page(harness, "/?q=stem&sterile=yes&facets=all")
        hidden = {each["name"]: each["value"] for each in page.all("input") if each.attributes.get("type") == "hidden"}

        assert hidden == {"sterile": "yes", "facets": "all"}
        assert page.one("a", rel="next")["href"] == "/?q=stem&sterile=yes&facets=all&page=2"


async def test_filters_without_a_query_browse(site: SiteMaker) -> None:
    async with site(*DEVICES) as harness:
        first = await _page(harness, "/")
        browsed = await _page(harness, first.link("Browse those on the EU market"))
        narrowed = await _page(harness, browsed.link("Germany"))

        assert "4 devices with these filters" in browsed.main
        assert "2 devices with these filters" in narrowed.main


async def test_the_nomenclature_is_walked_level_by_level_with_the_names_that_are_loaded(site: SiteMaker) -> None:
    async with site(*DEVICES) as harness:
        await harness.service.nomenclature.replace({"P": "Invented prostheses", "P0908": "Invented stems"})
        top = await _page(harness, "/?status=on&facets=all")
        below = await _page(harness, top.link("P Invented prostheses"))
        deeper = await _page(harness, (await _page(harness, below.link("P09"))).link("P0908 Invented stems"))

        assert "Nomenclature (EMDN) P Invented prostheses 3 Q 1" in top.main
        assert "All codes P Invented prostheses P09 3" in below.main
        assert "All codes P Invented prostheses P09 P0908 Invented stems P090801 1" in deeper.main
        assert deeper.link("All codes") == "/?status=on&facets=all"
        assert deeper.link("P09") == "/?status=on&emdn=P09&facets=all"
        assert chips(deeper) == ["Nomenclature (EMDN): P0908 Invented stems ✕"]


async def test_a_device_has_the_name_of_its_code_and_says_what_is_known_of_it(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Stem", emdn=["P0908"], sterile=True, latex=False)) as harness:
        await harness.service.nomenclature.replace({"P0908": "Invented stems"})
        facts = (await _page(harness, f"/d/{gtin(1)}")).facts

        assert facts["Nomenclature (EMDN)"] == "P0908 Invented stems"
        assert [facts[title] for title in ("Sterile", "Contains latex", "Implantable")] == ["Yes", "No", "Not known"]


async def test_similar_devices_are_those_on_the_market_with_the_code_and_class_but_for_the_device_itself(
    site: SiteMaker,
) -> None:
    others = [registration(gtin(number), f"Stem {number}", emdn=["P0908"]) for number in range(2, 9)]
    async with site(
        registration(gtin(1), "Stem", emdn=["P0908"]),
        *others,
        registration(gtin(20), "Below", emdn=["P090801"]),
        registration(gtin(21), "Off the market", emdn=["P0908"], status=OFF),
        registration(gtin(22), "Another class", emdn=["P0908"], risk_class="refdata.risk-class.class-i"),
        registration(gtin(23), "Another code", emdn=["P0909"]),
    ) as harness:
        page = await _page(harness, f"/d/{gtin(1)}")
        found = await _page(harness, page.link("Search all devices like this one"))

        assert "8 other devices on the EU market have the same risk class, Class IIb," in page.main
        assert gtin(1) not in str(page.rows[-5:])
        assert "The first 5, by UDI-DI" in page.main
        assert "9 devices with these filters" in found.main, "with the device itself"
        alone = await _page(harness, f"/d/{gtin(23)}")
        assert "No other device here is on the EU market with the same risk class" in alone.main


async def test_a_device_without_a_code_or_of_a_legacy_class_has_no_similar_ones(site: SiteMaker) -> None:
    async with site(
        registration(gtin(1), "Stem", emdn=[]),
        registration(gtin(2), "Test", risk_class="refdata.risk-class.ivd-general"),
    ) as harness:
        for number in (1, 2):
            assert "Similar devices" not in (await _page(harness, f"/d/{gtin(number)}")).main


@pytest.mark.parametrize("address", ["/?country=Germany", "/?emdn=Q0", "/?q=stem&facets=colour", "/?sterile=maybe"])
async def test_a_value_that_there_is_not_is_refused(site: SiteMaker, address: str) -> None:
    async with site(*DEVICES) as harness:
        assert (await harness.client.get(address)).status_code == 400


async def test_pages_with_facets_are_limited_as_searches_are(site: SiteMaker) -> None:
    async with site(*DEVICES, rate_limits=True) as harness:
        plain = [(await harness.client.get("/?q=stem")).status_code for _ in range(50)]
        counted = [(await harness.client.get("/?q=stem&facets=all")).status_code for _ in range(41)]

        assert set(plain) == {200}
        assert (set(counted[:40]), counted[40]) == ({200}, 429)
