"""What pages say of themselves to search engines, in previews of links, and at the head of a print."""

import re

import httpx2
import pytest

from registerwatch.ingest.refresh import NO_LONGER_LISTED
from registerwatch.settings import EUDAMED_URL
from tests.pages.conftest import SiteMaker
from tests.pages.markup import Markup
from tests.pages.registrations import MAKER, gtin, registration
from tests.support.harness import ServiceHarness

SITE = "https://register.example"
UDI, SRN = gtin(1), str(MAKER["srn"])
REAL = {"public_url": SITE, "register_url": EUDAMED_URL}
DEVICE_IN_PART = (
    f"Stem: Class IIb medical device of Muster GmbH, UDI-DI {UDI}. Market status: On the EU market. "
    "Read in part from {source} on 15 Jan 2027 or later."
)
ACTOR = "Muster GmbH: Manufacturer in Germany, SRN DE-MF-000000901. Read from {source} on 15 Jan 2027 or later."
START = "Search a stored copy of {source}, by name, UDI-DI, SRN or catalogue reference."
RESULTS = "1 device found by name, in a stored copy of {source}."
EUDAMED, OTHER = "EUDAMED", "a source that is not EUDAMED"
REGISTER = "EUDAMED, the public EU register of medical devices"


def _meta(page: Markup) -> dict[str, str]:
    """The page's own words by the names of their elements; each stands there once."""
    named = [(each.attributes.get("name") or each.attributes.get("property"), each) for each in page.all("meta")]
    words = {name: each["content"] for name, each in named if name}
    assert len(words) == len([name for name, _ in named if name])
    return words


async def _page(harness: ServiceHarness, path: str) -> Markup:
    page = Markup.of(await harness.client.get(path))
    assert page.problems == []
    return page


@pytest.mark.parametrize(
    ("path", "title", "eudamed", "other"),
    [
        (f"/d/{UDI}", f"Stem · {UDI}", DEVICE_IN_PART.format(source=EUDAMED), DEVICE_IN_PART.format(source=OTHER)),
        (f"/a/{SRN}", f"Muster GmbH · {SRN}", ACTOR.format(source=EUDAMED), ACTOR.format(source=OTHER)),
        ("/", "Registerwatch", START.format(source=REGISTER), START.format(source=OTHER)),
        ("/?q=stem", "stem", RESULTS.format(source=EUDAMED), RESULTS.format(source=OTHER)),
    ],
)
async def test_a_page_says_what_it_is_about_and_where_that_is_from(
    site: SiteMaker, path: str, title: str, eudamed: str, other: str
) -> None:
    for settings, text in ((REAL, eudamed), ({"public_url": SITE}, other)):
        async with site(registration(UDI, "Stem"), **settings) as harness:
            said = _meta(await _page(harness, path))

        assert said["description"] == said["og:description"] == text
        assert (said["og:title"], said["og:url"]) == (title, SITE + path)
        assert (said["og:type"], said["og:site_name"]) == ("website", "Registerwatch")


async def test_the_picture_of_a_preview_can_be_shown_elsewhere(site: SiteMaker) -> None:
    async with site(registration(UDI, "Stem"), public_url=SITE) as harness:
        address = _meta(await _page(harness, f"/d/{UDI}"))["og:image"]
        image: httpx2.Response = await harness.client.get(address.removeprefix(SITE))

    assert address.startswith(f"{SITE}/static/card.")
    assert (image.status_code, image.headers["content-type"]) == (200, "image/png")
    assert image.headers["cross-origin-resource-policy"] == "cross-origin"


async def test_names_are_cut_and_stay_text(site: SiteMaker) -> None:
    name = '"><meta name="robots" content="noindex"> جهاز ' + "long " * 200
    maker = {**MAKER, "name": name}
    async with site(registration(UDI, name, manufacturer=maker), **REAL) as harness:
        said = _meta(await _page(harness, f"/d/{UDI}"))

    assert "robots" not in said
    assert said["og:title"].startswith('\u2068"><meta name="robots"')
    assert said["og:title"].endswith(f"…\u2069 · {UDI}")
    assert len(said["description"]) < 400


async def test_a_record_that_the_register_lists_no_more_is_described_as_such(site: SiteMaker) -> None:
    async with site(registration(UDI, "Stem"), **REAL) as harness:
        revision = (await harness.service.records.state()).revision
        await harness.service.records.delist(UDI, read_at=harness.now, since=revision)
        page = await _page(harness, f"/d/{UDI}")

    assert _meta(page)["description"].endswith(NO_LONGER_LISTED)
    assert page.structured["description"].endswith(NO_LONGER_LISTED)


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        (f"/d/{UDI}", EUDAMED, "Read from EUDAMED: 15 Jan 2027, 08:00 UTC or later"),
        (f"/a/{SRN}?risk=iii&page=2", OTHER, "Read from a source that is not EUDAMED: 15 Jan 2027, 08:00 UTC or later"),
        ("/?q=stem&status=on", EUDAMED, ""),
    ],
)
async def test_a_print_begins_with_its_address_and_the_time_of_reading(
    site: SiteMaker, path: str, source: str, expected: str
) -> None:
    settings = REAL if source == EUDAMED else {"public_url": SITE}
    async with site(registration(UDI, "Stem"), **settings) as harness:
        page = await _page(harness, path)

    assert page.one("p", **{"class": "printed"}).text == f"Registerwatch, {SITE}{path} {expected}".strip()


async def test_only_pages_that_may_be_indexed_name_their_one_address(site: SiteMaker) -> None:
    async with site(registration(UDI, "Stem"), **REAL) as harness:
        named = {
            path: [each["href"] for each in (await _page(harness, path)).all("link", rel="canonical")]
            for path in ("/", f"/d/{UDI}", f"/a/{SRN}?risk=iii", "/?q=stem", "/nothing")
        }

    assert list(named.values()) == [[f"{SITE}/"], [f"{SITE}/d/{UDI}"], [f"{SITE}/a/{SRN}"], [], []]


async def test_a_page_claims_nothing_of_eudamed_where_records_are_not_eudameds(site: SiteMaker) -> None:
    async with site(registration(UDI, "Stem")) as harness:
        pages = [await _page(harness, path) for path in ("/", f"/d/{UDI}", f"/a/{SRN}", "/?q=stem")]
    async with site(registration(UDI, "Stem"), **REAL) as harness:
        real = await _page(harness, "/")

    assert not [page.title for page in pages if "EUDAMED" in page.title]
    assert not [page.main for page in pages if re.search("(?<!not )(?<!Not )EUDAMED", page.main)]
    assert real.title == "Registerwatch: search EUDAMED"
    assert "keeps a copy of EUDAMED, the public EU register" in real.main
