"""Records that the register no longer lists: they answer for no UDI-DI that has a listed one, and hide no change."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from registerwatch.ingest.refresh import NO_LONGER_LISTED
from registerwatch.platform.clock import iso_utc
from registerwatch.platform.structs import replace
from registerwatch.watches.models import NO_CERTIFICATES, NOT_REGISTERED
from registerwatch.watches.tables import read_failures
from registerwatch_standins.register.identifiers import sibling_udi_di
from registerwatch_standins.register.records import CertificateListing, Registration
from tests.files.lists.steps import ListSteps
from tests.mcp.messages import used
from tests.pages.account.pages_client import PagesClient
from tests.pages.markup import Markup
from tests.register.builders import a_registered_certificate
from tests.register.forgetful_world import ForgetfulWorld
from tests.support.harness import ServiceHarness, ServiceStarter, build_harness
from tests.watches.certificate_steps import (
    NUMBER,
    RECORD,
    SEARCH,
    a_device,
    certify,
    list_certificate,
    read,
    read_all_scopes,
    sweep,
    two_devices_of_one_manufacturer,
)
from tests.watches.steps import tried_at
from tests.watches.sweep_steps import OFF
from tests.watches.sweep_steps import sweep as sweep_devices

TWIN = "ffffffff-0000-4000-8000-000000000000"
DAY = 24 * 3600


@pytest.fixture
async def world() -> ForgetfulWorld:
    return ForgetfulWorld(120)


@pytest.fixture
async def harness(start_service: ServiceStarter, world: ForgetfulWorld) -> AsyncIterator[ServiceHarness]:
    async with start_service(world=world) as harness:
        yield harness


@pytest.fixture
async def owner_pages(harness: ServiceHarness) -> AsyncIterator[PagesClient]:
    pages = PagesClient(harness)
    await pages.sign_up()
    yield pages
    await pages.client.aclose()


def with_twin(harness: ServiceHarness) -> Registration:
    """A regulation record whose UDI-DI gets a second one, of a higher version."""
    record = next(each for each in harness.unique_devices(120) if each.legislation == "mdr")
    harness.world.register(replace(record, uuid=TWIN, version_number=record.version_number + 6, reference="TWIN-1"))
    return record


async def test_a_deleted_twin_gives_way_to_the_remaining_record_though_that_is_no_latest_version(
    harness: ServiceHarness, world: ForgetfulWorld
) -> None:
    record, owner = with_twin(harness), await harness.sign_up()
    await harness.post_watches(owner.api_key, record.primary_di)
    assert (await harness.get(f"/v1/devices/{record.primary_di}")).json()["uuid"] == TWIN

    world.forgotten.add(TWIN)
    world.change(record.uuid, latest_version=False, new_version=False, reference="LEFT-1")
    harness.clock.move(60)
    first = await harness.post_sync(owner.api_key)
    world.change(record.uuid, new_version=False, reference="LEFT-2")
    harness.clock.move(60)
    second = await harness.post_sync(owner.api_key)

    device = (await harness.get(f"/v1/devices/{record.primary_di}")).json()
    assert (device["uuid"], device["reference"], device["error"]) == (record.uuid, "LEFT-2", None)
    assert "reference: TWIN-1 → LEFT-1" in first["events"][0]["summary"]
    assert [event["summary"] for event in second["events"]] == ["reference: LEFT-1 → LEFT-2"]
    [watch] = await harness.get_list(owner.api_key, "watches")
    assert watch["last_error"] == ""


async def test_a_deleted_twin_that_comes_back_answers_again(harness: ServiceHarness, world: ForgetfulWorld) -> None:
    record = with_twin(harness)
    path = f"/v1/devices/{record.primary_di}"
    await harness.get(path)
    world.forgotten.add(TWIN)
    await harness.get("/v1/refresh", q=record.primary_di)
    assert (await harness.get(path)).json()["uuid"] == record.uuid

    world.forgotten.clear()
    await harness.get("/v1/refresh", q=record.primary_di)

    assert (await harness.get(path)).json()["uuid"] == TWIN


async def test_a_bulk_source_that_lags_brings_no_deleted_twin_back(
    harness: ServiceHarness, world: ForgetfulWorld
) -> None:
    record = with_twin(harness)
    await harness.fill_copy()
    await harness.get("/v1/refresh", q=record.primary_di)
    world.forgotten.add(TWIN)
    await harness.get("/v1/refresh", q=record.primary_di)
    harness.clock.move(7 * 24 * 3600)

    await harness.fill_copy()  # the bulk source still lists what the register has deleted

    device = (await harness.get(f"/v1/devices/{record.primary_di}")).json()
    assert device["uuid"] == record.uuid


async def test_a_watch_that_was_read_and_could_not_be_compared_says_so(harness: ServiceHarness) -> None:
    record, owner = with_twin(harness), await harness.sign_up()
    await harness.post_watches(owner.api_key, record.primary_di)
    harness.world.change(TWIN, version_number=record.version_number - 1)  # what is stored of it has a higher version
    harness.clock.move(60)

    answer = await harness.post_sync(owner.api_key)

    [watch] = await harness.get_list(owner.api_key, "watches")
    assert answer["synced"] == 0
    assert watch["last_error"].startswith("The register was read, but not the record that answers")


# Devices of which the register lists no record


async def denied(harness: ServiceHarness, world: ForgetfulWorld, *, is_read: bool = True) -> Registration:
    """A device in the copy and the index that the register has just denied. A load alone brought it, or it was read."""
    record = harness.unique_devices(1)[0]
    await harness.fill_copy()
    if is_read:
        await harness.get("/v1/refresh", q=record.primary_di)
    await harness.update_index()
    world.forgotten.add(record.uuid)
    harness.clock.move(60)
    refreshed = (await harness.get("/v1/refresh", q=record.primary_di)).json()
    assert (refreshed["refreshed"], refreshed["error"]) == (False, "The register has no record with this code.")
    return record


async def lists_of(harness: ServiceHarness, record: Registration) -> list[str]:
    """Everything that lists the devices of a manufacturer, and a search by the device's name."""
    srn, name = record.manufacturer.srn, record.trade_name or record.device_name or ""
    found = [
        (await harness.get(f"/v1/actors/{srn}", page=page)).text + (await harness.get(f"/a/{srn}", page=page)).text
        for page in range(1, 4)
    ]
    found += [(await harness.get("/v1/search", q=srn, page=page)).text for page in range(1, 4)]
    return [*found, (await used(harness, "get_actor", srn=srn)).payload, (await harness.get("/v1/search", q=name)).text]


