"""The page of all watches: finding, sorting, changing many at once, adding, syncing, downloading."""

import csv
import io
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from openpyxl import load_workbook
from sqlalchemy import select, update

from registerwatch.accounts.tables import accounts
from registerwatch.watches import repository
from registerwatch.watches.models import FAILING_AFTER, NO_CERTIFICATES, NOT_REGISTERED, OVERDUE_AFTER
from registerwatch.watches.questions.listed_watches import PAGE_ROWS
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.snapshot import Snapshot, encoded
from registerwatch.watches.tables import sync_runs, watches
from tests.pages.account.pages_client import PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.support.harness import SRN, UDI, ServiceHarness
from tests.watches.builders import OFF, ON, a_certificate, a_snapshot
from tests.watches.test_listed_watches import change

EVIL = "=1+1<script>alert(1)</script>\u202e\"'&"
SEEN = a_snapshot(
    a_certificate("=Z-1", expiry="2030-01-01"),
    manufacturer_name=EVIL,
    manufacturer_srn=SRN,
    trade_name=EVIL,
    risk_class="Class IIa",
    status_code=ON,
)


async def add(pages: PagesClient, *new: NewWatch) -> Sequence[int]:
    """Watches of the account; their ids in the order given."""
    account_id = (await pages.caller()).account.id
    async with pages.harness.database.transaction() as connection:
        await repository.add(connection, account_id, new, pages.harness.now)
        found = select(watches.c.id).where(watches.c.account_id == account_id).order_by(watches.c.id)
        return (await connection.execute(found)).scalars().all()


def names(page: Markup) -> list[str]:
    return [row[1] for row in page.rows]


def fields_of(address: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(address).query))


async def test_the_page_leads_who_watches_nothing_to_their_first_watch(owner_pages: PagesClient) -> None:
    page = await owner_pages.page("/app/watches")

    assert accessibility_problems(page) == []
    assert "0 of 25 that your plan allows" in page.main
    assert "You watch nothing yet" in page.main
    assert (page.link("import a list"), page.all("table")) == ("/app/import", [])


