"""Devices of an actor: what a request reads from the register it lists, however far the index is."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from registerwatch_standins.register.file_world import FileWorld
from tests.mcp.messages import used
from tests.pages.markup import Markup
from tests.pages.registrations import MAKER, gtin, registration
from tests.support.harness import ServiceHarness, built_harness

SRN = MAKER["srn"]
DEVICES = [gtin(number) for number in range(1, 24)]
OFF = "no-longer-on-the-market"


@pytest.fixture
async def harness(database_url: str, tmp_path: Path) -> AsyncIterator[ServiceHarness]:
    """A service over a manufacturer of 23 devices, in which nothing is stored and nobody updates the index."""
    path = tmp_path / "registrations.jsonl"
    path.write_text("".join(json.dumps(registration(udi, "Stem")) + "\n" for udi in reversed(DEVICES)))
    async with built_harness(database_url, tmp_path, world=FileWorld(path)) as harness:
        yield harness


async def listed(harness: ServiceHarness, **parameters: str | int) -> tuple[list[str], int]:
    """UDI-DIs on one page of a search by SRN, and the total."""
    answer = (await harness.get("/v1/search", q=SRN, **parameters)).json()
    return [row["udi"] for row in answer["results"]], answer["total"]


async def listed_on_all_pages(harness: ServiceHarness, **parameters: str | int) -> list[str]:
    """UDI-DIs on every page of a search by SRN. Each page tells their number."""
    found: list[str] = []
    totals, page = set(), 1
    while True:
        udis, total = await listed(harness, page=page, **parameters)
        totals.add(total)
        if not udis:
            assert totals == {len(found)}
            return found
        found, page = found + udis, page + 1


async def change_status(harness: ServiceHarness, udi: str, status: str) -> None:
    """Change a record's market status in the register and read it. The index is not updated."""
    [record] = harness.world.by_primary_di(udi)
    harness.world.change(record.uuid, status=status)
    harness.clock.move(60)
    await harness.service.refresher.refresh(udi)


async def test_an_actor_that_is_read_through_answers_with_its_devices(harness: ServiceHarness) -> None:
    actor = (await harness.get(f"/v1/actors/{SRN}")).json()

    assert [row["udi"] for row in actor["devices"]] == DEVICES[:20]
    assert (actor["device_total"], actor["complete"], actor["missing"], actor["error"]) == (23, True, [], None)


async def test_the_page_of_an_actor_that_is_read_through_shows_its_devices(harness: ServiceHarness) -> None:
    page = Markup.of(await harness.client.get(f"/a/{SRN}"))

    assert [row[0] for row in page.rows] == [f"Stem {udi}" for udi in DEVICES[:20]]
    assert page.facts["Registered devices"] == "23 23 devices in the copy"


async def test_the_tool_for_an_actor_that_is_read_through_gives_its_devices(harness: ServiceHarness) -> None:
    actor = (await used(harness, "get_actor", srn=SRN)).payload

    assert [row["udi"] for row in actor["devices"]] == DEVICES[:20]


async def test_a_search_by_srn_after_a_refresh_finds_what_the_refresh_read(harness: ServiceHarness) -> None:
    refreshed = (await harness.get("/v1/refresh", q=SRN)).json()

    assert [row["udi"] for row in refreshed["actor"]["devices"]] == DEVICES[:20]
    assert await listed(harness) == (DEVICES[:20], 23)
    assert (await used(harness, "search_devices", q=SRN)).payload["total"] == 23


async def test_a_search_by_name_after_a_refresh_finds_the_name_that_the_refresh_read(harness: ServiceHarness) -> None:
    [record] = harness.world.by_primary_di(DEVICES[0])
    harness.world.change(record.uuid, trade_names={"en": "Galvanised"})

    await harness.get("/v1/refresh", q=DEVICES[0])

    found = (await harness.get("/v1/search", q="galvanised")).json()
    assert [row["udi"] for row in found["results"]] == DEVICES[:1]


async def test_what_changed_since_the_index_was_updated_counts_on_every_page_with_and_without_filters(
    harness: ServiceHarness,
) -> None:
    await harness.fill_copy()
    assert await listed_on_all_pages(harness) == DEVICES
    for udi in DEVICES[::5]:
        await change_status(harness, udi, OFF)
    gone = [udi for udi in DEVICES if udi in DEVICES[::5]]

    assert await listed_on_all_pages(harness) == DEVICES
    assert await listed_on_all_pages(harness, status="off") == gone
    assert await listed_on_all_pages(harness, status="on") == [udi for udi in DEVICES if udi not in gone]
    await harness.update_index()
    assert await listed_on_all_pages(harness, status="off") == gone
    assert await listed_on_all_pages(harness) == DEVICES
