"""Actors that the register no longer has: every surface and every account says so, and that they are back."""

import csv
import io
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from registerwatch.ingest.refresh import NO_LONGER_LISTED
from registerwatch.platform.clock import iso_utc
from tests.files.lists.steps import ListSteps
from tests.mcp.messages import used
from tests.pages.account.pages_client import PagesClient
from tests.pages.markup import Markup
from tests.register.forgetful_world import ForgetfulWorld
from tests.support.harness import ServiceHarness, ServiceStarter
from tests.watches.steps import due_subjects
from tests.watches.sweep_steps import a_manufacturer, number_of_devices, register_more, sweep, told

DAY = 86_400


@pytest.fixture
async def world() -> ForgetfulWorld:
    return ForgetfulWorld(120)


@pytest.fixture
async def harness(start_service: ServiceStarter, world: ForgetfulWorld) -> AsyncIterator[ServiceHarness]:
    async with start_service(world=world) as harness:
        yield harness


@pytest.fixture
def srn(world: ForgetfulWorld) -> str:
    return world.newest(0, 1)[0].manufacturer.srn


@pytest.fixture
async def owner_pages(harness: ServiceHarness) -> AsyncIterator[PagesClient]:
    pages = PagesClient(harness)
    await pages.sign_up()
    yield pages
    await pages.client.aclose()


async def denied(harness: ServiceHarness, world: ForgetfulWorld, srn: str, *, is_read: bool = True) -> None:
    """The register denies an actor that the copy has: one that was read, or one that a load brought."""
    await harness.fill_copy()
    if is_read:
        await harness.get("/v1/refresh", q=srn)
    world.forgotten.add(srn)
    harness.clock.move(60)
    await harness.get("/v1/refresh", q=srn)


@pytest.mark.parametrize("is_read", [True, False], ids=["read", "of a load"])
async def test_an_actor_that_the_register_denies_is_no_longer_listed_on_every_surface(
    harness: ServiceHarness, world: ForgetfulWorld, owner_pages: PagesClient, srn: str, *, is_read: bool
) -> None:
    key = (await harness.post("/v1/keys", await owner_pages.rest_session(), label="k")).json()["api_key"]
    if is_read:
        await harness.post_watches(key, srn)
    lists = ListSteps(harness, (await harness.sign_up("b@other.example")))
    list_id = await lists.kept(f"Code\n{srn}\n")
    await denied(harness, world, srn, is_read=is_read)
    await harness.post_sync(key)
    await lists.follow()

    if not is_read:
        await harness.post_watches(key, srn)
    [watch], [line] = await harness.get_list(key, "watches"), await lists.lines(list_id)
    actor = (await harness.get(f"/v1/actors/{srn}")).json()
    page = await harness.get(f"/a/{srn}")
    scanned = Markup.of(await owner_pages.post("/app/scan", code=srn, codes=""))
    imported = Markup.of(await owner_pages.post("/app/import", text=srn))

    assert (actor["listed"], actor["error"], actor["manufacturer_status"]) == (False, NO_LONGER_LISTED, "Active")
    assert ((await used(harness, "get_actor", srn=srn)).payload["listed"], watch["listed"]) == (False, False)
    assert (line["listed"], line["coverage"], line["status"]) == (False, "delisted", "Active")
    markup = Markup.of(page)
    assert "! No longer listed When it was last listed: Active" in markup.main
    assert "✓ Active" not in markup.main
    assert "Status: No longer listed." in page.text
    for each in (scanned.main, imported.main, (await owner_pages.page(f"/app/watches/{watch['id']}")).main):
        assert "! No longer listed" in each
        assert "✓ Active" not in each
    assert "No longer listed" in (await owner_pages.get("/app/watches.csv")).text


