"""Feeds as readers and calendars use them: entries by cause, pages, conditional requests, alarms."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import httpx2
from sqlalchemy import text

from registerwatch.accounts.sessions.credentials import credential_of
from registerwatch.platform.structs import replace
from registerwatch.register.codes import ACTOR_STATUS_PREFIX
from registerwatch.register.observation import ReadContext
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events import event_repository
from registerwatch.watches.events.event_repository import NewEvent
from tests.notifications.feeds.feed_reader import Entry, ReadFeed, days_of, feed_of
from tests.pages.account.pages_client import PagesClient
from tests.register.builders import a_full_reading, a_udi
from tests.support.harness import SRN, UDI, NewAccount, ServiceHarness, auth_headers

WITHDRAWN = FieldChange("cert_status", "Issued", "Withdrawn", "Z-1")
RENAMED = FieldChange("reference", "R-1", "R-2")


async def addresses(harness: ServiceHarness, owner: NewAccount) -> tuple[str, str]:
    """A new feed's addresses of changes and of the calendar."""
    feed = (await harness.post("/v1/feeds", owner.api_key)).json()["feed"]
    return feed["events"], feed["expiring"]


async def get(harness: ServiceHarness, address: str, tag: str = "") -> httpx2.Response:
    parts = urlsplit(address)
    return await harness.client.get(f"{parts.path}?{parts.query}", headers={"If-None-Match": tag} if tag else {})


async def read(harness: ServiceHarness, address: str) -> ReadFeed:
    answer = await get(harness, address)
    assert answer.status_code == 200, answer.text
    found = feed_of(answer.content)
    assert found.problem is None
    return found


async def store(harness: ServiceHarness, owner: NewAccount, *changes: FieldChange, subject: str = "A1") -> None:
    """Store an event for each change."""
    caller = await harness.service.accounts.sessions.caller(credential_of(owner.api_key, None))
    new = [NewEvent(caller.account.id, 1, subject, "Label", "a: b → c", [each], False) for each in changes]
    async with harness.database.transaction() as connection:
        await event_repository.add_events(connection, new, harness.now)


async def a_manufacturer_whose_devices_are_watched(harness: ServiceHarness, owner: NewAccount) -> tuple[str, int]:
    """The SRN, and how many of its devices the account watches."""
    devices = harness.unique_devices(120)
    [(srn, _)] = Counter(each.manufacturer.srn for each in devices).most_common(1)
    watched = [each.primary_di for each in devices if each.manufacturer.srn == srn][:12]
    await harness.post_watches(owner.api_key, *watched)
    return srn, len(watched)


