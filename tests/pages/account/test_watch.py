"""The page of one watch, walked through its states."""

import csv
import io
from typing import Any

import pytest
from sqlalchemy import update

from registerwatch.register.codes import StatusFilter, label
from registerwatch.watches import repository
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events import event_repository
from registerwatch.watches.events.event_repository import NewEvent
from registerwatch.watches.models import NO_CERTIFICATES, NOT_REGISTERED
from registerwatch.watches.options import WatchOptions
from registerwatch.watches.questions.timeline import PAGE_LENGTH
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.snapshot import encoded
from registerwatch.watches.tables import watches
from tests.pages.account.pages_client import PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.register.builders import UDI, a_full_reading, a_udi
from tests.register.certificate_rows import a_certificate, a_refusal, note_walk, store_certificates
from tests.support.harness import EMAIL, SRN, ServiceHarness
from tests.support.statements import counted_statements
from tests.watches.builders import a_certificate as a_seen_certificate
from tests.watches.builders import a_snapshot
from tests.watches.certificate_steps import NUMBER, certify, read

LONG = "Catheter for the temporary drainage of urine, sterile, with a coating"
HOSTILE = '<b>"=1+1</b>\u202e'
OPTIONS = ("notifies", "portfolio", "certificates")


async def watch_of(pages: PagesClient, subject: str) -> str:
    """The address of a new watch."""
    response = await pages.post("/app/watches/add", subject=subject)
    return str(response.headers["location"]).partition("?")[0]