async def test_a_device_that_the_register_denies_leaves_every_list_at_once_and_the_index(
    harness: ServiceHarness, world: ForgetfulWorld
) -> None:
    record = await denied(harness, world)

    assert not any(record.primary_di in str(each) for each in await lists_of(harness, record))
    await harness.update_index()
    assert not any(record.primary_di in str(each) for each in await lists_of(harness, record))
    assert harness.service.index.documents == len({each.primary_di for each in world.newest(0, 120)}) - 1


async def test_a_device_that_the_register_denies_keeps_what_was_read_and_says_so_after_a_restart_too(
    harness: ServiceHarness, world: ForgetfulWorld, database_url: str, tmp_path: Path
) -> None:
    record = await denied(harness, world)
    path = f"/v1/devices/{record.primary_di}"

    shown = (await harness.get(path)).json()

    assert shown["uuid"] == record.uuid
    assert shown["error"] == NO_LONGER_LISTED
    assert NO_LONGER_LISTED in (await harness.get(f"/d/{record.primary_di}")).text
    found = (await harness.get("/v1/search", q=record.primary_di)).json()
    assert (found["total"], found["match"], found["results"]) == (0, "udi", [])
    assert "no longer lists" in found["error"]
    other = build_harness(database_url, tmp_path / "other", world=world)
    assert (await other.get(path)).json() == shown
    await other.close()


async def test_programs_are_told_of_a_status_that_it_is_the_last_one_of_a_device_that_is_no_longer_listed(
    harness: ServiceHarness, world: ForgetfulWorld
) -> None:
    record, owner = harness.unique_devices(1)[0], await harness.sign_up()
    udi, lists = record.primary_di, ListSteps(harness, owner)
    await harness.post_watches(owner.api_key, udi)
    list_id = await lists.kept(f"Code\n{udi}\n")

    async def answers() -> list[dict[str, Any]]:
        [watch], [line] = await harness.get_list(owner.api_key, "watches"), await lists.lines(list_id)
        return [(await harness.get(f"/v1/devices/{udi}")).json(), watch, line]

    before = await answers()
    world.forgotten.add(record.uuid)
    harness.clock.move(60)
    await harness.post_sync(owner.api_key)
    await lists.follow()

    after = await answers()

    assert not any("listed" in each for each in before)
    assert [(each["listed"], each["status"]) for each in after] == [(False, each["status"]) for each in before]