async def test_a_new_status_of_a_manufacturer_is_one_entry_however_many_of_its_devices_are_watched(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    srn, number = await a_manufacturer_whose_devices_are_watched(harness, owner)
    other = await harness.sign_up("other@other.example")
    await a_manufacturer_whose_devices_are_watched(harness, other)
    changes, theirs = (await addresses(harness, owner))[0], (await addresses(harness, other))[0]
    harness.world.change_actor(srn, status="inactive")
    harness.clock.move(60)

    await harness.post_sync(owner.api_key)

    assert len((await read(harness, theirs)).entries) == 1, "whose ever the sync was"
    events = await harness.get_list(owner.api_key, "events")
    assert len(events) == number > 2, "each watch has its own"
    assert {event["summary"] for event in events} == {"manufacturer_status: Active → Inactive"}
    [entry] = (await read(harness, changes)).entries
    assert entry.title == f"Manufacturer {srn} ({number} watches): Manufacturer status: Active → Inactive"
    assert entry.link.endswith(f"/a/{srn}")
    assert entry.terms == ["record", "medium"]
    for event in events:
        assert event["subject"] in entry.text


async def test_the_same_change_seen_by_the_next_run_is_an_entry_of_its_own(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    srn, number = await a_manufacturer_whose_devices_are_watched(harness, owner)
    changes, _ = await addresses(harness, owner)
    for status in ("inactive", "active"):
        harness.world.change_actor(srn, status=status)
        harness.clock.move(60)
        await harness.post_sync(owner.api_key)

    entries = (await read(harness, changes)).entries

    assert ["Inactive → Active" in each.title for each in entries] == [True, False]
    assert len({each.id for each in entries}) == 2
    assert len(await harness.get_list(owner.api_key, "events")) == 2 * number


async def test_an_entry_stays_the_same_one_while_the_run_goes_on(harness: ServiceHarness, owner: NewAccount) -> None:
    devices = {f"u-{number}": a_udi(number) for number in range(3)}
    await harness.post("/v1/import", owner.api_key, csv="\n".join(devices.values()))
    changes, _ = await addresses(harness, owner)
    context = ReadContext(held_until=harness.now + 900, is_recheck=True)
    seen: list[Entry] = []
    for status in ("active", "inactive"):
        for uuid, udi in devices.items():
            code = ACTOR_STATUS_PREFIX + status
            reading = a_full_reading(
                uuid,
                udi,
                version=1,
                manufacturer_srn=SRN,
                manufacturer_status=status.capitalize(),
                manufacturer_status_code=code,
            )
            await harness.store(reading, context=context)
            seen += (await read(harness, changes)).entries

    assert len({entry.id for entry in seen}) == 1
    assert [f"{number} watches" in entry.title for number, entry in enumerate(seen, start=1)] == [False, True, True]


async def test_a_device_that_changed_by_itself_too_has_an_entry_of_its_own(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    srn, number = await a_manufacturer_whose_devices_are_watched(harness, owner)
    changes, _ = await addresses(harness, owner)
    device = next(each for each in harness.unique_devices(120) if each.manufacturer.srn == srn)
    harness.world.change_actor(srn, status="inactive")
    harness.world.change(device.uuid, reference="NEW-1")
    harness.clock.move(60)

    await harness.post_sync(owner.api_key)

    titles = sorted(each.title for each in (await read(harness, changes)).entries)
    assert len(titles) == 2
    assert any(f"({number - 1} watches)" in each for each in titles)
    assert any("Catalogue reference" in each for each in titles)


async def test_pages_of_a_feed_lead_to_every_entry_once(harness: ServiceHarness, owner: NewAccount) -> None:
    await store(harness, owner, *[RENAMED] * 230, WITHDRAWN)
    address: str | None = (await addresses(harness, owner))[0]
    first, seen, pages = address, [], 0
    while address is not None:
        page = await read(harness, address)
        seen += [entry.id for entry in page.entries]
        assert page.links["first"] == first
        assert page.links["self"] == address
        address, pages = page.links.get("next"), pages + 1
        await store(harness, owner, RENAMED)

    assert pages == 3
    assert len(seen) == len(set(seen)) == 231


async def test_a_feed_shows_what_its_address_chooses(harness: ServiceHarness, owner: NewAccount) -> None:
    await store(harness, owner, RENAMED, WITHDRAWN)
    await store(harness, owner, *[RENAMED] * 101, subject="B2")
    changes, _ = await addresses(harness, owner)

    assert [each.terms for each in (await read(harness, f"{changes}&severity=high")).entries] == [
        ["certificate", "high"]
    ]
    assert len((await read(harness, f"{changes}&subject=A1")).entries) == 2
    page = await read(harness, f"{changes}&subject=B2&severity=low&severity=medium")
    assert len((await read(harness, page.links["next"])).entries) == 1
    for wrong in ("severity=urgent", "before=x", "subject=", "befor=1"):
        assert (await get(harness, f"{changes}&{wrong}")).status_code == 400


async def test_a_reader_that_has_the_newest_changes_is_told_so(harness: ServiceHarness, owner: NewAccount) -> None:
    changes, _ = await addresses(harness, owner)
    empty = await get(harness, changes)
    harness.clock.move(60)
    assert (await get(harness, changes, empty.headers["etag"])).status_code == 304

    await store(harness, owner, RENAMED)
    first = await get(harness, changes, empty.headers["etag"])
    harness.clock.move(60)
    again = await get(harness, changes, first.headers["etag"])

    assert (first.status_code, again.status_code) == (200, 304)
    assert again.content == b""
    assert again.headers["etag"] == first.headers["etag"]
    assert "no-store" not in first.headers["cache-control"], "a reader may keep what it asks about"
    feeds = (await harness.client.get("/v1/feeds", headers=auth_headers(owner.api_key))).json()["feeds"]
    await harness.client.delete(f"/v1/feeds/{feeds[0]['id']}", headers=auth_headers(owner.api_key))
    assert (await get(harness, changes, first.headers["etag"])).status_code == 401


async def test_an_entry_of_a_watch_has_the_words_that_the_pages_of_watches_have(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    failing, overdue, other = harness.separate_devices(3)
    gone = harness.world.register(replace(other, uuid="u-gone", primary_di=a_udi(1)))
    watched = {each.primary_di: each.uuid for each in (gone, failing, overdue)}
    await harness.post_watches(owner.api_key, *watched, UDI)
    harness.world.remove(gone.uuid)
    harness.faults.fail("basic", "http-400", contains=failing.uuid)
    harness.clock.move(60)
    await harness.post_sync(owner.api_key)
    harness.clock.move(4 * 24 * 3600)
    pages = PagesClient(harness)
    await pages.sign_in()

    entries = (await read(harness, (await addresses(harness, owner))[0])).entries
    page = await pages.page("/app/watches")

    words = {each.text.splitlines()[0]: each.title.rpartition(": ")[2] for each in entries}
    assert words == {gone.primary_di: "No longer listed", UDI: "Not in the register"} | {
        each.primary_di: state for each, state in ((failing, "Failing"), (overdue, "Overdue"))
    }
    for subject, state in words.items():
        [row] = [row for row in page.rows if any(subject in cell for cell in row)]
        assert any(state in cell for cell in row), "as in the table"
    mine = {each.text.splitlines()[0]: each for each in entries}
    assert mine[gone.primary_di].terms == mine[UDI].terms == ["unknown"], "a filter of a reader goes on to work"
    assert "Nobody has read it for days, though nothing failed." in mine[overdue.primary_di].text


async def test_a_calendar_rings_as_many_days_before_as_its_address_says(
    harness: ServiceHarness, owner: NewAccount
) -> None:
    await harness.post("/v1/import", owner.api_key, csv=a_udi(1))
    ends = datetime.fromtimestamp(harness.clock.now(), UTC).date() + timedelta(days=20)
    async with harness.database.transaction() as connection:
        await connection.execute(
            text("UPDATE watches SET snapshot = :kept"), {"kept": f'{{"certs":[["Z-1","","{ends}"]]}}'}
        )
    _, calendar = await addresses(harness, owner)

    [silent] = days_of((await get(harness, calendar)).content)
    answer = await get(harness, f"{calendar}&alarms=7,30,7")
    [day] = days_of(answer.content)

    assert silent.alarms == []
    assert day.alarms == [timedelta(days=-30), timedelta(days=-7)]
    harness.clock.move(60)
    assert (await get(harness, f"{calendar}&alarms=7,30,7", answer.headers["etag"])).status_code == 304
    assert (await get(harness, calendar, answer.headers["etag"])).status_code == 200
    for wrong in ("-1", "x", "1,,2", "181", "1,2,3,4,5,6"):
        assert (await get(harness, f"{calendar}&alarms={wrong}")).status_code == 400
