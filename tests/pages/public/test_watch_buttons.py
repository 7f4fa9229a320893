"""Watching from the public pages, going on to EUDAMED, and copying codes."""

from urllib.parse import parse_qs, urlsplit

import pytest

from registerwatch.settings import EUDAMED_URL
from tests.pages.account.pages_client import PagesClient
from tests.pages.conftest import SiteMaker
from tests.pages.markup import Markup, accessibility_problems
from tests.pages.registrations import MAKER, certificate, gtin, in_days, registration

SRN = str(MAKER["srn"])
SUBJECTS = {f"/d/{gtin(1)}": ("Watch this device", gtin(1)), f"/a/{SRN}": ("Watch this manufacturer", SRN)}
UDI_WITH_SIGNS = "++E1/4<&>"


@pytest.mark.parametrize("path", SUBJECTS)
async def test_a_visitor_gets_an_account_first_and_comes_back_to_watch(site: SiteMaker, path: str) -> None:
    words, subject = SUBJECTS[path]
    async with site(registration(gtin(1), "Stem")) as harness:
        pages = PagesClient(harness)
        opened = urlsplit((await pages.page(path)).link(words))
        assert (opened.path, parse_qs(opened.query)) == ("/signup", {"watch": [subject]})

        assert subject in (await pages.page(f"{opened.path}?{opened.query}")).main
        signed_up = await pages.post(
            "/signup",
            email="owner@acme.example",
            password="a long phrase that nobody uses",
            company="Acme",
            watch=subject,
        )

        assert urlsplit(signed_up.headers["location"]).path.startswith("/app/watches/")


@pytest.mark.parametrize("path", SUBJECTS)
async def test_who_is_signed_in_watches_by_one_form(site: SiteMaker, path: str) -> None:
    words, subject = SUBJECTS[path]
    async with site(registration(gtin(1), "Stem")) as harness:
        pages = PagesClient(harness)
        await pages.sign_up()
        page = await pages.page(path)
        form = page.all("form", action="/app/watches/add")[0]
        added = await pages.post(form["action"], subject=page.all("input", name="subject")[0]["value"])

        assert (form.text, page.all("input", name="subject")[0]["value"]) == (words, subject)
        assert added.headers["location"].startswith("/app/watches/")
        assert accessibility_problems(page) == []