async def test_a_device_that_is_listed_again_is_back_in_every_list(
    harness: ServiceHarness, world: ForgetfulWorld
) -> None:
    record = await denied(harness, world)
    world.forgotten.clear()

    await harness.get("/v1/refresh", q=record.primary_di)

    assert (await harness.get(f"/v1/devices/{record.primary_di}")).json()["error"] is None
    listed = (await harness.get("/v1/search", q=record.manufacturer.srn)).json()
    assert record.primary_di in {row["udi"] for row in listed["results"]} or listed["total"] > 20
    await harness.update_index()
    assert harness.service.index.documents == len({each.primary_di for each in world.newest(0, 120)})


async def test_a_watch_of_a_denied_device_keeps_its_snapshot_and_sees_what_changed_when_it_is_back(
    harness: ServiceHarness, world: ForgetfulWorld
) -> None:
    record, owner = harness.unique_devices(1)[0], await harness.sign_up()
    await harness.post_watches(owner.api_key, record.primary_di)
    world.forgotten.add(record.uuid)
    harness.clock.move(60)
    assert (await harness.post_sync(owner.api_key))["events"] == []
    world.forgotten.clear()
    world.change(record.uuid, reference="BACK-1", new_version=False)
    harness.clock.move(60)

    [event] = (await harness.post_sync(owner.api_key))["events"]

    assert "BACK-1" in event["summary"]


@pytest.mark.parametrize("way", ["own", "stranger's"])
@pytest.mark.parametrize("was_read", [True, False], ids=["listed before", "never listed"])
async def test_a_read_in_part_that_finds_a_device_ends_its_denial_on_every_surface(
    harness: ServiceHarness, world: ForgetfulWorld, owner_pages: PagesClient, way: str, *, was_read: bool
) -> None:
    record = harness.unique_devices(1)[0]
    udi, key = record.primary_di, (await harness.post("/v1/keys", await owner_pages.rest_session())).json()["api_key"]
    if not was_read:
        world.forgotten.add(record.uuid)
    await harness.post_watches(key, udi)
    world.forgotten.add(record.uuid)
    harness.clock.move(600)
    await harness.post_sync(key)
    harness.faults.fail("certificates", "http-500")
    world.forgotten.clear()
    harness.clock.move(600)

    if way == "own":
        await harness.post_sync(key)
    else:
        await harness.get("/v1/refresh", q=udi)

    [watch] = await harness.get_list(key, "watches")
    since = {"state": "ok", "since": iso_utc(harness.now)}
    assert ("listed" in watch, watch["last_error"], watch["health"]) == (False, NO_CERTIFICATES, since)
    page = (await owner_pages.page(f"/app/watches/{watch['id']}")).main
    head, _, timeline = page.partition("What happened")
    assert "Last read was in part" in head
    assert "No longer listed" not in head
    assert timeline.count("Not over yet.") == 1, "the read in part alone"
    assert "no longer listed" not in (await owner_pages.page("/app")).main
    scan = Markup.of(await owner_pages.post("/app/scan", code=udi, codes="")).main
    assert "No longer listed" not in scan


async def found_by_a_list(
    harness: ServiceHarness, world: ForgetfulWorld, key: str, *, was_read: bool = True, uuid: str | None = None
) -> Registration:
    """A watched device that the register denied, and that the list of its manufacturer has now as no longer placed on
    the market, as the same record or one of another uuid. Its own record cannot be read.
    """
    record = a_device(harness)
    if not was_read:
        world.forgotten.add(record.uuid)
    await harness.post_watches(key, record.primary_di, record.manufacturer.srn)
    await sweep_devices(harness)
    world.forgotten.add(record.uuid)
    await harness.post_sync(key)
    if uuid is None:
        world.forgotten.clear()
        world.change(record.uuid, status=OFF)
    else:
        world.register(replace(record, uuid=uuid, status=OFF))
    harness.faults.fail("basic", "http-500")
    for _ in range(2):
        harness.clock.move(3600)
        await sweep_devices(harness)
    await harness.post_sync(key)
    return record


async def test_a_list_that_finds_a_device_ends_its_denial_and_tells_what_changed_while_its_record_cannot_be_read(
    harness: ServiceHarness, world: ForgetfulWorld, owner_pages: PagesClient
) -> None:
    key = (await harness.post("/v1/keys", await owner_pages.rest_session())).json()["api_key"]

    udi = (await found_by_a_list(harness, world, key)).primary_di

    device = (await harness.get(f"/v1/devices/{udi}")).json()
    watch = next(each for each in await harness.get_list(key, "watches") if each["subject"] == udi)
    assert (watch["status"], watch.get("listed")) == (device["status"], device.get("listed"))
    assert (watch["status"], watch["health"]["state"]) == ("No longer placed on the EU market", "ok")
    assert watch["last_error"].startswith("The register (register.test) has a fault of its own")
    told = [each["summary"] for each in await harness.get_list(key, "events") if each["subject"] == udi]
    assert told == ["status: On the EU market → No longer placed on the EU market; version: 1 → 2"]
    head, _, timeline = (await owner_pages.page(f"/app/watches/{watch['id']}")).main.partition("What happened")
    assert "! No longer placed on the EU market ! Last read failed" in head
    assert timeline.count("Not over yet.") == 1, "the failed read alone"
    assert await denials(owner_pages, watch["id"]) == ["! No longer listed"]