async def test_a_watch_shows_its_record_what_happened_and_what_people_set(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    [device] = harness.unique_devices(1)
    address = await watch_of(owner_pages, device.primary_di)
    fresh = await owner_pages.page(f"{address}?done=added")
    assert accessibility_problems(fresh) == []
    assert "There was no event since you watch it" in fresh.main
    assert fresh.facts["Catalogue reference"] == (device.reference or "Not given")
    assert fresh.facts["Read from the register"] == "15 Jan 2027, 08:00"
    assert fresh.link("Its public page") == f"/d/{device.primary_di}"

    harness.world.change(device.uuid, reference=LONG)
    harness.clock.move(86_400)
    page = await owner_pages.follow(await owner_pages.post(f"{address}/read"))
    assert "Something changed: see the timeline." in page.main
    harness.world.change(device.uuid, reference=LONG.replace("temporary", "long-term"))
    harness.clock.move(86_400)
    page = await owner_pages.follow(await owner_pages.post(f"{address}/read"))
    assert ([each.text for each in page.all("del")], [each.text for each in page.all("ins")]) == (
        ["temporary"],
        ["long-term"],
    )
    harness.faults.fail("any", "http-500")
    for _ in range(3):
        harness.clock.move(60)
        page = await owner_pages.follow(await owner_pages.post(f"{address}/read"))

    assert accessibility_problems(page) == []
    assert "It could not be read just now." in page.main
    assert "! Last read failed" in page.main
    listed = await owner_pages.page("/app/watches", state="ok")
    assert listed.rows[0][5] == "! Last read failed 17 Jan 2027"
    [in_file] = csv.DictReader(io.StringIO((await owner_pages.get("/app/watches.csv")).text.removeprefix("\ufeff")))
    assert in_file["Read state"] == "Last read failed"
    assert "Not read, 3 times" in page.main
    assert [each.text for each in page.all("h3")] == ["17 Jan 2027", "16 Jan 2027"]
    assert [row[0] for row in page.rows[-2:]] == ["Catalogue reference", "Version of the record"]
    assert "2 that you have not seen" in page.main
    page = await owner_pages.follow(
        await owner_pages.post(f"{address}/seen", through=page.one("input", name="through")["value"])
    )
    assert "Marked as seen: 2." in page.main
    assert "not seen" not in page.main
    with counted_statements() as statements:
        await owner_pages.page(address)
    assert len(statements) <= 12
    await harness.finish_background_work()


async def test_a_value_that_the_record_lost_is_shown_no_more_makes_no_event_and_is_compared_when_another_comes(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    [device] = harness.unique_devices(1)
    harness.world.change(device.uuid, reference="R-1", trade_names={"en": "Stem"})
    address = await watch_of(owner_pages, device.primary_di)
    assert (await owner_pages.page(address)).facts["Catalogue reference"] == "R-1"

    harness.world.change(device.uuid, reference="", trade_names=None)
    harness.clock.move(60)
    page = await owner_pages.follow(await owner_pages.post(f"{address}/read"))

    public = Markup.of(await harness.client.get(f"/d/{device.primary_di}"))
    assert page.facts["Catalogue reference"] == public.facts["Catalogue reference"] == "Not given"
    assert page.facts["Trade name"] == "Not given"
    assert "Stem" not in page.one("h1").text
    assert [row[0] for row in page.rows] == ["Version of the record"], "no event has what is gone"
    harness.world.change(device.uuid, reference="R-2")
    harness.clock.move(60)
    page = await owner_pages.follow(await owner_pages.post(f"{address}/read"))
    assert page.facts["Catalogue reference"] == "R-2"
    assert [row for row in page.rows if row[0] == "Catalogue reference"] == [["Catalogue reference", "R-1", "R-2"]]
    await harness.finish_background_work()


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_certificate_whose_record_says_withdrawn_no_more_stands_alike_for_all_who_watch_it_before_and_after(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    device = next(each for each in harness.unique_devices(60) if each.basic_udi and not each.certificates)
    certify(harness, device, status="withdrawn")
    address = await watch_of(owner_pages, device.primary_di)
    assert "✕ Certificate withdrawn" in (await owner_pages.page(address)).main
    certify(harness, device, status="")
    harness.clock.move(60)
    page = await owner_pages.follow(await owner_pages.post(f"{address}/read"))
    later = PagesClient(harness)
    await later.sign_up("later@acme.example")
    later_address = await watch_of(later, device.primary_di)

    assert page.facts["Certificates"] == "✓ Valid Covered until 16 Sep 2030"
    assert "The register gives no status now; the last was: withdrawn." in page.main
    assert page.rows[1:] == [], "no event has what is gone"
    for pages, own in ((owner_pages, address), (later, later_address)):
        assert (await pages.page(own)).facts["Certificates"] == page.facts["Certificates"]
        assert (await pages.page("/app/watches")).rows[0][4].startswith("On the EU market Class")
        assert "Withdrawn" not in (await pages.get("/app/watches.csv")).text
        assert (await pages.page("/app/certificates")).rows[0][2].startswith("✓ Valid")
        key = (await harness.post("/v1/keys", await pages.rest_session(), label="tests")).json()["api_key"]
        [watch] = await harness.get_list(key, "watches")
        assert watch["certificate_standing"] == "Valid"

    certify(harness, device, status="withdrawn")
    harness.clock.move(60)
    await owner_pages.post(f"{address}/read")
    for pages in (owner_pages, later):
        [event] = await harness.events(await pages.caller())
        assert (event.changes, event.severity) == ([FieldChange("cert_status", "", "Withdrawn", NUMBER)], "high")
    await later.client.aclose()
    await harness.finish_background_work()


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_certificate_whose_record_has_lost_its_revision_has_none_on_any_surface_and_keeps_its_last_status(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    device = next(each for each in harness.unique_devices(60) if each.basic_udi and not each.certificates)
    soon = "2027-03-20"
    certify(harness, device, revision="01", status="withdrawn", expiry=soon)
    address = await watch_of(owner_pages, device.primary_di)
    certify(harness, device, revision=None, status="", expiry=soon)
    harness.clock.move(60)
    page = await owner_pages.follow(await owner_pages.post(f"{address}/read"))
    key = (await harness.post("/v1/keys", await owner_pages.rest_session(), label="tests")).json()["api_key"]
    feed = (await harness.post("/v1/feeds", key)).json()["feed"]["expiring"]

    [of_v1] = (await harness.get(f"/v1/devices/{device.primary_di}")).json()["certs"]
    [ending] = await harness.get_list(key, "items")
    texts = {
        "watch": page.main,
        "certificates": (await owner_pages.page("/app/certificates")).main,
        "its file": (await owner_pages.get("/app/certificates.csv")).text,
        "watches": (await owner_pages.get("/app/watches.csv")).text,
        "calendar": (await harness.client.get(feed)).text,
    }

    assert (of_v1["number"], of_v1["revision"], ending["certificate"], ending.get("revision")) == (
        NUMBER,
        "",
        NUMBER,
        None,
    )
    for surface, text in texts.items():
        assert NUMBER in text, surface
        assert "evision 01" not in text, surface
        assert f"{NUMBER},01," not in text, surface
    assert "The register gives no status now; the last was: withdrawn." in page.main
    assert await harness.events(await owner_pages.caller()) == []
    await harness.finish_background_work()


async def test_a_read_that_could_not_read_certificates_is_no_failed_one(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    [device] = harness.unique_devices(1)
    address = await watch_of(owner_pages, device.primary_di)
    partial = {"last_error": NO_CERTIFICATES, "failing_since": int(harness.now)}
    async with harness.database.transaction() as connection:
        await connection.execute(update(watches).values(partial))

    page, listed = await owner_pages.page(address), await owner_pages.page("/app/watches")

    assert "! Last read was in part" in page.main
    assert "Last read failed" not in page.main
    assert listed.rows[0][5].startswith("! Last read was in part ")
    await harness.finish_background_work()


async def test_what_people_set_is_saved_or_stays_in_the_form(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    [device] = harness.unique_devices(1)
    address = await watch_of(owner_pages, device.primary_di)

    saved = await owner_pages.post(address, name=HOSTILE, tags=f"ICU, {HOSTILE}", notes=f"{HOSTILE}\nline", notifies="")
    page = await owner_pages.follow(saved)

    assert "Saved." in page.main
    assert page.one("h1").text == '<b>"=1+1</b>'
    assert page.one("textarea", id="notes").text == '<b>"=1+1</b> line'
    assert [each.text for each in page.all("a") if each.attributes.get("class") == "tag"] == ['<b>"=1+1</b>', "ICU"]
    assert "Sent to no webhook" in page.main
    assert "checked" not in page.one("input", id="notifies").attributes
    assert accessibility_problems(page) == []

    wrong = await owner_pages.post(address, name="New", tags="x" * 41, notes="y" * 4_001, notifies="yes")
    page = Markup.of(wrong)
    assert wrong.status_code == 400
    assert accessibility_problems(page) == []
    assert [page.one("input", id="name")["value"], page.one("input", id="tags")["value"]] == ["New", "x" * 41]
    assert page.one("textarea", id="notes").text == "y" * 4_001
    assert "A tag has at most 40 characters" in page.one("p", id="tags-problem").text
    assert "4,001 characters; 4,000 fit" in page.one("p", id="notes-problem").text
    many = Markup.of(await owner_pages.post(address, tags=",".join(map(str, range(21)))))
    assert "at most 20 tags" in many.one("p", id="tags-problem").text
    assert (await owner_pages.page(address)).one("h1").text == '<b>"=1+1</b>'
    harness.clock.move(8 * 86_400)
    ended = Markup.of(await owner_pages.post(address, name="Late", notes="Typed for long"))
    assert "Not saved. The account's period has ended." in ended.main
    assert ended.one("textarea", id="notes").text == "Typed for long"
    assert "Read it now" not in ended.main
    await harness.finish_background_work()


async def test_a_watch_whose_period_has_ended_shows_what_was_read_for_it_and_leads_to_what_was_read_since(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    [device] = harness.separate_devices(1)
    certify(harness, device)
    harness.world.change(device.uuid, reference="BEFORE")
    address = await watch_of(owner_pages, device.primary_di)
    harness.clock.move(8 * 86_400)
    certify(harness, device, status="withdrawn")
    harness.world.change(device.uuid, reference="AFTER")
    await read(harness, device.primary_di)

    page = await owner_pages.page(address)

    assert accessibility_problems(page) == []
    assert [each.text for each in page.all("h2")][:2] == [
        "The record as it was last read for this watch",
        "Certificates",
    ]
    assert (
        "This watch stopped on 22 Jan 2027, 08:00, when the period of the account ended. What is here was read for"
        " it on 15 Jan 2027, 08:00; what was read since is not shown here. Its public page has what is known now."
    ) in page.main
    assert page.link("Its public page") == f"/d/{device.primary_di}"
    assert page.facts["Catalogue reference"] == "BEFORE"
    assert page.facts["Certificates"].startswith("✓ Valid")
    [row] = [row for row in page.rows if row[0].startswith(NUMBER)]
    assert row[1:3] == ["✓ Valid register: issued Counts as valid", "16 Sep 2030 in 1,332 days"]
    assert row[4] == "In the record of this device"
    assert "ithdrawn" not in page.main
    assert "Certificates read" not in page.facts
    public = Markup.of(await harness.client.get(f"/d/{device.primary_di}"))
    assert "✕ Withdrawn" in public.facts["Certificates"]
    await harness.service.accounts.admin.set_period(EMAIL, None, int(harness.now) + 86_400)
    assert "The record now" in (await owner_pages.page(address)).main
    await harness.finish_background_work()


@pytest.mark.parametrize("was_read", [True, False])
async def test_a_stopped_watch_of_a_manufacturer_or_one_that_was_never_read_shows_nothing_of_the_copy(
    harness: ServiceHarness, owner_pages: PagesClient, was_read: bool
) -> None:
    srn = harness.unique_devices(1)[0].manufacturer.srn
    if not was_read:
        harness.faults.fail("any", "http-500")
    address = await watch_of(owner_pages, srn)
    harness.faults.clear()
    harness.clock.move(8 * 86_400)
    await store_certificates(harness.database, a_certificate(1, srn=srn))
    await note_walk(harness.database)
    await read(harness, srn)

    page = await owner_pages.page(address)

    assert accessibility_problems(page) == []
    assert "This watch stopped on 22 Jan 2027" in page.main
    assert ("Registered devices" in page.facts) is was_read
    assert ("Nothing was read for it before." in page.main) is not was_read
    assert "tried again" not in page.main
    assert "Z-25-001" not in page.main
    assert page.link("Its public page") == f"/a/{srn}"


async def test_a_watch_of_another_account_and_none_at_all_are_the_same(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    address = await watch_of(owner_pages, "DE-MF-000012345")
    other = PagesClient(harness)
    await other.sign_up("other@acme.example")
    before = harness.all_rows()["watches"]

    answers = [
        (response.status_code, Markup.of(response).main)
        for path in (address, "/app/watches/999999", f"/app/watches/{'9' * 30}")
        for response in (
            await other.get(path),
            await other.get(f"{path}/stop"),
            await other.post(path, name="Theirs"),
            await other.post(f"{path}/read"),
        )
    ]

    assert len(set(answers)) == 1
    assert answers[0][0] == 404
    await other.post(f"{address}/stop")
    assert harness.all_rows()["watches"] == before
    assert (await other.get("/app/watches/word")).status_code == 404
    assert (await owner_pages.get(f"{address}?before=x")).status_code == 400
    await other.client.aclose()


async def test_who_stops_watching_is_asked_once_and_the_events_stay(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    [device] = harness.unique_devices(1)
    address = await watch_of(owner_pages, device.primary_di)
    harness.world.change(device.uuid, reference="NEW-1")
    harness.clock.move(60)
    await owner_pages.post(f"{address}/read")

    asked = await owner_pages.page(f"{address}/stop")
    assert accessibility_problems(asked) == []
    assert "stay under Events" in asked.main
    stopped = await owner_pages.post(f"{address}/stop")

    assert stopped.headers["location"] == "/app/watches?done=removed"
    assert (await owner_pages.get(address)).status_code == 404
    assert len(await harness.events(await owner_pages.caller())) == 1
    assert (await owner_pages.post(f"{address}/stop")).status_code == 303


async def test_what_was_never_read_and_what_is_long_are_shown_by_pages(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    unknown = await watch_of(owner_pages, "04099999999992")
    page = await owner_pages.page(unknown)
    assert "Not in the register" in page.main
    assert "The register has no such record" in page.main
    assert accessibility_problems(page) == []
    [device] = harness.unique_devices(1)
    address = await watch_of(owner_pages, device.primary_di)
    caller = await owner_pages.caller()
    for number in range(PAGE_LENGTH + 1):
        harness.world.change(device.uuid, reference=f"R-{number}")
        harness.clock.move(3_600)
        await harness.service.watches.sync.sync(caller)

    first = await owner_pages.page(address)
    assert len([each for each in first.all("li") if "id" in each.attributes]) == PAGE_LENGTH
    second = await owner_pages.page(first.link("Earlier →"))
    assert second.rows[0][2] == "R-0"
    assert second.link("← Newest") == f"{address}#timeline"
    assert len((await owner_pages.get(address)).content) < 40_000
    await harness.finish_background_work()


async def test_before_its_first_read_a_watch_shows_what_the_copy_has(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    await harness.fill_copy()
    [device] = harness.unique_devices(1)
    await harness.post("/v1/import", await owner_pages.rest_session(), csv=device.primary_di)
    harness.faults.fail("any", "http-500")

    page = await owner_pages.page("/app/watches/1")

    assert accessibility_problems(page) == []
    assert "Not read yet" in page.main
    assert "This is what the stored copy has" in page.main
    assert page.facts["Catalogue reference"] == (device.reference or "Not given")
    assert page.facts["Read from the register"].endswith("into the copy, not for this watch")
    assert page.facts["Certificates read"].startswith("Not yet")
    assert page.facts["Never read"] == "Certificates and dates and names"
    await harness.finish_background_work()


async def test_a_certificate_that_was_seen_once_and_is_no_longer_listed_is_said_beside_how_the_device_stands(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    gone = a_seen_certificate(expiry="2029-01-01", is_gone=True)
    await harness.store(a_full_reading(udi=UDI))
    caller, new = await owner_pages.caller(), NewWatch(UDI, "Stent", encoded(a_snapshot(gone)), harness.now)
    async with harness.database.transaction() as connection:
        await repository.add(connection, caller.account.id, [new], harness.now)

    page = await owner_pages.page("/app/watches/1")

    earlier = "! An earlier certificate is no longer listed"
    assert "Certificates" not in page.facts
    assert earlier in page.main
    assert "It named Z-1 (end date 1 Jan 2029) earlier and no longer does" in page.main
    assert earlier in (await owner_pages.page("/app/watches")).main
    [gap] = (await owner_pages.page("/app/certificates", view="gaps")).rows
    assert gap[2] == f"The register lists none{earlier[2:]}"
    [certificate] = (await owner_pages.page("/app/certificates")).rows
    assert certificate[2].startswith("✕ No longer listed")
    [watch] = await harness.get_list(await owner_pages.rest_session(), "watches")
    assert (watch["certificate"], watch["certificate_listed"]) == (gone.number, False)


async def watch_what_left_the_register(
    harness: ServiceHarness, owner_pages: PagesClient, read: dict[str, Any], *new: NewWatch
) -> None:
    """Watch a device that was read once and left the register, and what else the register does not have."""
    await harness.store(a_full_reading(udi=UDI, **read))
    since = (await harness.service.records.state()).revision
    await harness.service.records.delist(UDI, read_at=harness.now, since=since)
    caller = await owner_pages.caller()
    async with harness.database.transaction() as connection:
        await repository.add(connection, caller.account.id, new, harness.now)
        await connection.execute(update(watches).values(last_error=NOT_REGISTERED))


async def test_a_device_that_has_left_the_register_is_no_longer_listed_wherever_it_is_shown(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    market: dict[str, Any] = {"status": "On the EU market", "status_code": StatusFilter.ON.code}
    seen = a_snapshot(a_seen_certificate(expiry="2029-01-01"), **market)
    await watch_what_left_the_register(harness, owner_pages, market, NewWatch(UDI, "Stent", encoded(seen), harness.now))

    watch, public = await owner_pages.page("/app/watches/1"), Markup.of(await harness.get(f"/d/{UDI}"))
    listed = await owner_pages.page("/app/watches")

    last = "! No longer listed When it was last listed: On the EU market"
    assert watch.facts["Market status"] == public.facts["Market status"] == last
    assert all("No longer listed." in each.main for each in (watch, public))
    assert not any("✓ On the EU market" in each.main for each in (watch, public))
    assert listed.rows[0][4:6] == ["", "! No longer listed 15 Jan 2027"]
    files = [(await owner_pages.get(f"/app/{name}.csv")).text for name in ("watches", "certificates")]
    assert "No longer listed" in files[0]
    assert "On the EU market" not in files[0]
    assert "device no longer listed" in files[1]


@pytest.mark.parametrize("market", [StatusFilter.ON, StatusFilter.OFF, StatusFilter.NOT_EU])
async def test_a_device_that_has_left_the_register_is_that_alone_whatever_its_market_status_was(
    harness: ServiceHarness, owner_pages: PagesClient, market: StatusFilter
) -> None:
    told: dict[str, Any] = {"status": label(market.code), "status_code": market.code}
    seen = a_snapshot(a_seen_certificate(expiry="2027-02-01"), **told)
    new = [NewWatch(UDI, "Stent", encoded(seen), harness.now), NewWatch(a_udi(5), "Never listed")]
    await watch_what_left_the_register(harness, owner_pages, told, *new)

    watch, listed = await owner_pages.page("/app/watches/1"), await owner_pages.page("/app/watches", sort="-name")
    today = await owner_pages.page("/app")

    ending = "! Certificate ends within 90 days"
    assert f"{ending} ! No longer listed" in watch.main
    assert watch.main.count(told["status"]) == 1, "when it was last listed"
    assert listed.rows[0][4] == ending
    assert "Watches 2 1 not in the register, 1 no longer listed Certificates" in today.main
    assert today.rows[0][1] == "Stent ! No longer listed"
    [certificate] = (await owner_pages.page("/app/certificates")).rows
    assert "! No longer listed" in " ".join(certificate)


async def test_the_watch_of_a_manufacturer_has_options_and_names_its_devices(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    address = await watch_of(owner_pages, SRN)
    caller, watch_id = await owner_pages.caller(), int(address.rpartition("/")[2])
    named = [FieldChange("device_off_market", "", HOSTILE, device=f"04{number}") for number in range(50)]
    changes = [FieldChange("devices_off_market", "", "51"), *named]
    new = NewEvent(caller.account.id, watch_id, SRN, "Acme", "", changes, False)
    async with harness.database.transaction() as connection:
        await event_repository.add_events(connection, [new], harness.now)

    page = await owner_pages.page(address)
    assert "and 1 more" in page.main
    assert len([each for each in page.all("a") if (each.attributes.get("href") or "").startswith("/d/04")]) == 50
    assert ["checked" in page.one("input", name=name).attributes for name in OPTIONS] == [True] * 3
    assert accessibility_problems(page) == []

    page = await owner_pages.follow(await owner_pages.post(address, name="", tags="", notes="", certificates="yes"))
    assert ["checked" in page.one("input", name=name).attributes for name in OPTIONS] == [False, False, True]
    assert "Without its devices" in page.main
    watch = await harness.watch(caller, SRN)
    assert watch.options == WatchOptions(notifies=False, portfolio=False)
    await harness.finish_background_work()


async def test_the_form_of_a_device_keeps_the_options_that_it_does_not_show(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    [device] = harness.unique_devices(1)
    page = await owner_pages.page(await watch_of(owner_pages, device.primary_di))

    hidden = {each["name"]: each["value"] for each in page.all("input", type="hidden")}

    assert {name: hidden.get(name) for name in OPTIONS} == {"notifies": None, "portfolio": "yes", "certificates": "yes"}
    await harness.finish_background_work()


async def test_the_watch_of_a_manufacturer_shows_the_certificates_of_that_manufacturer(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    [device] = harness.unique_devices(1)
    address = await watch_of(owner_pages, device.manufacturer.srn)
    before = await owner_pages.page(address)
    await note_walk(harness.database)
    rows = [a_certificate(number, srn=device.manufacturer.srn, actor_name=HOSTILE) for number in range(12)]
    refused = a_refusal(1, srn=device.manufacturer.srn, reference=HOSTILE)
    await store_certificates(harness.database, *rows, a_certificate(77), refused=(refused,))

    page = await owner_pages.page(address)

    assert "Not read yet. The register’s list of certificates has not been read yet." in before.main
    assert accessibility_problems(page) == []
    assert len([row for row in page.rows if row[0].startswith("Z-25-0")]) == 10
    assert "10 of 12 certificates, those in force first" in page.main
    assert page.link("More on its public page") == f"/a/{device.manufacturer.srn}#certificates"
    assert HOSTILE.replace("\u202e", "") in page.main