@pytest.mark.parametrize("way", ["read", "load a day later"])
async def test_an_actor_that_is_back_is_listed_everywhere_and_its_history_has_both(
    harness: ServiceHarness, world: ForgetfulWorld, srn: str, way: str
) -> None:
    lists = ListSteps(harness, await harness.sign_up())
    list_id = await lists.kept(f"Code\n{srn}\n")
    await denied(harness, world, srn)
    gone_at = harness.clock.now()
    world.forgotten.clear()
    harness.clock.move(60 if way == "read" else DAY + 60)

    if way == "read":
        await harness.get("/v1/refresh", q=srn)
    else:
        await harness.fill_copy()
    await lists.follow()

    actor, [line] = (await harness.get(f"/v1/actors/{srn}")).json(), await lists.lines(list_id)
    assert "listed" not in actor
    assert "No longer listed" not in Markup.of(await harness.get(f"/a/{srn}")).all("dl")[0].text
    assert (line["coverage"], "listed" in line) == ("found", False)
    history = (await harness.get(f"/v1/actors/{srn}/history")).json()
    told = [(each["field"], each["old"], each["new"]) for entry in history["entries"] for each in entry["changes"]]
    assert [each for each in told if each[0] == "listed"] == [("listed", False, True), ("listed", True, False)]
    then = (await harness.get(f"/v1/actors/{srn}/history", at=iso_utc(gone_at))).json()
    assert then["listed"] is False


async def test_an_account_that_watches_an_actor_after_it_was_denied_is_told_what_changed_when_it_is_back(
    harness: ServiceHarness, world: ForgetfulWorld, srn: str
) -> None:
    await denied(harness, world, srn)
    owner = await harness.sign_up()
    harness.faults.fail("any", "http-503")
    await harness.post_watches(owner.api_key, srn)
    harness.faults.clear()
    [watch] = await harness.get_list(owner.api_key, "watches")
    assert (watch["listed"], watch["health"]["state"]) == (False, "unknown")
    world.forgotten.clear()
    world.change_actor(srn, status="inactive")
    harness.clock.move(60)

    [event] = (await harness.post_sync(owner.api_key))["events"]

    assert event["summary"] == "manufacturer_status: Active → Inactive"


async def test_a_strangers_read_that_finds_an_actor_gone_makes_its_watches_due(
    harness: ServiceHarness, world: ForgetfulWorld, srn: str
) -> None:
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, srn)
    await denied(harness, world, srn)

    assert (await due_subjects(harness))[0] == srn


async def test_an_actor_that_was_read_again_while_the_register_denied_it_stays_listed(
    harness: ServiceHarness, world: ForgetfulWorld, srn: str
) -> None:
    await harness.get("/v1/refresh", q=srn)
    known = await harness.service.records.known_actor(srn)
    await harness.get("/v1/refresh", q=srn)

    await harness.service.records.delist_actor(
        srn, read_at=int(harness.clock.now()), since=known.reads, source="eudamed"
    )

    assert "listed" not in (await harness.get(f"/v1/actors/{srn}")).json()


async def test_a_manufacturer_that_is_gone_is_said_beside_the_status_that_its_devices_name(
    harness: ServiceHarness, world: ForgetfulWorld, owner_pages: PagesClient, srn: str
) -> None:
    device = next(each for each in world.newest(0, 120) if each.manufacturer.srn == srn)
    [watch] = await harness.post_watches(await owner_pages.rest_session(), device.primary_di)
    await denied(harness, world, srn)

    for page in (f"/d/{device.primary_di}", f"/app/watches/{watch['id']}"):
        assert "! No longer listed Status in this record: Active" in (await owner_pages.page(page)).main


async def test_a_comparison_says_so_too_and_of_a_date_only_where_it_was_so_then(
    harness: ServiceHarness, world: ForgetfulWorld, srn: str
) -> None:
    device = next(each for each in world.newest(0, 120) if each.manufacturer.srn == srn)
    other = next(each for each in harness.separate_devices(120) if each.manufacturer.srn != srn)
    for each in (device, other):
        await harness.get("/v1/refresh", q=each.primary_di)
    listed_at = int(harness.now)
    await denied(harness, world, srn)
    gone_at = int(harness.now)
    harness.clock.move(60)

    async def said(**asked: Any) -> list[list[str]]:
        page = Markup.of(await harness.get("/compare", **asked))
        file = csv.reader(io.StringIO((await harness.get("/compare.csv", **asked)).text))
        rows = [*page.rows, *([f"{row[0]} {row[1]}", *row[2:]] for row in file if len(row) > 2)]
        return [row[1:] for row in rows if row[0].startswith("Manufacturer status")]

    gone = ["No longer listed Status in this record: Active", "No longer listed; Status in this record: Active"]
    assert await said(d=[device.primary_di, other.primary_di]) == [[each, "Active"] for each in gone]
    assert await said(d=device.primary_di, at=iso_utc(listed_at)) == [["Active", each] for each in gone]
    assert await said(d=device.primary_di, at=iso_utc(gone_at)) == [[each] * 2 for each in gone]
    then = [await harness.get(f"/d/{device.primary_di}/history", at=iso_utc(each)) for each in (listed_at, gone_at)]
    assert ["No longer listed" in Markup.of(each).main for each in then] == [False, True]