@pytest.mark.parametrize(
    ("was_read", "uuid"), [(False, None), (True, TWIN)], ids=["never listed before", "another record"]
)
async def test_a_list_that_finds_a_device_in_a_record_that_was_never_read_ends_its_denial(
    harness: ServiceHarness, world: ForgetfulWorld, uuid: str | None, *, was_read: bool
) -> None:
    owner = await harness.sign_up()

    record = await found_by_a_list(harness, world, owner.api_key, was_read=was_read, uuid=uuid)

    device = (await harness.get(f"/v1/devices/{record.primary_di}")).json()
    watches = await harness.get_list(owner.api_key, "watches")
    watch = next(each for each in watches if each["subject"] == record.primary_di)
    assert "listed" not in device
    assert ("listed" in watch, watch["health"]["state"]) == (False, "ok" if was_read else "unread")
    told = [each for each in await harness.get_list(owner.api_key, "events") if each["subject"] == record.primary_di]
    assert told == [], "a row of a record that was not read is no proof"


async def test_what_the_record_of_a_device_that_is_gone_says_of_its_manufacturer_is_said_to_be_of_then(
    harness: ServiceHarness, world: ForgetfulWorld, owner_pages: PagesClient
) -> None:
    record, other = two_devices_of_one_manufacturer(harness)
    key = (await harness.post("/v1/keys", await owner_pages.rest_session())).json()["api_key"]
    [watch, _] = await harness.post_watches(key, record.primary_di, other.primary_di)
    address, watch_address = f"/d/{record.primary_di}", f"/app/watches/{watch['id']}"
    before = [(await owner_pages.page(each)).main for each in (address, watch_address)]
    world.forgotten.add(record.uuid)
    harness.clock.move(3600)
    await harness.post_sync(key)
    harness.world.change_actor(record.manufacturer.srn, status="inactive", name="Renamed GmbH")
    harness.clock.move(3600)
    await harness.post_sync(key)

    after = [(await owner_pages.page(each)).main for each in (address, watch_address)]

    then = "As when the device was last listed. Status then: Active"
    assert [("Status: Active" in each, then in each) for each in before] == [(True, False)] * 2
    assert [("Status: Active" in each, then in each) for each in after] == [(False, True)] * 2
    both: Any = [record.primary_di, other.primary_di]
    rows = Markup.of(await harness.get("/compare", d=both)).rows
    compared = {row[0]: row[1:] for row in rows}
    name, srn = record.manufacturer.name, record.manufacturer.srn
    assert compared["Manufacturer = Same"] == [
        f"{name} {srn} As when the device was last listed",
        f"Renamed GmbH {srn}",
    ]
    assert compared["Manufacturer status ? Not known whether it differs"] == [
        "When the device was last listed: Active",
        "Inactive",
    ]


async def test_all_pages_of_a_device_or_an_actor_that_is_gone_say_so_in_the_same_words(
    harness: ServiceHarness, world: ForgetfulWorld
) -> None:
    record, other = two_devices_of_one_manufacturer(harness)
    udi, srn = record.primary_di, record.manufacturer.srn
    for each in (udi, other.primary_di, srn):
        await harness.get("/v1/refresh", q=each)
    world.forgotten |= {record.uuid, srn}
    harness.clock.move(60)
    for each in (udi, srn):
        await harness.get("/v1/refresh", q=each)

    both: Any = [udi, other.primary_di]
    pages = [await harness.get(each) for each in (f"/d/{udi}", f"/d/{udi}/history", f"/a/{srn}", f"/a/{srn}/history")]
    pages.append(await harness.get("/compare", d=both))

    texts = [Markup.of(each).main for each in pages]
    assert [f"No longer listed. {NO_LONGER_LISTED}" in each for each in texts] == [True] * 5
    assert not any("May be out of date" in each for each in texts)


# Watches that are made after the register denied their device


async def denials(pages: PagesClient, watch_id: int) -> list[str]:
    """How the timeline of a watch calls that the register did not have its subject, the newest first."""
    timeline = (await pages.page(f"/app/watches/{watch_id}")).main.partition("What happened")[2]
    return re.findall("! (?:Not in the register|No longer listed)", timeline)


