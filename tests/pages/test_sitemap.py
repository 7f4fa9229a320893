"""The site map and robots.txt: search engines find every record, and nothing that they are told to leave alone."""

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.robotparser import RobotFileParser
from xml.etree import ElementTree

import pytest

from registerwatch.copy.listed_parts import ListedParts
from registerwatch.pages.sitemap import NAMESPACE, PAGES, Sitemap
from registerwatch.register.models import DeviceReading
from registerwatch.settings import EUDAMED_URL
from tests.register.builders import a_full_reading, a_row
from tests.support.harness import ServiceHarness, built_harness

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite", "postgresql"])

SITE = "https://register.example"


@dataclass(frozen=True, slots=True)
class Address:
    """An address of the site map. `changed` is empty where it tells no time."""

    path: str
    changed: str


@pytest.fixture
async def site(database_url: str, tmp_path: Path) -> AsyncIterator[ServiceHarness]:
    """A service over EUDAMED's own address, in parts of three."""
    async with _site(database_url, tmp_path) as harness:
        service = harness.service
        harness.app.state.sitemap = Sitemap(ListedParts(service.database, part_size=3), SITE, service.clock)
        yield harness


@asynccontextmanager
async def _site(database_url: str, tmp_path: Path, **settings: Any) -> AsyncIterator[ServiceHarness]:
    settings = {"public_url": SITE, "register_url": EUDAMED_URL, **settings}
    async with built_harness(database_url, tmp_path, **settings) as harness:
        yield harness


async def _listed(site: ServiceHarness, path: str, root: str) -> list[Address]:
    """What a file of the site map lists."""
    response = await site.get(path)
    assert response.status_code == 200, path
    assert response.headers["content-type"] == "application/xml; charset=utf-8"
    assert response.headers["cache-control"] == "public, max-age=3600"
    file = ElementTree.fromstring(response.content)
    assert file.tag == f"{{{NAMESPACE}}}{root}"
    addresses = [str(each.findtext(f"{{{NAMESPACE}}}loc")) for each in file]
    assert addresses
    assert all(address.startswith(f"{SITE}/") for address in addresses)
    changed = [each.findtext(f"{{{NAMESPACE}}}lastmod") or "" for each in file]
    return [Address(address.removeprefix(SITE), time) for address, time in zip(addresses, changed, strict=True)]


async def _parts(site: ServiceHarness) -> dict[str, list[Address]]:
    """What each part lists, by its path."""
    index = await _listed(site, "/sitemap.xml", "sitemapindex")
    return {part.path: await _listed(site, part.path, "urlset") for part in index}


async def _pages(site: ServiceHarness) -> list[str]:
    """All pages that the site map lists, in order."""
    return sorted(address.path for part in (await _parts(site)).values() for address in part)


def _device(udi: str, **fields: Any) -> DeviceReading:
    return a_full_reading(f"uuid of {udi}", udi, **fields)


def _udis(count: int) -> list[str]:
    return [f"{number:014d}" for number in range(1, count + 1)]


async def test_every_device_and_actor_is_listed_once_in_parts_of_bounded_size(site: ServiceHarness) -> None:
    udis, srns = _udis(8), [f"DE-MF-{number:09d}" for number in range(1, 8)]
    await site.store(*[_device(udi) for udi in udis])
    for srn in srns:
        await site.store_actor(srn=srn)

    parts = await _parts(site)

    assert [len(each) for each in parts.values()] == [len(PAGES), 3, 3, 2, 3, 3, 1]
    assert await _pages(site) == sorted([*PAGES, *[f"/d/{udi}" for udi in udis], *[f"/a/{srn}" for srn in srns]])


async def test_a_device_stays_in_its_part_when_others_come(site: ServiceHarness) -> None:
    await site.store(*[_device(udi) for udi in _udis(4)])
    before = await _parts(site)
    await site.store(*[_device(udi) for udi in _udis(9)])
    site.clock.move(3600)
    after = await _parts(site)

    assert after["/sitemap-devices-1.xml"] == before["/sitemap-devices-1.xml"]
    assert {"/sitemap-devices-1.xml", "/sitemap-devices-2.xml"} < set(before) < set(after)


async def test_only_what_the_index_names_is_made(site: ServiceHarness) -> None:
    for number in range(1, 6):
        await site.store_actor(srn=f"DE-MF-{number:09d}")
    others = ["A", "DE-MF-000000002", "DE-MF-0000000015", "DE-MF-000000009", "de-mf-000000001"]

    assert [(await site.get(f"/sitemap-actors-{first}.xml")).status_code for first in others] == [404] * len(others)
    assert [part for part in await _parts(site) if "actors" in part] == [
        "/sitemap-actors-DE-MF-000000001.xml",
        "/sitemap-actors-DE-MF-000000004.xml",
    ]


async def test_a_part_of_the_actors_is_there_as_long_as_an_index_that_names_it(site: ServiceHarness) -> None:
    for number in range(2, 6):
        await site.store_actor(srn=f"DE-MF-{number:09d}")
    await _parts(site)
    await site.store_actor(srn="DE-MF-000000001")
    site.clock.move(3599)

    assert [each.path for each in await _listed(site, "/sitemap-actors-DE-MF-000000005.xml", "urlset")] == [
        "/a/DE-MF-000000005"
    ]