async def test_results_can_be_watched_by_who_is_signed_in_alone(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Stem"), registration(gtin(2), "Stem")) as harness:
        pages = PagesClient(harness)
        before = await pages.page("/", q="stem")
        await pages.sign_up()
        after = await pages.page("/", q="stem")
        fragment = (await pages.client.get("/?q=stem", headers={"X-Fragment": "results"})).text

    assert before.all("form", action="/app/watches/add") == []
    assert {each["value"] for each in after.all("input", name="subject")} == {gtin(1), gtin(2)}
    assert len({each["aria-label"] for each in after.all("button", **{"class": "plain small"})}) == 2
    assert fragment.count("/app/watches/add") == 2
    assert accessibility_problems(after) == []


async def test_where_nobody_may_sign_up_a_visitor_signs_in(site: SiteMaker) -> None:
    async with site(registration(UDI_WITH_SIGNS, "Stem"), signup="off") as harness:
        page = Markup.of(await harness.client.get("/d/%2B%2BE1%2F4%3C%26%3E"))
        link = urlsplit(page.link("Watch this device"))

    assert (link.path, parse_qs(link.query)) == ("/login", {"watch": [UDI_WITH_SIGNS]})


async def test_pages_for_who_has_a_session_are_theirs_alone(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Stem")) as harness:
        pages = PagesClient(harness)
        await pages.sign_up()
        for path in ("/docs", "/docs/api/watches", "/?q=stem"):
            answer = await pages.get(path)
            assert (answer.headers["cache-control"], "Cookie" in answer.headers["vary"]) == ("private, no-cache", True)


async def test_records_of_eudamed_lead_to_its_own_pages(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Stem"), register_url=EUDAMED_URL, public_url="https://r.example") as harness:
        device, actor = [Markup.of(await harness.client.get(path)) for path in SUBJECTS]
        uuid = (await harness.get(f"/v1/devices/{gtin(1)}")).json()["uuid"]

    assert device.link("View in EUDAMED") == f"https://ec.europa.eu/tools/eudamed/#/screen/search-device/{uuid}"
    assert actor.link("Search for this SRN in EUDAMED") == "https://ec.europa.eu/tools/eudamed/#/screen/search-eo"


async def test_codes_can_be_copied_by_name(site: SiteMaker) -> None:
    certificates = [certificate("C 1", in_days(50)), certificate("C 2", in_days(90))]
    async with site(registration(gtin(1), "Stem", certificates=certificates)) as harness:
        await harness.get(f"/v1/refresh?q={gtin(1)}")
        page = Markup.of(await harness.get(f"/d/{gtin(1)}"))
        buttons = {
            each["aria-label"]: each["data-copy"] for each in page.all("button") if "data-copy" in each.attributes
        }

    texts = {each.attributes.get("id"): each.text for each in page.elements}
    assert {label: texts[of] for label, of in buttons.items()} == {
        "Copy the UDI-DI": gtin(1),
        "Copy the Basic UDI-DI": page.one("a", id="basic-udi").text,
        "Copy the SRN of the manufacturer": SRN,
        "Copy the certificate number C 1": "C 1",
        "Copy the certificate number C 2": "C 2",
    }
    assert all("hidden" in each.attributes for each in page.all("button") if "data-copy" in each.attributes)


async def test_previews_of_links_have_a_large_picture(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Stem")) as harness:
        for path in ("/", *SUBJECTS, "/docs", "/docs/errors"):
            page = Markup.of(await harness.get(path))
            assert page.one("meta", name="twitter:card")["content"] == "summary_large_image"
            assert page.one("meta", property="og:title")["content"]
            assert [each["href"].rpartition(".")[2] for each in page.all("link", rel="icon")] == ["ico", "svg"]
            assert page.link("Documentation") == "/docs"


@pytest.mark.parametrize("path", SUBJECTS)
async def test_what_is_watched_leads_to_its_watch_and_cannot_be_watched_again(site: SiteMaker, path: str) -> None:
    words, subject = SUBJECTS[path]
    async with site(registration(gtin(1), "Stem"), registration(gtin(2), "Stem")) as harness:
        pages, others = PagesClient(harness), PagesClient(harness)
        await pages.sign_up()
        await others.sign_up("other@other.example")
        watch = (await pages.post("/app/watches/add", subject=subject)).headers["location"].partition("?")[0]
        page, of_others = await pages.page(path), await others.page(path)

    assert page.link("Watched: show the watch") == watch
    assert subject not in {each["value"] for each in page.all("input", name="subject")}
    assert words in {each.text for each in of_others.all("form", action="/app/watches/add")}
    assert accessibility_problems(page) == []


async def test_results_that_are_watched_say_so(site: SiteMaker) -> None:
    async with site(registration(gtin(1), "Stem"), registration(gtin(2), "Stem")) as harness:
        pages = PagesClient(harness)
        await pages.sign_up()
        watch = (await pages.post("/app/watches/add", subject=gtin(1))).headers["location"].partition("?")[0]
        found, maker = await pages.page("/", q="stem"), await pages.page(f"/a/{SRN}")
        fragment = (await pages.client.get("/?q=stem", headers={"X-Fragment": "results"})).text

    for page in (found, maker):
        assert page.link("Watched") == watch
        assert gtin(2) in {each["value"] for each in page.all("input", name="subject")}
        assert gtin(1) not in {each["value"] for each in page.all("input", name="subject")}
    assert fragment.count("/app/watches/add") == 1