async def watched_late(harness: ServiceHarness, pages: PagesClient, udi: str, way: str) -> dict[str, Any]:
    """The watch of an account of pages that adds or imports a device."""
    key = (await harness.post("/v1/keys", await pages.rest_session(), label="late")).json()["api_key"]
    if way == "import":
        await harness.post("/v1/import", key, csv=udi)
    else:
        if way == "add, register down":
            harness.faults.fail("any", "http-503")
        await harness.post_watches(key, udi)
    [watch] = await harness.get_list(key, "watches")
    return {**watch, "key": key}


@pytest.mark.parametrize("way", ["add", "add, register down", "import"])
@pytest.mark.parametrize("is_read", [True, False], ids=["read", "of a load"])
async def test_a_watch_that_is_made_after_the_register_denied_its_device_says_so_on_every_surface(
    harness: ServiceHarness, world: ForgetfulWorld, owner_pages: PagesClient, way: str, *, is_read: bool
) -> None:
    record = await denied(harness, world, is_read=is_read)
    udi = record.primary_di

    watch = await watched_late(harness, owner_pages, udi, way)

    device = (await harness.get(f"/v1/devices/{udi}")).json()
    assert (watch["listed"], watch["status"], watch["health"]["state"]) == (False, device["status"], "unknown")
    assert watch["label"] == (await harness.service.records.name_of(udi))
    page = (await owner_pages.page(f"/app/watches/{watch['id']}")).main
    assert "! No longer listed" in page
    assert "Not in the register" not in page
    assert "✓ On the EU market" not in page
    assert "No longer listed" in str((await owner_pages.page("/app/watches")).rows)
    assert "No longer listed" in (await owner_pages.get("/app/watches.csv")).text
    assert "Watches 1 1 no longer listed" in (await owner_pages.page("/app")).main
    gaps = await owner_pages.page("/app/certificates", view="gaps")
    assert "The register no longer lists the device" in str(gaps.rows)


@pytest.mark.parametrize("way", ["add", "import"])
async def test_a_watch_that_is_made_after_the_register_denied_its_device_sees_what_changed_when_it_is_back(
    harness: ServiceHarness, world: ForgetfulWorld, owner_pages: PagesClient, way: str
) -> None:
    record = await denied(harness, world)
    key = (await watched_late(harness, owner_pages, record.primary_di, way))["key"]
    harness.clock.move(60)
    assert (await harness.post_sync(key))["events"] == []
    world.forgotten.clear()
    world.change(record.uuid, reference="BACK-1", new_version=False)
    harness.clock.move(60)

    [event] = (await harness.post_sync(key))["events"]

    assert event["summary"].endswith("→ BACK-1")
    [watch] = await harness.get_list(key, "watches")
    assert ("listed" in watch, watch["last_error"], watch["health"]) == (False, "", {"state": "ok", "since": None})


@pytest.mark.parametrize("way", ["add", "add, register down", "import"])
async def test_the_timeline_of_a_watch_that_is_made_after_the_register_denied_its_device_has_the_denial(
    harness: ServiceHarness, world: ForgetfulWorld, owner_pages: PagesClient, way: str
) -> None:
    record = await denied(harness, world)
    gone_at = harness.now
    harness.clock.move(600)
    watch = await watched_late(harness, owner_pages, record.primary_di, way)

    async def timeline() -> str:
        return (await owner_pages.page(f"/app/watches/{watch['id']}")).main.partition("What happened")[2]

    shown = await timeline()
    assert "every read went well" not in shown
    assert "! No longer listed" in shown
    assert "Not over yet." in shown
    world.forgotten.clear()
    harness.faults.clear()
    harness.clock.move(600)
    await harness.post_sync(watch["key"])

    assert "! No longer listed" in await timeline()
    [row] = [each for each in await harness.rows(read_failures) if each["reason"] == NOT_REGISTERED]
    assert (row["first_at"], row["ended_at"]) == (gone_at, harness.now)


async def test_a_timeline_calls_each_denial_what_it_was_then(
    harness: ServiceHarness, world: ForgetfulWorld, owner_pages: PagesClient
) -> None:
    record = harness.unique_devices(1)[0]
    key = (await harness.post("/v1/keys", await owner_pages.rest_session())).json()["api_key"]
    shown = []
    world.forgotten.add(record.uuid)
    [watch] = await harness.post_watches(key, record.primary_di)
    for forgotten in (set[str](), {record.uuid}, set[str]()):
        shown.append(await denials(owner_pages, watch["id"]))
        world.forgotten = forgotten
        harness.clock.move(600)
        await harness.post_sync(key)
    shown.append(await denials(owner_pages, watch["id"]))

    never, gone = "! Not in the register", "! No longer listed"
    assert shown == [[never], [never], [gone, never], [gone, never]]