async def test_a_subject_is_added_found_again_or_refused_with_what_was_typed(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    [device] = harness.unique_devices(1)
    added = await owner_pages.post("/app/watches/add", subject=f" {device.primary_di} ")
    again = await owner_pages.post("/app/watches/add", subject=device.primary_di)
    empty = await owner_pages.post("/app/watches/add", subject=" ", back="/d/04012345678901")

    address, outcome = added.headers["location"].split("?")
    assert address.removeprefix("/app/watches/").isdigit()
    assert (outcome, again.headers["location"]) == ("done=added", f"{address}?done=existing")
    refused = Markup.of(empty)
    assert empty.status_code == 400
    assert refused.one("input", id="subject")["aria-invalid"] == "true"
    assert refused.link("Back to the page before") == "/d/04012345678901"
    assert accessibility_problems(refused) == []
    hostile = Markup.of(await owner_pages.post("/app/watches/add", subject="\u0007x", back="//evil.example"))
    assert "evil.example" not in str([each.attributes for each in hostile.elements])


async def test_the_cap_and_the_ended_period_are_said_with_a_way_to_a_plan(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    await add(owner_pages, *(NewWatch(f"{each:04}") for each in range(25)))
    full = await owner_pages.post("/app/watches/add", subject=UDI)
    arrived = await owner_pages.page("/app/watches", subject=UDI)
    assert "allows 25 watches" in Markup.of(full).main
    assert Markup.of(full).one("input", id="subject")["value"] == UDI
    assert arrived.link("Choose a larger plan") == "/app/billing"

    async with harness.database.transaction() as connection:
        await connection.execute(update(accounts).values(expires_at=harness.now))
    ended = await owner_pages.post("/app/watches/add", subject=UDI)
    assert (ended.status_code, Markup.of(ended).all("a", href="/app/billing") != []) == (400, True)
    assert (await owner_pages.post("/app/watches/sync", sort="")).status_code == 402
    assert await harness.rows(sync_runs) == []


async def test_filters_sort_and_pages_live_in_the_address(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    many = [NewWatch(f"0409999{each:07}", f"Device {each:03}", encoded(SEEN), harness.now) for each in range(PAGE_ROWS)]
    ids = await add(owner_pages, *many, NewWatch(SRN, "Maker"))
    await change(harness, SRN, last_error=NOT_REGISTERED)
    await owner_pages.post("/app/watches/bulk", watch=[ids[0], ids[1]], action="tag", **{"new-tag": "ward 3"})

    first = await owner_pages.page("/app/watches")
    second = await owner_pages.page(first.link("Next →"))
    assert accessibility_problems(first) == accessibility_problems(second) == []
    assert f"1 to {PAGE_ROWS} of {PAGE_ROWS + 1} watches" in first.main
    assert (names(second), fields_of(first.link("Next →"))) == (["Maker"], {"page": "2"})
    assert (await owner_pages.page("/app/watches", page=99)).rows == second.rows

    unknown = await owner_pages.page(first.link("Not in the register 1"))
    assert names(unknown) == ["Maker"]
    assert first.link(f"Read {PAGE_ROWS}") == "/app/watches?state=ok"
    backwards = await owner_pages.page(first.link("Name"))
    assert names(backwards)[0] == "Maker"
    assert backwards.one("th", **{"aria-sort": "descending"}).text == "Name"
    assert fields_of(backwards.link("Last change")) == {"sort": "-change"}

    tagged = await owner_pages.page("/app/watches", tag="ward 3", q="device", kind="udi", sort="-name")
    assert [each.split()[:2] for each in names(tagged)] == [["Device", "001"], ["Device", "000"]]
    assert tagged.one("input", id="q")["value"] == "device"
    odd = await owner_pages.page("/app/watches?state=no&kind=x&sort=-no&page=-1&page=%00&tag=&q=%00&done=%3Cb%3E&n=a")
    assert odd.rows == first.rows
    made_up = await owner_pages.page("/app/watches", done="tagged", named="<b>\n\u202e" + "x" * 100)
    assert f"1 watch has the tag “<b> {'x' * 36}” now." in made_up.main
    nothing = await owner_pages.page("/app/watches", q="zzz")
    assert "No watch matches" in nothing.main
    assert nothing.link("Show all") == "/app/watches"

    owner_pages.client.headers["X-Fragment"] = "watch-list"
    fragment = await owner_pages.get("/app/watches", q="Maker")
    assert "<html" not in fragment.text
    assert "1 to 1 of 1 watch" in fragment.text


async def test_many_watches_are_tagged_and_removed_once_somebody_has_confirmed(owner_pages: PagesClient) -> None:
    first, second, third = await add(owner_pages, NewWatch("1", EVIL), NewWatch("2", "b"), NewWatch("3", "c"))

    async def bulk(action: str, **fields: object) -> Markup:
        return await owner_pages.follow(await owner_pages.post("/app/watches/bulk", action=action, **fields))

    tagged = await bulk("tag", watch=[first, second], q="", sort="-name", **{"new-tag": " ward 3 "})
    assert "2 watches have the tag “ward 3” now." in tagged.main
    assert [row[1] for row in tagged.rows][:2] == ["c", "b ward 3"]
    untagged = await bulk("untag", watch=[second], **{"new-tag": "Ward 3"})
    assert "1 watch does not have the tag “Ward 3” any more." in untagged.main
    refusals: list[tuple[dict[str, Any], str]] = [
        ({"action": "tag", "new-tag": "x"}, "Choose one or more"),
        ({"action": "tag", "new-tag": "", "watch": first}, "Type a tag"),
        ({"action": "?", "watch": first}, "Choose what to do"),
        ({"action": "delete", "watch": [10**30, "x"]}, "Choose one or more"),
    ]
    for fields, said in refusals:
        refused = await owner_pages.post("/app/watches/bulk", **fields)
        page = Markup.of(refused)
        assert (refused.status_code, said in page.one("p", id="bulk-problem").text) == (400, True)
        assert accessibility_problems(page) == []
        assert [each["value"] for each in page.all("input", name="watch") if "checked" in each.attributes] == (
            [str(first)] if fields.get("watch") == first else []
        )

    asked = Markup.of(await owner_pages.post("/app/watches/bulk", action="delete", all="1", tag="ward 3"))
    assert "Stop watching 1 watch?" in asked.main
    assert "stay under “Events”" in asked.main
    assert accessibility_problems(asked) == []
    confirmed = {each["name"]: each["value"] for each in asked.all("input", type="hidden")}
    await owner_pages.post("/app/watches/bulk", action="tag", watch=second, **{"new-tag": "ward 3"})
    changed = await owner_pages.post("/app/watches/bulk/delete", **confirmed)
    assert (changed.status_code, "Stop watching 2 watches?" in Markup.of(changed).main) == (400, True)
    confirmed = {each["name"]: each["value"] for each in Markup.of(changed).all("input", type="hidden")}
    removed = await owner_pages.follow(await owner_pages.post("/app/watches/bulk/delete", **confirmed))
    assert "You have stopped watching 2." in removed.main
    assert [row["id"] for row in await owner_pages.harness.rows(watches)] == [third]

    owner_pages.harness.clock.move(8 * 86_400)
    late = Markup.of(await owner_pages.post("/app/watches/bulk", action="tag", watch=third, **{"new-tag": "late"}))
    assert "period has ended" in late.one("p", id="bulk-problem").text
    assert "Sync all now" not in late.main


async def test_a_sync_tells_how_far_it_is_and_what_came_of_it(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    first, second = harness.unique_devices(2)
    ids = await add(owner_pages, NewWatch(first.primary_di), NewWatch(second.primary_di))
    harness.to_register.held = {first.uuid}
    started = await owner_pages.post("/app/watches/sync", state="unread")
    await harness.to_register.reached.wait()

    running = await owner_pages.page(started.headers["location"])
    busy = await owner_pages.follow(await owner_pages.post("/app/watches/bulk", action="sync", watch=ids[0]))
    assert started.headers["location"] == "/app/watches?state=unread"
    assert running.one("div", id="sync")["data-poll"] == "2"
    assert "of 2 watches" in running.main
    assert "A sync is going on already." in busy.main
    refused = Markup.of(await owner_pages.post("/app/watches/bulk", action="tag", sort=""))
    assert "data-poll" not in refused.one("div", id="sync").attributes  # nothing can be asked for at its address
    assert accessibility_problems(running) == []

    harness.to_register.let.set()
    await harness.finish_background_work()
    harness.world.change(first.uuid, reference="NEW-1")
    harness.clock.move(60)
    await owner_pages.post("/app/watches/bulk", action="sync", watch=ids[0])
    await harness.finish_background_work()
    owner_pages.client.headers["X-Fragment"] = "sync"
    done = (await owner_pages.get("/app/watches")).text
    assert "data-poll" not in done
    assert "<html" not in done
    assert "1 of 1 watch tried" in done
    assert '<a href="/app/events">1 change</a>' in done
    async with harness.database.transaction() as connection:
        await connection.execute(update(sync_runs).values(finished_at=None))
    harness.clock.move(3600)
    assert "was interrupted after 1 of 1 watches" in (await owner_pages.get("/app/watches")).text


async def test_the_standing_of_a_device_is_told_beside_the_state_of_its_watch(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    gone = a_certificate("Z-1", expiry="2031-11-21", status_code="refdata.certificate-status.expired")
    record = a_snapshot(gone, status_code="refdata.device-model-status.not-intended-for-eu-market")
    half = a_snapshot(gone, a_certificate("Z-2", expiry="2031-01-01"), status_code=ON)
    maker = Snapshot(manufacturer_status="Inactive", manufacturer_status_code="refdata.actor-status.inactive")
    seen = [(UDI, record), ("04012345678918", half), (SRN, maker)]
    ids = await add(owner_pages, *(NewWatch(subject, subject, encoded(each), harness.now) for subject, each in seen))

    page = await owner_pages.page("/app/watches")

    assert accessibility_problems(page) == []
    assert page.link("Read 3") == "/app/watches?state=ok"
    assert [row[4] for row in page.rows] == [
        "On the EU market ! Certificate expired by status, not by date (1 of 2)",
        "✕ Not intended for the EU market ✕ Certificate expired by status, not by date",
        "! Inactive",
    ]
    one = await owner_pages.page(f"/app/watches/{ids[0]}")
    assert "✕ Not intended for the EU market ✕ Certificate expired by status, not by date Read" in one.main
    assert "✓" not in one.main
    today = await owner_pages.page("/app")
    assert "Watches 3 3 read ! 1 not on the EU market" in today.main
    assert accessibility_problems(today) == []


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_the_state_of_a_watch_has_its_mark_in_the_table_and_on_its_page(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    now = harness.now
    long = {"failing_since": now - FAILING_AFTER, "last_sync": now - FAILING_AFTER}
    states: dict[str, dict[str, Any]] = {
        "✕ Failing": {"last_error": "no answer", **long},
        "! Read in part": {"last_error": NO_CERTIFICATES, **long},
        "! Overdue": {"last_sync": now - OVERDUE_AFTER},
        "! Not in the register": {"last_error": NOT_REGISTERED},
        "! Last read failed": {"last_error": "no answer", "last_sync": now},
        "– Not read yet": {"last_error": ""},
    }
    subjects = [f"0401111111111{place}" for place in range(len(states))]
    ids = await add(owner_pages, *(NewWatch(subject, subject) for subject in subjects))
    for subject, values in zip(subjects, states.values(), strict=True):
        await change(harness, subject, **values)

    table = await owner_pages.page("/app/watches")

    pages = [await owner_pages.page(f"/app/watches/{watch_id}") for watch_id in ids]
    for words, row, page in zip(states, table.rows, pages, strict=True):
        assert row[5].startswith(words)
        assert words in {each.text for each in page.all("span")}
        assert accessibility_problems(page) == []
    assert accessibility_problems(table) == []


async def test_certificates_near_their_end_date_are_listed_with_their_standing_and_that_of_their_device(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    suspended = a_certificate("Z-1", expiry="2027-02-01", status_code="refdata.certificate-status.suspended")
    withdrawn = a_certificate("Z-2", expiry="2027-01-20", status_code="refdata.certificate-status.withdrawn")
    seen = a_snapshot(suspended, withdrawn, status_code=OFF)
    await add(owner_pages, NewWatch(UDI, "Pump", encoded(seen), harness.now))

    today = await owner_pages.page("/app")

    assert accessibility_problems(today) == []
    assert today.rows[0][:2] == ["Z-1 ✕ Suspended", "Pump ! No longer placed on the EU market"]
    assert today.rows[1][0] == "Z-2 ✕ Withdrawn", "it ends no more, so it comes last"
    assert "Certificates near their end date" in today.main


async def test_downloads_have_what_the_filter_lists_and_no_formula(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    ids = await add(owner_pages, NewWatch(UDI, EVIL, encoded(SEEN), harness.now), NewWatch(SRN, "Maker"))
    await owner_pages.post("/app/watches/bulk", action="tag", watch=ids[0], **{"new-tag": "@sum"})
    page = await owner_pages.page("/app/watches", kind="udi")
    assert accessibility_problems(page) == []
    assert all("src" in each.attributes for each in page.all("script"))

    text = (await owner_pages.get(page.link("CSV"))).content.decode("utf-8-sig")
    book = load_workbook(io.BytesIO((await owner_pages.get(page.link("Excel (XLSX)"))).content))

    [row] = csv.DictReader(io.StringIO(text, newline=""))
    assert row["UDI-DI or SRN"] == UDI
    assert row["Name"] == row["Manufacturer"] == f"'{EVIL}"
    assert (row["Certificates"], row["Tags"]) == ("'=Z-1 (valid, end date 2030-01-01)", "'@sum")
    assert (row["First end"], row["Covered until"], row["Certificate standing"]) == (
        "2030-01-01",
        "2030-01-01",
        "Valid",
    )
    assert (row["Kind"], row["Read state"], row["Risk class"], row["Last change (UTC)"]) == (
        "device",
        "Read",
        "Class IIa",
        "",
    )
    cells = next(iter(book["Watches"].iter_rows(min_row=2)))
    assert [cell.value or "" for cell in cells][:3] == ["device", UDI, EVIL]
    assert {cell.data_type for cell in cells if cell.value is not None and cell.data_type != "d"} == {"s"}
    everything = (await owner_pages.get("/app/watches.csv", sort="-name")).text.splitlines()
    assert [line.split(",")[0] for line in everything[1:]] == ["actor", "device"]


async def test_downloads_have_every_certificate_with_its_standing_and_dates_that_are_dates(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    expired = a_certificate("Z-1", expiry="2031-11-21", status_code="refdata.certificate-status.expired")
    valid, past = a_certificate("Z-2", revision="2", expiry="2030-01-01"), a_certificate("Z-3", expiry="2020-01-01")
    gone = a_certificate("Z-4", expiry="2031-01-01", is_gone=True)
    subjects = [f"0401234567{number}" for number in range(8902, 8908)]
    undated = a_snapshot(a_certificate("Z-5", expiry="2020-01-01", is_undated=True))
    seen = [a_snapshot(expired), a_snapshot(valid, past, expired), a_snapshot(gone), a_snapshot(), None, undated]
    new = [
        NewWatch(subject, subject, encoded(each), harness.now) if each else NewWatch(subject, subject)
        for subject, each in zip(subjects, seen, strict=True)
    ]
    await add(owner_pages, *new)
    await owner_pages.post("/app/settings/time-zone", zone="Europe/Berlin")

    text = (await owner_pages.get("/app/watches.csv", sort="subject")).content.decode("utf-8-sig")
    book = load_workbook(io.BytesIO((await owner_pages.get("/app/watches.xlsx", sort="subject")).content))

    first = "Z-1 (expired by status, not by date, end date 2031-11-21)"
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [(row["Certificates"], row["Certificate standing"], row["First end"]) for row in rows] == [
        (first, "Expired by status, not by date", ""),
        (
            f"Z-3 (expired, end date 2020-01-01); Z-2 revision 2 (valid, end date 2030-01-01); {first}",
            "Expired (1 of 3)",
            "2030-01-01",
        ),
        ("Z-4 (no longer listed, end date 2031-01-01)", "None listed", ""),
        ("", "None listed", ""),
        ("", "Not read", ""),
        ("Z-5 (no end date)", "No end date", ""),
    ]
    for subject in subjects[1], subjects[3]:
        await change(harness, subject, last_error=NO_CERTIFICATES)
    again = (await owner_pages.get("/app/watches.csv", sort="subject")).content.decode("utf-8-sig")
    assert [row["Certificate standing"] for row in csv.DictReader(io.StringIO(again, newline=""))][1:4] == [
        "Expired (1 of 3), may be outdated",
        "None listed",
        "None listed, may be outdated",
    ]
    assert rows[0]["Last read (Europe/Berlin)"] == "2027-01-15 09:00:00"
    header, *sheet = book["Watches"].iter_rows()
    names = [cell.value for cell in header]
    end = sheet[1][names.index("Covered until")]
    read = sheet[0][names.index("Last read (Europe/Berlin)")]
    assert (str(end.value), end.number_format) == ("2030-01-01 00:00:00", "yyyy-mm-dd")
    assert (str(read.value), read.number_format) == ("2027-01-15 09:00:00", "yyyy-mm-dd hh:mm:ss")
    assert end.data_type == read.data_type == "d"


async def test_nobody_reaches_the_watches_of_another_account(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    ids = await add(owner_pages, NewWatch(UDI, "secret name"))
    stranger = PagesClient(harness)
    assert (await stranger.get("/app/watches.csv")).status_code == 303
    await stranger.sign_up("stranger@acme.example")
    await add(stranger, NewWatch(SRN, "own"))

    for action in ("tag", "untag", "delete", "sync"):
        answer = await stranger.post("/app/watches/bulk", action=action, watch=ids[0], **{"new-tag": "x"})
        assert answer.status_code == 400
    await stranger.post("/app/watches/bulk/delete", watch=ids[0], expected="1")
    for path in ("/app/watches", "/app/watches.csv"):
        assert "secret" not in (await stranger.get(path)).text
    assert ids[0] in [row["id"] for row in await harness.rows(watches)]
    assert "secret name" in (await owner_pages.page("/app/watches")).main
    await stranger.client.aclose()