async def test_an_address_says_when_the_register_changed_the_record(site: ServiceHarness) -> None:
    known, unknown = _udis(2)
    await site.store(_device(known, updated="2021-10-08T10:42:27Z"), _device(unknown, updated=None))

    listed = await _listed(site, "/sitemap-devices-1.xml", "urlset")

    assert listed == [Address(f"/d/{known}", "2021-10-08T10:42:27Z"), Address(f"/d/{unknown}", "")]


async def test_what_is_listed_is_a_page_that_robots_may_read(site: ServiceHarness) -> None:
    await site.store(_device("++E1/4<&>"), _device(_udis(1)[0], manufacturer_srn="DE-MF-000000901"))
    robots = RobotFileParser()
    robots.parse((await site.get("/robots.txt")).text.splitlines())

    pages = await _pages(site)
    answers = [await site.client.get(page) for page in pages]

    assert "/d/%2B%2BE1%2F4%3C%26%3E" in pages
    assert [each.status_code for each in answers] == [200] * len(pages)
    assert not [page for page in pages if not robots.can_fetch("AnyBot", SITE + page)]
    assert not [page for page, answer in zip(pages, answers, strict=True) if "noindex" in str(answer.headers)]
    assert robots.site_maps() == [f"{SITE}/sitemap.xml"]
    assert all(robots.can_fetch("AnyBot", f"{SITE}{path}") for path in ("/sitemap.xml", *await _parts(site)))
    assert not robots.can_fetch("AnyBot", f"{SITE}/?q=stem")


async def test_of_several_records_of_a_udi_di_one_address_is_listed(site: ServiceHarness) -> None:
    udi = _udis(1)[0]
    twins = [a_full_reading(uuid, udi) for uuid in ("first", "second")]
    await site.store(*twins)

    assert (await _pages(site)).count(f"/d/{udi}") == 1


async def test_a_device_that_the_register_lists_no_more_is_not_listed(site: ServiceHarness) -> None:
    kept, gone, alone = _udis(3)
    await site.store(_device(kept), _device(gone))
    site.clock.move(3600)
    revision = (await site.service.records.state()).revision
    await site.service.records.delist(gone, read_at=site.now, since=revision)

    assert [path for path in await _pages(site) if path.startswith("/d/")] == [f"/d/{kept}"]

    await site.service.records.delist(kept, read_at=site.now, since=revision + 1)
    await site.store(_device(alone))
    site.clock.move(3600)
    assert [path for path in await _pages(site) if path.startswith("/d/")] == [f"/d/{alone}"]


async def test_a_file_is_made_once_an_hour_whatever_the_clock_does(site: ServiceHarness) -> None:
    await site.store(_device(_udis(1)[0]))
    before = await _pages(site)
    await site.store(_device(_udis(2)[1]))

    assert await _pages(site) == before
    site.clock.move(-4 * 24 * 3600)
    assert len(await _pages(site)) == len(before) + 1


async def test_a_file_is_the_same_compressed_and_not(site: ServiceHarness) -> None:
    await site.store(*[_device(udi) for udi in _udis(3)])
    path = "/sitemap-devices-1.xml"
    packed = await site.client.get(path, headers={"Accept-Encoding": "gzip"})
    plain = await site.client.get(path, headers={"Accept-Encoding": "identity"})

    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
    assert packed.text == plain.text


@pytest.mark.parametrize(
    "name", ["devices-2", "devices-0", "devices-x", "devices-9999999999999", "actors-ZZ", "nothing"]
)
async def test_a_part_without_records_is_not_found(site: ServiceHarness, name: str) -> None:
    await site.store(_device(_udis(1)[0]))

    assert (await site.get(f"/sitemap-{name}.xml")).status_code == 404


async def test_an_empty_copy_has_a_site_map_of_its_start_page_and_the_documentation(site: ServiceHarness) -> None:
    pages = await _pages(site)

    assert pages == sorted(PAGES)
    assert {"/", "/docs", "/docs/api", "/docs/webhooks"} < set(pages)


async def test_records_that_are_not_eudameds_are_not_offered_to_search_engines(harness: ServiceHarness) -> None:
    await harness.fill_copy()
    device = harness.unique_devices(1)[0]
    robots = RobotFileParser()
    robots.parse((await harness.get("/robots.txt")).text.splitlines())

    assert robots.site_maps() is None
    for path in ("/sitemap.xml", "/sitemap-devices-1.xml", "/sitemap-pages.xml"):
        assert (await harness.get(path)).status_code == 404
    for path in ("/", "/?q=a", f"/d/{device.primary_di}", f"/a/{device.manufacturer.srn}", "/nothing"):
        assert (await harness.client.get(path)).headers["x-robots-tag"] == "noindex", path
        assert robots.can_fetch("AnyBot", f"{SITE}{path}") or "?" in path, "what is not fetched cannot say `noindex`"


async def test_fifty_thousand_and_one_devices_make_two_parts(database_url: str, tmp_path: Path) -> None:
    async with _site(database_url, tmp_path) as site:
        await site.store(*[a_row(udi, udi) for udi in _udis(50_001)])
        parts = await _parts(site)
        packed = await site.client.get("/sitemap-devices-1.xml")

        assert [len(parts[f"/sitemap-devices-{part}.xml"]) for part in (1, 2)] == [50_000, 1]
        assert len(gzip.compress(packed.content)) < 2_000_000