async def test_a_device_that_a_bulk_source_lists_more_than_a_day_after_the_register_denied_it_is_back_in_lists(
    harness: ServiceHarness, world: ForgetfulWorld
) -> None:
    record = await denied(harness, world)
    await harness.fill_copy()
    everything = {each.primary_di for each in world.newest(0, 120)}
    assert harness.service.index.documents == len(everything) - 1, "the bulk source may be from before the denial"
    harness.clock.move(25 * 3600)

    await harness.fill_copy()

    assert harness.service.index.documents == len(everything)
    assert (await harness.get(f"/v1/devices/{record.primary_di}")).json()["error"] is None


async def test_watches_are_read_next_where_a_bulk_source_lists_their_device_again(
    harness: ServiceHarness, world: ForgetfulWorld
) -> None:
    record = await denied(harness, world)
    udi, owner = record.primary_di, await harness.sign_up()
    await harness.post_watches(owner.api_key, udi)
    harness.clock.move(60)
    await harness.post_sync(owner.api_key)
    await harness.fill_copy()
    assert 0 not in await tried_at(harness), "the bulk source may be from before the denial"
    world.forgotten.clear()
    harness.clock.move(25 * 3600)

    await harness.fill_copy()

    assert await tried_at(harness) == [0]
    [watch] = await harness.get_list(owner.api_key, "watches")
    assert ("listed" in watch, watch["last_error"]) == (False, "")
    await harness.service.watches.recheck.run()
    [watch] = await harness.get_list(owner.api_key, "watches")
    assert ("listed" in watch, watch["last_error"]) == (False, "")


# Certificates of devices that are gone


async def certificate_words(pages: PagesClient, key: str, udi: str, certificate_id: str) -> dict[str, bool]:
    """Whether each surface says of the one certificate of a watched device that it is withdrawn."""
    harness = pages.harness
    watch = next(each for each in await harness.get_list(key, "watches") if each["subject"] == udi)
    device = (await harness.get(f"/v1/devices/{udi}")).json()
    expiring = await harness.get_list(key, "items")
    feeds = (await harness.post("/v1/feeds", key)).json()["feed"]
    texts = {
        "/c": Markup.of(await harness.get(f"/c/{certificate_id}")).main,
        "/d": Markup.of(await harness.get(f"/d/{udi}")).main[:600],
        "/v1/devices": str([each["status"] for each in device["certs"]]),
        "/v1/watches": watch["certificate_standing"],
        "/v1/expiring": str([each.get("standing") for each in expiring]),
        "watch": (await pages.page(f"/app/watches/{watch['id']}")).main[:600],
        "watches": str((await pages.page("/app/watches")).rows),
        "file": (await pages.get("/app/watches.csv")).text,
        "certificates": str((await pages.page("/app/certificates")).rows),
        "scan": Markup.of(await pages.post("/app/scan", code=udi, codes="")).main,
        "calendar": (await harness.client.get(feeds["expiring"])).text.replace("\r\n ", ""),
    }
    return {surface: "withdrawn" in text.lower() for surface, text in texts.items()}


async def test_a_certificate_whose_scope_names_a_device_that_is_gone_follows_the_registers_list_on_every_surface(
    harness: ServiceHarness, world: ForgetfulWorld, owner_pages: PagesClient
) -> None:
    record = a_device(harness)
    udi, key = record.primary_di, (await harness.post("/v1/keys", await owner_pages.rest_session())).json()["api_key"]
    listed = list_certificate(harness, record, "Z-1", expiry="2027-02-20")
    await sweep(harness)
    await read_all_scopes(harness)
    await harness.post_watches(key, udi)
    lists = ListSteps(harness, await harness.sign_up("l@lists.example"))
    list_id = await lists.kept(f"Code\n{udi}\n")
    world.forgotten.add(record.uuid)
    harness.clock.move(60)
    assert (await harness.post_sync(key))["events"] == []
    assert not any((await certificate_words(owner_pages, key, udi, listed.uuid)).values())

    world.change_certificate(listed.uuid, status="withdrawn")
    await sweep(harness)
    await lists.follow()

    words = await certificate_words(owner_pages, key, udi, listed.uuid)
    assert all(words.values()), words
    [line] = await lists.lines(list_id)
    assert (line["listed"], line["certified_until"]) == (False, "")
    [event] = await harness.get_list(key, "events")
    assert [(each["field"], each["new"]) for each in event["changes"]] == [("cert_status", "Withdrawn")]
    [watch] = await harness.get_list(key, "watches")
    assert (watch["listed"], watch["health"]["state"]) == (False, "unknown"), "the device is as gone as it was"


