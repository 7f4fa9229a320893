"""What a list shows and its row does not prove: left out of the copy until the record was read, and told then, once."""

from typing import Any

import pytest
from sqlalchemy import text

from registerwatch.copy.row_comparison import AGAIN_SECONDS
from registerwatch.ingest.sweeps.sweep_run import MAX_READS, RefutedValues
from registerwatch.platform.clock import iso_utc
from registerwatch.platform.structs import replace
from registerwatch.watches.reading.sweep_repository import FailedTry
from registerwatch.watches.reading.sweep_targets import MAX_WAIT_SECONDS, wait_seconds
from registerwatch_standins.register.records import Registration
from tests.mcp.messages import used
from tests.pages.account.pages_client import PagesClient
from tests.support.harness import EMAIL, PASSWORD, ServiceHarness
from tests.watches.sweep_steps import INTERVAL, OFF, ON, a_manufacturer, register_more, sweep, told

ON_MARKET = "On the EU market"
TWIN = "00000000-0000-4000-8000-000000009999"


async def watching_one(harness: ServiceHarness, **differs: Any) -> tuple[str, Registration]:
    """The key of an account that watches a device, which is on the market and was swept, and the device."""
    [device] = register_more(harness, a_manufacturer(harness), 1, status=ON, **differs)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, device.primary_di)
    await sweep(harness)
    return owner.api_key, device


async def leave_the_market(harness: ServiceHarness, device: Registration, kind: str) -> None:
    """Let a device of this kind leave the market, in a way that its rows alone do not prove."""
    if kind == "replaced":
        harness.world.register(replace(device, uuid=TWIN, status=OFF, version_number=device.version_number + 1))
        harness.world.change(device.uuid, latest_version=False)
    else:
        harness.world.change(device.uuid, status=OFF)


async def known_status(harness: ServiceHarness, device: Registration) -> str:
    """The market status of a device in the copy."""
    return str((await harness.get(f"/v1/devices/{device.primary_di}")).json()["status"])


def tries(harness: ServiceHarness) -> int:
    """Reads of a device in full that were begun since the last call."""
    requests = [request.kind for request in harness.register_log.requests]
    harness.register_log.clear()
    return requests.count("detail") + requests.count("basic")


@pytest.mark.parametrize(
    ("kind", "differs"), [("under a directive", {"legislation": "mdd"}), ("replaced", {"legislation": "mdr"})]
)
async def test_a_device_that_leaves_the_market_is_left_as_it_was_until_it_could_be_read_and_told_then_once(
    harness: ServiceHarness, kind: str, differs: dict[str, Any]
) -> None:
    api_key, device = await watching_one(harness, **differs)
    await leave_the_market(harness, device, kind)
    harness.faults.fail("detail", "http-503")
    harness.faults.fail("basic", "http-503")

    for _ in range(3):
        await sweep(harness)
        assert await harness.get_list(api_key, "events") == []
        assert await known_status(harness, device) == ON_MARKET
    [watch] = await harness.get_list(api_key, "watches")
    assert "status 503" in watch["last_error"]

    harness.faults.clear()
    harness.clock.move(MAX_WAIT_SECONDS)
    for _ in range(2):
        await sweep(harness)
    await harness.service.watches.recheck.run()
    [event] = await harness.get_list(api_key, "events")
    assert {"field": "status", "old": ON_MARKET, "new": "No longer placed on the EU market"} in event["changes"]


async def test_what_a_manufacturers_watch_was_told_is_said_on_the_page_of_a_device_that_could_not_be_read_since(
    harness: ServiceHarness,
) -> None:
    api_key, device = await watching_one(harness, legislation="mdd")
    await harness.post_watches(api_key, device.manufacturer.srn)
    await sweep(harness)
    harness.faults.fail("basic", "http-503")
    harness.world.change(device.uuid, status=OFF)
    await sweep(harness)

    assert await told(harness, api_key) == [{"devices_off_market": 1}]
    assert await of_pages(harness, device, ON_MARKET, "had this device off the EU market on") == {
        "who watches": (True, True),
        "a stranger": (True, False),
    }

    harness.faults.clear()
    harness.clock.move(MAX_WAIT_SECONDS)
    await sweep(harness)
    assert await of_pages(harness, device, "No longer placed on the EU market", "A newer list") == {
        "who watches": (True, False),
        "a stranger": (True, False),
    }


