"""What changed in devices and actors, over REST: pages, an instant, and what is not known."""

from typing import Any

import pytest
from sqlalchemy import text

from registerwatch.platform.clock import iso_utc
from registerwatch.platform.structs import replace
from tests.support.harness import NOW, UDI, ServiceHarness

DAY = 24 * 3600
NEW_UUID = "0f5c9a3e-6a51-4a0e-8a5b-0d6f4a1f7c11"


async def read_again(harness: ServiceHarness, code: str) -> None:
    """Read a subject from the register a day later."""
    harness.clock.move(DAY)
    await harness.get("/v1/refresh", q=code)


async def test_a_device_tells_what_changed_page_by_page_and_what_it_was(harness: ServiceHarness) -> None:
    [record] = harness.unique_devices(1)
    udi = record.primary_di
    address = f"/v1/devices/{udi}/history"
    first = (await harness.get(address)).json()
    assert (first["entries"], first["observed_since"], first["complete"]) == ([], iso_utc(NOW), True)
    assert first["records"] == [{"uuid": record.uuid, "observed_since": iso_utc(NOW), "current": True, "listed": True}]
    before = (await harness.get(f"/v1/devices/{udi}")).json()
    for number in range(3):
        harness.world.change(record.uuid, reference=f"REF-{number}")
        await read_again(harness, udi)

    told = (await harness.get(address, limit=2)).json()
    rest = (await harness.get(address, limit=2, before=told["entries"][-1]["id"])).json()

    def references(page: dict[str, Any]) -> list[Any]:
        changes = [each for entry in page["entries"] for each in entry["changes"] if each["field"] == "reference"]
        return [(each["old"], each["new"]) for each in changes]

    assert (references(told), told["more"]) == ([("REF-1", "REF-2"), ("REF-0", "REF-1")], True)
    assert (references(rest), rest["more"]) == ([(before["reference"], "REF-0")], False)
    assert told["entries"][0]["observed_at"] == iso_utc(NOW + 3 * DAY)
    assert told["entries"][0]["uuid"] == record.uuid

    then = (await harness.get(address, at=iso_utc(NOW + DAY - 1))).json()
    assert then["device"] == {name: before[name] for name in then["device"]}
    assert (then["note"], then["unchanged_since"], then["listed"], then["missing"]) == (None, iso_utc(NOW), True, [])
    day = (await harness.get(address, at=iso_utc(NOW + 2 * DAY)[:10])).json()
    assert day["device"]["reference"] == "REF-1"
    today = (await harness.get(address, at=iso_utc(harness.clock.now())[:10])).json()
    assert (today["device"]["reference"], today["at"]) == ("REF-2", iso_utc(harness.clock.now()))
    earlier = (await harness.get(address, at="2001-01-01")).json()
    assert (earlier["device"], earlier["listed"], earlier["unchanged_since"]) == (None, None, None)
    assert earlier["note"] == f"This service had not observed it yet. It has observed it since {iso_utc(NOW)}."


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_what_cannot_be_asked_is_refused_and_what_is_not_there_is_told_apart(harness: ServiceHarness) -> None:
    [record] = harness.unique_devices(1)
    srn, ahead = record.manufacturer.srn, iso_utc(NOW + 60)
    for address in (f"/v1/devices/{record.primary_di}/history", f"/v1/actors/{srn}/history"):
        for wrong in (
            f"at={ahead}",
            "at=2999-01-01",
            "at=yesterday",
            "at=2026-13-01",
            "before=7",
            "limit=0",
            "limit=999",
        ):
            answer = await harness.client.get(f"{address}?{wrong}")
            assert answer.status_code == 400, wrong
    assert (await harness.client.get(f"/v1/actors/{UDI}/history")).status_code == 400

    for code in (UDI, "DE-MF-000999999"):
        kind = "devices" if code == UDI else "actors"
        unknown = await harness.client.get(f"/v1/{kind}/{code}/history")
        assert (unknown.status_code, unknown.json()["error"][:20]) == (404, "The register has no ")
    harness.clock.move(120)
    harness.faults.fail("search", "http-500")
    # The devices of the actor whose history was asked for above may be read in the background.
    of_another = next(each for each in harness.unique_devices(120) if each.manufacturer.srn != srn)
    unread = await harness.client.get(f"/v1/devices/{of_another.primary_di}/history")
    assert unread.status_code == 404
    assert "could not be read" in unread.json()["error"]


async def test_a_record_that_is_listed_no_more_and_one_that_comes_back_are_told(harness: ServiceHarness) -> None:
    record, udi = replace(harness.unique_devices(1)[0], uuid=NEW_UUID, primary_di=UDI), UDI
    harness.world.register(record)
    await harness.get(f"/v1/devices/{udi}")
    harness.world.remove(record.uuid)
    await read_again(harness, udi)
    gone = (await harness.get(f"/v1/devices/{udi}/history")).json()
    harness.world.register(record)
    await read_again(harness, udi)

    back = (await harness.get(f"/v1/devices/{udi}/history", at=iso_utc(NOW + DAY))).json()

    assert [each["listed"] for each in gone["records"]] == [False]
    assert {"field": "listed", "old": True, "new": False} in gone["entries"][0]["changes"]
    assert {"field": "listed", "old": False, "new": True} in back["entries"][0]["changes"]
    assert (back["listed"], back["device"]["udi"], back["records"][0]["listed"]) == (False, udi, True)


async def test_an_actor_tells_its_changes_and_those_of_its_portfolio_to_who_watches_it(harness: ServiceHarness) -> None:
    [record] = harness.unique_devices(1)
    srn, name = record.manufacturer.srn, record.manufacturer.name
    await harness.get(f"/v1/actors/{srn}")
    harness.world.change_actor(srn, name="Another AG")
    await read_again(harness, srn)
    async with harness.service.database.transaction() as connection:
        for number in range(60):
            await connection.execute(
                text(
                    "INSERT INTO portfolio_news (srn, primary_di, name, change, found_at, visible_at)"
                    " VALUES (:srn, :udi, 'Clamp', 'registered', :at, :at)"
                ),
                {"srn": srn, "udi": f"di-{number}", "at": NOW + 3600},
            )

    answer = await harness.get(f"/v1/actors/{srn}/history", at=iso_utc(NOW + 7200))
    told = answer.json()
    history = harness.service.history
    whole = await history.actor(srn, is_watched=True)

    assert [[each["field"] for each in entry["changes"]] for entry in told["entries"]] == [["name"], []]
    assert "device_total" in told["entries"][1]["first_read"]
    assert [[each.field for each in entry.change.changes] for entry in whole.entries] == [
        ["name"],
        ["devices_registered"],
        [],
    ]
    portfolio = whole.entries[1]
    assert (portfolio.change.changes[0].new, len(portfolio.devices), portfolio.devices[0]) == (
        60,
        50,
        ("di-0", "Clamp"),
    )
    assert (told["actor"]["name"], told["note"]) == (name, None)
    first = await history.actor(srn, limit=1, is_watched=True)
    second = await history.actor(srn, limit=1, before=str(first.entries[0].cursor), is_watched=True)
    assert [first.entries[0], second.entries[0]] == list(whole.entries[:2])
    assert (first.more, second.more, whole.more) == (True, True, False)
    tag = {"If-None-Match": answer.headers["etag"]}
    again = await harness.client.get(f"/v1/actors/{srn}/history?at={iso_utc(NOW + 7200)}", headers=tag)
    assert again.status_code == 304
