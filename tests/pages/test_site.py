"""What holds for every page: markup, headers, files, limits, errors."""

import struct
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from structlog.testing import capture_logs

from registerwatch.pages.site_files import asset_address, assets
from tests.pages.conftest import SiteMaker
from tests.pages.markup import Markup, accessibility_problems
from tests.pages.registrations import certificate, gtin, in_days, registration

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
LONG = "9" * 10_000
PAGES = {
    "/": 200,
    "/?q=stem": 200,
    "/?q=stem&page=2": 200,
    "/?q=nothing+of+this+kind": 200,
    f"/?q={gtin(500)}": 200,
    f"/d/{gtin(1)}": 200,
    "/a/DE-MF-000000901": 200,
    "/billing/done?session_id=cs_test_1": 200,
    "/billing/back": 200,
    "/docs": 200,
    "/docs/api": 200,
    "/docs/errors": 200,
    f"/d/{gtin(500)}": 404,
    "/a/DE-MF-000000999": 404,
    "/a/nobody": 404,
    "/nowhere": 404,
    f"/app/watches/{LONG}": 404,
    "/static/nothing.css": 404,
    "/?status=maybe": 400,
    "/?page=0": 400,
    f"/?q={LONG}": 400,
    f"/d/{LONG}": 400,
    f"/a/{LONG}": 400,
    "/d/": 400,
    "/d/%00": 400,
    "/d/%ff%fe": 400,
}


async def _filled(site: SiteMaker, **settings: Any) -> Any:
    certificates = [certificate("C 1", in_days(-5)), certificate("C 2", in_days(5))]
    stems = [registration(gtin(number), "Stem", certificates=certificates) for number in range(1, 11)]
    return site(*stems, **settings)


@pytest.mark.parametrize(("path", "status"), PAGES.items(), ids=[path[:30] for path in PAGES])
async def test_every_page_is_well_formed_accessible_and_safe(site: SiteMaker, path: str, status: int) -> None:
    async with await _filled(site) as harness:
        response = await harness.client.get(path)
        page = Markup.of(response)

        assert response.status_code == status
        assert accessibility_problems(page) == []
        assert response.headers["content-security-policy"] == POLICY
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "same-origin"
        assert "not affiliated with or endorsed by the commission" in " ".join(response.text.lower().split())
        assert len(response.content) < 24_000


async def test_pages_name_only_files_that_exist_and_are_kept_for_a_year(site: SiteMaker) -> None:
    async with site() as harness:
        page = Markup.of(await harness.get("/"))
        addresses = [each["src"] for each in page.all("script")]
        addresses += [each["href"] for each in page.all("link") if each["rel"] in ("stylesheet", "icon")]

        assert len(addresses) == 4
        for address in addresses:
            file = await harness.get(address)
            assert file.status_code == 200
            assert file.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert file.headers["x-content-type-options"] == "nosniff"


async def test_files_are_served_as_what_they_are(site: SiteMaker) -> None:
    async with site() as harness:
        kinds = {name: (await harness.get(asset_address(name))).headers["content-type"] for name in assets()}

        assert kinds == {
            "app.css": "text/css; charset=utf-8",
            "app.js": "text/javascript; charset=utf-8",
            "card.png": "image/png",
            "docs.css": "text/css; charset=utf-8",
            "favicon.ico": "image/vnd.microsoft.icon",
            "icon.svg": "image/svg+xml; charset=utf-8",
            "passkeys.js": "text/javascript; charset=utf-8",
            "scan.js": "text/javascript; charset=utf-8",
            "site.js": "text/javascript; charset=utf-8",
            "style.css": "text/css; charset=utf-8",
        }


async def test_the_icon_is_where_it_is_looked_for_unasked(site: SiteMaker) -> None:
    async with site() as harness:
        icon = await harness.get("/favicon.ico")

    reserved, kind, images = struct.unpack_from("<HHH", icon.content)
    assert (icon.status_code, icon.headers["content-type"]) == (200, "image/vnd.microsoft.icon")
    assert (reserved, kind, images) == (0, 1, 3)
    for number, size in enumerate((16, 32, 48)):
        entry = struct.unpack_from("<BBBBHHII", icon.content, 6 + 16 * number)
        length, start = entry[6:]
        image = icon.content[start : start + length]
        assert entry[:2] == (size, size)
        assert image.startswith(b"\x89PNG\r\n\x1a\n")
        assert struct.unpack_from(">II", image, 16) == (size, size)


async def test_an_older_page_still_gets_its_stylesheet_but_nobody_keeps_it(site: SiteMaker) -> None:
    async with site() as harness:
        file = await harness.get("/static/style.0123456789abcdef.css")

        assert file.status_code == 200
        assert file.content == assets()["style.css"].body
        assert file.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "path", ["/static/..%2f..%2fpages.py", "/static/%2e%2e/style.css", "/static/style", "/static/"]
)
async def test_nothing_but_the_files_is_served(site: SiteMaker, path: str) -> None:
    async with site() as harness:
        assert (await harness.client.get(path)).status_code == 404