@pytest.mark.parametrize("fault", ["gone", "not read"])
async def test_a_watch_counts_a_device_that_is_registered_while_its_actor_cannot_be_read_as_other_pages_do(
    harness: ServiceHarness, world: ForgetfulWorld, owner_pages: PagesClient, fault: str
) -> None:
    device = a_manufacturer(harness)
    srn, number = device.manufacturer.srn, number_of_devices(harness, device)
    key = (await harness.post("/v1/keys", await owner_pages.rest_session())).json()["api_key"]
    [watch] = await harness.post_watches(key, srn)
    await sweep(harness)
    if fault == "gone":
        world.forgotten.add(srn)
    else:
        harness.faults.fail("actor", "http-500")
    await harness.post_sync(key)

    register_more(harness, device, 1)
    await sweep(harness)

    assert await told(harness, key) == [{"devices_registered": 1}]
    for page in (f"/a/{srn}", f"/app/watches/{watch['id']}"):
        found = re.search(r"Registered devices\s*(\d+)", (await owner_pages.page(page)).main)
        assert (found[1] if found else None) == str(number + 1)


async def test_what_was_never_read_of_an_actor_is_no_change_when_it_is_back(
    harness: ServiceHarness, world: ForgetfulWorld, srn: str
) -> None:
    await denied(harness, world, srn, is_read=False)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, srn)
    [watch] = await harness.get_list(owner.api_key, "watches")
    assert (watch["listed"], watch["complete"], watch["last_sync"]) == (False, False, None)
    world.forgotten.clear()
    harness.clock.move(60)

    assert (await harness.post_sync(owner.api_key))["events"] == []

    [watch] = await harness.get_list(owner.api_key, "watches")
    assert (watch["complete"], watch["health"]["state"]) == (True, "ok")


async def test_a_line_of_a_list_is_found_as_soon_as_its_manufacturer_is(harness: ServiceHarness, srn: str) -> None:
    lists = ListSteps(harness, await harness.sign_up())
    list_id = await lists.kept(f"Code\n{srn}\n")
    [line] = await lists.lines(list_id)
    assert line["coverage"] == "unknown"

    await harness.get(f"/v1/actors/{srn}")
    await lists.follow()

    [line] = await lists.lines(list_id)
    assert (line["coverage"], line["status"]) == ("found", "Active")


async def test_a_load_that_lists_an_actor_again_ends_its_denial_and_makes_its_watches_due(
    harness: ServiceHarness, world: ForgetfulWorld, srn: str
) -> None:
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, srn)
    await denied(harness, world, srn)
    await harness.post_sync(owner.api_key)
    world.forgotten.clear()
    harness.clock.move(DAY + 60)

    await harness.fill_copy()

    assert (await due_subjects(harness))[0] == srn
    [watch] = await harness.get_list(owner.api_key, "watches")
    assert ("listed" in watch, watch["last_error"]) == (False, "")
    assert "listed" not in (await harness.get(f"/v1/actors/{srn}")).json()


async def test_a_read_that_began_before_a_denial_does_not_list_the_actor_again(
    harness: ServiceHarness, world: ForgetfulWorld, srn: str
) -> None:
    await harness.get("/v1/refresh", q=srn)
    copy = harness.service.records
    earlier, actor = await copy.known_actor(srn), (await harness.service.documents.actor(srn))
    assert actor is not None
    await denied(harness, world, srn)

    stored = await copy.store_actor(
        actor.actor, read_at=int(harness.clock.now()) - 60, source="eudamed", since=earlier.reads
    )

    assert stored is None
    assert (await harness.get(f"/v1/actors/{srn}")).json()["listed"] is False