async def of_pages(harness: ServiceHarness, device: Registration, *texts: str) -> dict[str, tuple[bool, ...]]:
    """Which texts the page of a device has, for who watches it and for a stranger."""
    session = await harness.browser_session(EMAIL, PASSWORD)
    visitors = {"who watches": {"Cookie": f"session={session}"}, "a stranger": {}}
    pages = {
        who: (await harness.client.get(f"/d/{device.primary_di}", headers=headers)).text
        for who, headers in visitors.items()
    }
    return {who: tuple(each in page for each in texts) for who, page in pages.items()}


async def test_a_status_that_a_row_alone_brought_has_no_date_until_its_record_is_read(harness: ServiceHarness) -> None:
    account = PagesClient(harness)
    await account.sign_up()
    credential = await account.rest_session()
    manufacturer = a_manufacturer(harness)
    [device] = register_more(harness, manufacturer, 1, status=ON, status_date="2024-03-23", legislation="mdr")
    await harness.post_watches(credential, device.primary_di)
    [watch] = await harness.get_list(credential, "watches")
    pages = f"/d/{device.primary_di}", f"/app/watches/{watch['id']}"
    await sweep(harness)
    assert ["since 23 Mar 2024" in (await account.page(each)).main for each in pages] == [True, True]

    harness.faults.fail("basic", "http-503")
    harness.world.change(device.uuid, status=OFF, status_date="2027-01-14")
    await sweep(harness)

    [event] = await harness.get_list(credential, "events")
    assert {each["field"] for each in event["changes"]} == {"status", "version"}
    for each in pages:
        text = (await account.page(each)).main
        assert ("No longer placed on the EU market" in text, "since 23 Mar 2024" in text) == (True, False)
    served = (await harness.get(f"/v1/devices/{device.primary_di}")).json()
    former = {"status": "On the EU market", "status_code": f"refdata.device-model-status.{ON}", "date": "2024-03-23"}
    assert (served["status_code"].endswith(OFF), served["status_date"]) == (True, None)
    assert (served["former_status"], served["updated"]) == (former, None)
    history = (await harness.get(f"/v1/devices/{device.primary_di}/history")).json()
    assert {each["field"] for each in history["entries"][0]["changes"]} >= {"status"}
    assert not {"status_date", "former_status", "updated"} & {
        each["field"] for each in history["entries"][0]["changes"]
    }

    harness.faults.clear()
    harness.clock.move(MAX_WAIT_SECONDS)
    await sweep(harness)
    await harness.service.watches.recheck.run()
    [late, _] = await harness.get_list(credential, "events")
    assert late["changes"] == [{"field": "status_date", "old": "2024-03-23", "new": "2027-01-14"}]
    history = (await harness.get(f"/v1/devices/{device.primary_di}/history")).json()
    [dated] = [each for each in history["entries"][0]["changes"] if each["field"] == "status_date"]
    assert dated == {"field": "status_date", "old": "2024-03-23", "new": "2027-01-14"}
    assert "former_status" not in (await harness.get(f"/v1/devices/{device.primary_di}")).json()
    assert ["since 14 Jan 2027" in (await account.page(each)).main for each in pages] == [True, True]