@pytest.mark.parametrize("name", [name for name in assets() if name.endswith(".css")])
def test_every_block_of_a_style_sheet_ends_before_the_next_section(name: str) -> None:
    depth = 0
    for line in assets()[name].body.decode().splitlines():
        depth += line.count("{") - line.count("}")
        assert depth == 0 or not line.startswith("/*"), f"{line} stands within the block before it"
    assert depth == 0


def test_the_stylesheet_stays_small() -> None:
    assert len(assets()["style.css"].body) < 12_500
    assert len(assets()["docs.css"].body) < 6_000
    assert len(assets()["site.js"].body) < 6_000


async def test_robots_may_read_records_but_not_search(site: SiteMaker) -> None:
    async with site() as harness:
        robots = await harness.get("/robots.txt")

        assert robots.headers["content-type"].startswith("text/plain")
        forbidden = {"/v1/", "/mcp", "/compare", "/?q=", "/?status=", "/?risk=", "/?page="}
        assert forbidden == {line.partition(": ")[2] for line in robots.text.splitlines() if "Disallow" in line}


async def test_pages_are_limited_and_say_when_to_come_back(site: SiteMaker) -> None:
    async with await _filled(site, rate_limits=True) as harness:
        first = await harness.get("/")
        answers = [await harness.get(f"/d/{gtin(1)}") for _ in range(120)]
        refused = answers[-1]

        assert (first.headers["ratelimit-limit"], first.headers["ratelimit-remaining"]) == ("120", "119")
        assert [each.status_code for each in answers] == [200] * 119 + [429]
        wait = refused.headers["retry-after"]
        assert 1 <= int(wait) <= 60
        assert f"try again in {wait} second" in Markup.of(refused).main
        assert (await harness.get(asset_address("style.css"))).status_code == 200


@pytest.mark.parametrize("kind", ["device", "actor"])
async def test_pages_that_make_the_service_read_the_register_are_limited_more(site: SiteMaker, kind: str) -> None:
    async with await _filled(site, rate_limits=True) as harness:
        missing = [f"/d/{gtin(each)}" if kind == "device" else f"/a/DE-MF-{each:09d}" for each in range(500, 521)]
        answers = [await harness.get(path) for path in missing]
        stored = await harness.get(f"/d/{gtin(1)}" if kind == "device" else "/a/DE-MF-000000901")

        assert [each.status_code for each in answers] == [404] * 20 + [429]
        assert answers[0].headers["ratelimit-limit"] == "20"
        assert stored.status_code == 200


async def test_reading_again_counts_as_a_read_of_the_register(site: SiteMaker) -> None:
    async with await _filled(site, rate_limits=True) as harness:
        answers = [await harness.client.post(f"/d/{gtin(1)}") for _ in range(21)]

        assert [each.status_code for each in answers] == [303] * 20 + [429]


async def test_a_failure_inside_is_a_page_that_tells_nothing_of_it(
    site: SiteMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with site() as harness:

        async def broken(*_args: object, **_options: object) -> None:
            raise RuntimeError("secret detail")

        monkeypatch.setattr(type(harness.service.search), "search", broken)
        with capture_logs() as logged:
            response = await harness.get("/", q="stem")

        assert response.status_code == 500
        assert [each["event"] for each in logged] == ["unexpected error"]
        assert "secret detail" not in response.text
        _assert_error_page(response, "Something went wrong")


async def test_a_database_that_is_away_is_a_page_too(site: SiteMaker) -> None:
    async with await _filled(site) as harness:
        await harness.service.documents.close()
        database = harness.service.settings.data_dir / "registerwatch.db"
        database.rename(database.with_suffix(".away"))
        response = await harness.get(f"/d/{gtin(1)}")
        database.with_suffix(".away").rename(database)

        assert response.status_code == 503
        assert response.headers["retry-after"] == "10"
        _assert_error_page(response, "Out of reach for the moment")


async def test_a_method_that_an_address_does_not_take_is_a_page(site: SiteMaker) -> None:
    async with site() as harness:
        response = await harness.client.delete(f"/d/{gtin(1)}")

        assert response.status_code == 405
        _assert_error_page(response, "This cannot be done here")


async def test_pages_answer_head_as_get(site: SiteMaker) -> None:
    async with await _filled(site) as harness:
        response = await harness.client.head("/")

        assert response.status_code == 200
        assert response.headers["content-security-policy"] == POLICY


async def test_pages_are_no_part_of_the_described_interface(site: SiteMaker) -> None:
    async with site() as harness:
        paths: Mapping[str, object] = (await harness.get("/openapi.json")).json()["paths"]

        assert not [each for each in paths if not each.startswith(("/v1/", "/health", "/live", "/ready", "/mcp"))]


def _assert_error_page(response: httpx2.Response, heading: str) -> None:
    page = Markup.of(response)
    assert page.one("h1").text == heading
    assert response.headers["content-security-policy"] == POLICY
    assert response.headers["cache-control"] == "no-store"
    assert page.link("Search the register") == "/"
    assert accessibility_problems(page) == []