async def test_a_certificate_of_a_device_that_is_gone_follows_the_list_where_nobody_watches_it(
    harness: ServiceHarness, world: ForgetfulWorld
) -> None:
    record = a_device(harness)
    listed = list_certificate(harness, record, "Z-1")
    await sweep(harness)
    await read_all_scopes(harness)
    await harness.get("/v1/refresh", q=record.primary_di)
    world.forgotten.add(record.uuid)
    harness.clock.move(60)
    await harness.get("/v1/refresh", q=record.primary_di)

    world.change_certificate(listed.uuid, status="withdrawn")
    await sweep(harness)

    device = (await harness.get(f"/v1/devices/{record.primary_di}")).json()
    assert (device["listed"], [each["status"] for each in device["certs"]]) == (False, ["Withdrawn"])


async def words_of(harness: ServiceHarness, key: str, udi: str) -> tuple[list[str], list[tuple[str, str]]]:
    """How a device has its certificates, and what its watch has been told of them."""
    device = (await harness.get(f"/v1/devices/{udi}")).json()
    events = [each for each in await harness.get_list(key, "events") if each["subject"] == udi]
    return [each["status"] for each in device["certs"]], [
        (change["field"], change["new"]) for event in reversed(events) for change in event["changes"]
    ]


WITHDRAWN = (["Withdrawn"], [("cert_status", "Withdrawn")])


@pytest.mark.parametrize("is_scoped", [True, False], ids=["its scope names the device", "the same number alone"])
async def test_a_certificate_in_the_record_of_a_device_that_is_gone_follows_the_registers_list_and_no_end_of_it_is_told(
    harness: ServiceHarness, world: ForgetfulWorld, *, is_scoped: bool
) -> None:
    record, owner = a_device(harness), await harness.sign_up()
    udi, key = record.primary_di, owner.api_key
    certify(harness, record, expiry="2027-02-20")
    differs = {} if is_scoped else {"basic_udis": (), "names_devices": False}
    listed = list_certificate(harness, record, NUMBER, expiry="2027-02-20", **differs)
    await sweep(harness)
    await read_all_scopes(harness)
    await harness.post_watches(key, udi)
    await harness.service.watches.expiry.run()
    world.forgotten.add(record.uuid)
    harness.clock.move(600)
    await harness.post_sync(key)

    world.change_certificate(listed.uuid, status="withdrawn")
    await sweep(harness)
    if not is_scoped:
        harness.clock.move(600)
        await harness.post_sync(key)  # the register denies the device again
    assert await words_of(harness, key, udi) == WITHDRAWN
    harness.clock.move(6 * DAY)
    await harness.service.watches.expiry.run()

    assert await words_of(harness, key, udi) == WITHDRAWN
    [watch] = await harness.get_list(key, "watches")
    assert (watch["listed"], watch["certificate_standing"]) == (False, "Withdrawn")


async def test_a_certificate_that_the_list_had_withdrawn_before_its_device_went_is_withdrawn_from_then_on(
    harness: ServiceHarness, world: ForgetfulWorld
) -> None:
    record, owner = a_device(harness), await harness.sign_up()
    certify(harness, record, expiry="2027-02-20")
    listed = list_certificate(harness, record, NUMBER, expiry="2027-02-20")
    await sweep(harness)
    await read_all_scopes(harness)
    await harness.post_watches(owner.api_key, record.primary_di)
    world.change_certificate(listed.uuid, status="withdrawn")
    await sweep(harness)
    assert await words_of(harness, owner.api_key, record.primary_di) == WITHDRAWN, "as a read of the device has it"

    world.forgotten.add(record.uuid)
    harness.clock.move(600)
    await harness.post_sync(owner.api_key)

    assert await words_of(harness, owner.api_key, record.primary_di) == WITHDRAWN
    assert 0 not in await tried_at(harness), "nothing of it is read next"


@pytest.mark.parametrize("place", [RECORD, SEARCH])
async def test_the_certificates_of_a_device_that_is_gone_follow_the_record_that_it_shared_and_none_comes_or_goes(
    harness: ServiceHarness, world: ForgetfulWorld, place: str
) -> None:
    record, owner = a_device(harness), await harness.sign_up()
    udi, key, sibling = record.primary_di, owner.api_key, sibling_udi_di(record.primary_di, 7)
    twin = world.register(replace(record, uuid=TWIN, primary_di=sibling))
    for each in record, twin:
        certify(harness, each, place)
    await harness.post_watches(key, udi, sibling)
    world.forgotten.add(record.uuid)
    harness.clock.move(600)
    await harness.post_sync(key)

    withdrawn = a_registered_certificate(NUMBER, place, expiry="2030-09-16", status="withdrawn")
    world.change(TWIN, certificates=(withdrawn, replace(withdrawn, number="Z-NEW")))
    await read(harness, sibling)

    assert await words_of(harness, key, udi) == WITHDRAWN
    world.change(TWIN, certificates=())
    await read(harness, sibling)
    assert await words_of(harness, key, udi) == WITHDRAWN


