"""The page of an actor."""

from registerwatch.lookup.actors import NOT_REGISTERED
from tests.pages.conftest import SiteMaker
from tests.pages.markup import Markup
from tests.pages.registrations import MAKER, gtin, registration
from tests.support.harness import ServiceHarness

SRN = MAKER["srn"]
OFF = "refdata.device-model-status.no-longer-on-the-market"


async def _page(harness: ServiceHarness, path: str = f"/a/{SRN}", **params: str | int) -> Markup:
    response = await (harness.get(path, **params) if params else harness.client.get(path))
    assert response.status_code == 200, response.text
    return Markup.of(response)


async def _page_in_full(harness: ServiceHarness, srn: str = SRN) -> Markup:
    await harness.finish_background_work()
    assert (await harness.client.post(f"/a/{srn}")).status_code == 303
    return await _page(harness, f"/a/{srn}")


async def test_an_actor_shows_who_it_is_and_its_devices(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Stem"), registration(gtin(2), None, model="M2")) as harness:
        page = await _page_in_full(harness)

        assert page.one("h1").text == "Muster GmbH"
        assert page.title == f"Muster GmbH · {SRN} · Registerwatch"
        assert page.facts["Country"] == "Germany"
        assert page.facts["Status"] == "✓ Active"
        assert page.facts["Registered devices"] == "2 2 devices in the copy"
        assert page.facts["Source"] == "Not EUDAMED: a demonstration"
        assert len(page.all("time")) == 2, "when it was read, and since when it is observed"
        assert page.rows == [
            [f"Stem {gtin(1)}", "✓ On the EU market", "Class IIb"],
            [f"M2 {gtin(2)} No trade name", "✓ On the EU market", "Class IIb"],
        ]
        assert page.problems == []


async def test_structured_data_describes_the_organization(site: SiteMaker) -> None:
    maker = {**MAKER, "name": "</script><b>& Söhne"}
    async with site(registration(gtin(1), "Stem", manufacturer=maker), public_url="https://r.example") as harness:
        page = await _page_in_full(harness)

        assert page.structured["@type"] == "Organization"
        assert page.structured["name"] == page.one("h1").text == maker["name"]
        assert page.structured["identifier"]["value"] == SRN
        assert page.structured["address"]["addressCountry"] == "DE"
        assert page.structured["url"] == page.one("link", rel="canonical")["href"] == f"https://r.example/a/{SRN}"
        assert page.problems == []


async def test_devices_come_twenty_a_page(site: SiteMaker) -> None:
    async with site(*(registration(gtin(number), "Stem") for number in range(23))) as harness:
        first = await _page_in_full(harness)
        second = await _page(harness, first.one("a", rel="next")["href"])

        assert (len(first.rows), len(second.rows)) == (20, 3)
        assert not {row[0] for row in first.rows} & {row[0] for row in second.rows}
        assert second.one("caption").text == "Devices 21 to 23 of 23 in the copy"
        assert second.all("a", rel="next") == []
        assert second.one("a", rel="prev")["href"] == f"/a/{SRN}"


async def test_filters_narrow_the_devices_and_stay_chosen_on_the_next_page(site: SiteMaker) -> None:
    others = [registration(gtin(number), "Stem", status=OFF) for number in range(21)]
    async with site(registration(gtin(99), "Head"), *others) as harness:
        before = await _page(harness, status="off", risk="iib")
        await harness.finish_background_work()
        page = await _page(harness, status="off", risk="iib")

        assert before.one("caption").text == "Devices 1 to 20 of 21 known so far with these filters", (
            "a file is not all"
        )

        assert page.one("caption").text == "Devices 1 to 20 of 21 with these filters"
        assert page.one("a", rel="next")["href"] == f"/a/{SRN}?status=off&risk=iib&page=2"
        chosen = [each.text for each in page.all("option") if "selected" in each.attributes]
        assert chosen == ["No longer placed on the EU market", "Class IIb"]


async def test_filters_that_nothing_passes_can_be_dropped(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Stem")) as harness:
        page = await _page(harness, risk="d")

        assert page.rows == []
        assert page.link("Show all of them") == f"/a/{SRN}"


async def test_a_page_behind_the_last_one_leads_back(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Stem")) as harness:
        assert (await _page(harness, page=7)).link("Go to page 1") == f"/a/{SRN}"


async def test_an_authorised_representative_says_where_devices_are_listed(site: SiteMaker) -> None:
    representative = {"srn": "IE-AR-000000903", "name": "Example Rep Ltd"}
    async with site(registration(gtin(1), "Stem", authorised_representative=representative)) as harness:
        page = await _page_in_full(harness, "IE-AR-000000903")

        assert page.one("h1").text == "Example Rep Ltd"
        assert "Authorised representative" in page.main
        assert "named by 1 registration." in page.main
        assert page.all("select") == []


async def test_a_failed_refresh_is_told(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Stem")) as harness:
        await _page_in_full(harness)
        harness.faults.fail("any", "http-500")
        page = await _page_in_full(harness)

        assert "May be out of date." in page.main
        assert page.facts["Country"] == "Germany"


async def test_an_actor_that_the_register_has_not_is_a_404_that_says_so(site: SiteMaker) -> None:
    async with site() as harness:
        response = await harness.get("/a/DE-MF-000000999")
        page = Markup.of(response)

        assert response.status_code == 404
        assert page.one("h1").text == "No such actor"
        assert NOT_REGISTERED in page.main
        assert page.one("meta", name="robots")["content"] == "noindex"


async def test_an_actor_that_could_not_be_read_is_another_404(site: SiteMaker) -> None:
    async with site() as harness:
        harness.faults.fail("any", "http-503")
        response = await harness.get("/a/DE-MF-000000999")
        page = Markup.of(response)

        assert response.status_code == 404
        assert page.one("h1").text == "This actor cannot be read"
        assert "could not be read" in page.main


async def test_what_is_no_srn_is_a_404_that_shows_the_form_of_one(site: SiteMaker) -> None:
    async with site() as harness:
        response = await harness.get("/a/muster")

        assert response.status_code == 404
        assert "CC-XX-digits" in Markup.of(response).main