async def test_a_record_whose_newer_version_a_list_shows_is_one_read_in_part_and_read_for_who_looks(
    harness: ServiceHarness,
) -> None:
    _, device = await watching_one(harness, legislation="mdr", status_date="2024-03-23")
    harness.faults.fail("basic", "http-503")
    harness.world.change(device.uuid, status=OFF, status_date="2027-01-14")
    await sweep(harness)
    harness.faults.clear()
    path = f"/v1/devices/{device.primary_di}"
    harness.register_log.clear()

    part = (await harness.get(path)).json()
    then = (await harness.get(f"{path}/history", at=iso_utc(harness.now))).json()
    page = (await harness.get(f"/d/{device.primary_di}")).text
    assert (part["complete"], part["missing"], then["missing"]) == (False, *[["dates", "names"]] * 2)
    assert part["version"] == then["device"]["version"]
    assert ("Read in part." in page, "newer version of this record" in page) == (True, True)

    await harness.finish_background_work()
    assert harness.register_log.kinds["detail"] == 1
    whole = (await used(harness, "get_device", udi=device.primary_di)).payload
    assert (whole["complete"], whole["missing"], whole["updated"] is None) == (True, [], False)
    [entry] = (await harness.get(f"{path}/history")).json()["entries"][:1]
    assert (entry["first_read"], [each["field"] for each in entry["changes"]]) == (["updated"], ["status_date"])


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_device_that_was_back_on_the_market_before_it_could_be_read_was_never_away(
    harness: ServiceHarness,
) -> None:
    api_key, device = await watching_one(harness, legislation="mdd")
    harness.faults.fail("basic", "http-503")
    harness.world.change(device.uuid, status=OFF)
    await sweep(harness)
    harness.world.change(device.uuid, status=ON)
    harness.faults.clear()
    harness.clock.move(MAX_WAIT_SECONDS)
    await sweep(harness)

    [event] = await harness.get_list(api_key, "events")
    assert [each["field"] for each in event["changes"]] == ["version"]
    history = (await harness.get(f"/v1/devices/{device.primary_di}/history")).json()
    assert "No longer placed" not in str(history)


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_device_that_cannot_be_read_is_tried_less_and_less_often_and_keeps_no_other_from_being_read(
    harness: ServiceHarness,
) -> None:
    api_key, device = await watching_one(harness, legislation="mdd")
    harness.world.change(device.uuid, status=OFF)
    harness.faults.fail("detail", "http-503", contains=device.uuid)
    tries(harness)

    tried = []
    for _ in range(24):
        await sweep(harness)
        tried.append(tries(harness) > 0)
    assert [place for place, was_tried in enumerate(tried) if was_tried] == [0, 1, 3, 7, 13, 19]

    [other] = register_more(harness, device, 1, first=1, legislation="mdd")
    await harness.post_watches(api_key, other.primary_di)
    harness.world.change(other.uuid, reference="NEW-1")
    await sweep(harness)
    [event] = await harness.get_list(api_key, "events")
    assert event["subject"] == other.primary_di


@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize("others", [0, 300], ids=["of their page", "of the next page"])
async def test_many_devices_that_cannot_be_read_keep_no_other_one_that_leaves_the_market_from_being_told(
    harness: ServiceHarness, others: int
) -> None:
    maker = a_manufacturer(harness)
    [sound] = register_more(harness, maker, 1, first=9_000, status=ON, legislation="mdd")
    register_more(harness, maker, others, first=1_000)
    failing = register_more(harness, maker, 2 * MAX_READS, status=ON, legislation="mdd")
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, *(each.primary_di for each in (*failing, sound)))
    await sweep(harness)
    for each in failing:
        harness.faults.fail("basic", "http-503", contains=each.uuid)
        harness.world.change(each.uuid, status=OFF)
    for _ in range(2):
        await sweep(harness)

    harness.world.change(sound.uuid, status=OFF)
    harness.clock.move(MAX_WAIT_SECONDS)
    await sweep(harness)

    assert {each["subject"] for each in await harness.get_list(owner.api_key, "events")} == {sound.primary_di}


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_of_what_cannot_be_read_that_is_tried_next_whose_last_try_was_first(harness: ServiceHarness) -> None:
    devices = register_more(harness, a_manufacturer(harness), 3, legislation="mdd")
    owner = await harness.sign_up()
    late, sound, early = [each.primary_di for each in devices]
    await harness.post_watches(owner.api_key, late, sound, early)
    for subject, tried_at in ((late, harness.now), (early, harness.now - 1)):
        async with harness.database.transaction() as connection:
            await connection.execute(
                text("UPDATE watches SET failing_since = :at, tried_at = :at, last_error = 'x' WHERE subject = :udi"),
                {"at": tried_at, "udi": subject},
            )
    harness.clock.move(MAX_WAIT_SECONDS)

    due = await harness.service.watches.sweep_targets.due([late, sound, early])
    assert (due.sound, due.failing) == ([sound], [early, late])