async def gone_with_a_certificate(
    harness: ServiceHarness, world: ForgetfulWorld, key: str, *, is_scoped: bool = True
) -> tuple[Registration, CertificateListing]:
    """A watched device that has gone, and the listed certificate that a search found for it before."""
    record = a_device(harness)
    listed = list_certificate(harness, record, "Z-A", expiry="2027-02-20", revision="01", names_devices=is_scoped)
    await sweep(harness)
    await read_all_scopes(harness)
    await harness.post_watches(key, record.primary_di)
    await harness.service.watches.expiry.run()
    world.forgotten.add(record.uuid)
    harness.clock.move(600)
    await harness.post_sync(key)
    return record, listed


async def a_month_ahead(harness: ServiceHarness, key: str) -> None:
    """The register is asked for watched devices, and ends are told on the day of the first report."""
    await harness.service.watches.recheck.run()
    harness.clock.move(6 * DAY)
    await harness.service.watches.expiry.run()
    await harness.post_sync(key)


@pytest.mark.parametrize("change", ["unlisted", "scope moved", "unlisted, found by a search alone"])
async def test_a_certificate_that_the_list_has_no_more_for_a_device_that_is_gone_is_gone_too_and_its_end_is_not_told(
    harness: ServiceHarness, world: ForgetfulWorld, change: str
) -> None:
    owner = await harness.sign_up()
    key, is_scoped = owner.api_key, "alone" not in change
    record, listed = await gone_with_a_certificate(harness, world, key, is_scoped=is_scoped)
    assert await words_of(harness, key, record.primary_di) == (["Issued"], [])

    if change == "scope moved":
        world.change_certificate(listed.uuid, basic_udis=("ANOTHER",))
    else:
        world.unlist_certificate(listed.uuid)
    await sweep(harness)
    await read_all_scopes(harness)
    await a_month_ahead(harness, key)

    assert await words_of(harness, key, record.primary_di) == ([], [])
    [item] = await harness.get_list(key, "items")
    assert (item["listed"], item["standing"]) == (False, "No longer listed")


async def test_a_certificate_that_the_list_renumbers_has_its_new_number_for_a_device_that_is_gone(
    harness: ServiceHarness, world: ForgetfulWorld
) -> None:
    owner = await harness.sign_up()
    record, listed = await gone_with_a_certificate(harness, world, owner.api_key)

    world.change_certificate(listed.uuid, number="Z-B", expiry="2031-01-01")
    await sweep(harness)
    await read_all_scopes(harness)
    await a_month_ahead(harness, owner.api_key)

    told = [("certificate", "Z-B"), ("cert_expiry", "2031-01-01")]
    assert await words_of(harness, owner.api_key, record.primary_di) == (["Issued"], told)
    assert await harness.get_list(owner.api_key, "items") == []


@pytest.mark.parametrize("is_scoped", [True, False], ids=["its scope names the device", "found by a search alone"])
async def test_a_certificate_that_the_list_goes_on_having_stays_with_a_device_that_is_gone_and_comes_back_with_it(
    harness: ServiceHarness, world: ForgetfulWorld, *, is_scoped: bool
) -> None:
    owner = await harness.sign_up()
    key = owner.api_key
    record, listed = await gone_with_a_certificate(harness, world, key, is_scoped=is_scoped)
    for _ in range(2):
        await sweep(harness)
        await read_all_scopes(harness)
        await harness.post_sync(key)
    await a_month_ahead(harness, key)

    ends = ("cert_ends", "in 30 days")
    assert await words_of(harness, key, record.primary_di) == (["Issued"], [ends])
    world.unlist_certificate(listed.uuid)
    await sweep(harness)
    await harness.service.watches.recheck.run()
    assert await words_of(harness, key, record.primary_di) == ([], [ends])

    again = list_certificate(harness, record, "Z-A", expiry="2027-02-20", revision="01", names_devices=is_scoped)
    await sweep(harness)
    world.forgotten.clear()
    harness.clock.move(600)
    await harness.post_sync(key)
    assert again.uuid != listed.uuid
    assert await words_of(harness, key, record.primary_di) == (["Issued"], [ends]), "as it was"