def test_tries_of_what_cannot_be_read_are_as_far_apart_as_it_could_not_be_read_and_an_hour_at_most() -> None:
    waits = [wait_seconds(FailedTry("", 1_000 + failing, 1_000)) for failing in (0, 700, 2_000, 86_400)]
    assert waits == [300, 700, 2_000, 3_600]


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_device_that_the_register_lists_no_more_is_not_read_again_for_a_detail_that_was_behind_its_row(
    harness: ServiceHarness,
) -> None:
    _, device = await watching_one(harness, legislation="mdr")
    behind = {"versionNumber": device.version_number}
    harness.to_register.rewrites["/devices/udiDiData/"] = lambda detail: {**detail, **behind}
    harness.world.change(device.uuid, reference="NEW-1")
    await sweep(harness)
    harness.world.remove(device.uuid)
    harness.clock.move(MAX_WAIT_SECONDS)
    await sweep(harness)
    assert "no longer lists" in (await harness.get("/v1/search", q=device.primary_di)).json()["error"]
    harness.register_log.clear()

    harness.clock.move(MAX_WAIT_SECONDS)
    await sweep(harness)

    assert len(harness.register_log.requests) == 1, "the search of the sweep alone"


async def watching_manufacturer(harness: ServiceHarness) -> tuple[str, Registration]:
    """The key of an account that watches a manufacturer whose record was just read, and a device of it."""
    device = a_manufacturer(harness)
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, device.manufacturer.srn)
    await sweep(harness)
    harness.register_log.clear()
    return owner.api_key, device


def actor_reads(harness: ServiceHarness) -> int:
    """Reads of actors' own records since the last call."""
    found = [request for request in harness.register_log.requests if request.kind == "actor-search"]
    harness.register_log.clear()
    return len(found)


async def test_another_name_and_another_status_of_a_manufacturer_are_told_minutes_after_its_record_was_read(
    harness: ServiceHarness,
) -> None:
    api_key, device = await watching_manufacturer(harness)

    for name in ("First name", "Second name"):
        harness.world.change_actor(device.manufacturer.srn, name=name)
        await sweep(harness)
    harness.world.change_actor(device.manufacturer.srn, status="inactive")
    await sweep(harness)

    told = [each["changes"] for each in reversed(await harness.get_list(api_key, "events"))]
    assert [(each["field"], each["new"]) for [each] in told] == [
        ("name", "First name"),
        ("name", "Second name"),
        ("manufacturer_status", "Inactive"),
    ]


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_list_that_repeats_what_the_record_has_refuted_is_asked_about_once_an_hour_and_another_value_at_once(
    harness: ServiceHarness,
) -> None:
    api_key, _ = await watching_manufacturer(harness)
    shown = {"name": "Former name"}

    def renamed(page: Any) -> Any:
        rows = [row | {"manufacturerName": shown["name"]} for row in page["content"]]
        return page | {"content": rows}

    harness.to_register.rewrites["size=300"] = renamed
    asked = []
    for _ in range(3600 // INTERVAL + 2):
        await sweep(harness)
        asked.append(actor_reads(harness))
    assert asked == [1, 0, 0, 0, 0, 0, 1, 0], "a second time after an hour"

    shown["name"] = "Another name"
    await sweep(harness)
    assert actor_reads(harness) == 1
    assert await harness.get_list(api_key, "events") == []


def test_values_that_were_refuted_are_known_for_an_hour_and_then_forgotten_with_whatever_is_noted_next() -> None:
    refuted, first, second = RefutedValues(), ("name", "First"), ("name", "Second")
    refuted.note("a", [first], 0)
    refuted.note("b", [second], AGAIN_SECONDS - 1)
    for srn, value in (("a", first), ("b", second)):
        assert refuted.of(srn, AGAIN_SECONDS - 1) == frozenset({value})
    assert refuted.of("a", AGAIN_SECONDS + 1) == frozenset()

    refuted.note("c", [], 2 * AGAIN_SECONDS)
    assert len(refuted) == 0
