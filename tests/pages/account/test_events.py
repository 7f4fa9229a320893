"""The page of events: lists, filters, marks, the archive, the download."""

import csv
import io
from dataclasses import replace

import httpx2
import pytest
from sqlalchemy import insert, update

from registerwatch.accounts.models import Role
from registerwatch.accounts.tables import users
from registerwatch.pages.account.events.event_query import EventQuery
from registerwatch.pages.account.events.events import ROWS
from registerwatch.platform.db.row_pages import MAX_ROW_ID
from registerwatch.watches import repository as watch_repository
from registerwatch.watches.diff import FieldChange
from registerwatch.watches.events.event_repository import NewEvent, add_events
from registerwatch.watches.events.event_selection import EventSelection, EventView
from registerwatch.watches.repository import NewWatch
from registerwatch.watches.tables import events, watch_tags
from tests.pages.account.pages_client import FROM_HERE, PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.support.harness import ServiceHarness

OFF = FieldChange("status", "On the EU market", "No longer placed on the EU market")
RISK = FieldChange("risk_class", "Class IIa", "Class IIb")
REFERENCE = FieldChange("reference", "R-1", "R-2")
EXPIRY = FieldChange("cert_expiry", "2026-12-24", "2030-09-16", "Z-25-052")
OF_MAKER = FieldChange("manufacturer_status", "Active", "Inactive")
REGION = {**FROM_HERE, "X-Fragment": "event-list"}


async def happen(pages: PagesClient, *changes: FieldChange, watch_id: int = 1, cause: str | None = None) -> int:
    """Store an event of a watch; its id. A minute passes."""
    harness, caller = pages.harness, await pages.caller()
    harness.clock.move(60)
    label, subject = f"Device {watch_id}", f"0401234567{watch_id:04}"
    new = NewEvent(caller.account.id, watch_id, subject, label, "a summary", changes, False, cause)
    async with harness.database.transaction() as connection:
        [[event]] = (await add_events(connection, [new], harness.now)).values()
    return event.id


def chosen(page: Markup) -> list[int]:
    """The events on a page, by their boxes."""
    return [int(each["value"]) for each in page.all("input", name="event")]


def fields_of(page: Markup) -> dict[str, str]:
    """The hidden fields of the form with the events."""
    return {each["name"]: each["value"] for each in page.all("input", type="hidden")}


async def send(pages: PagesClient, page: Markup, action: str, *ids: int, **more: str) -> httpx2.Response:
    """Press a button of the list, with some boxes ticked."""
    fields = {**fields_of(page), **more, "action": action}
    return await pages.post("/app/events", **fields, event=[str(each) for each in ids])


async def test_before_anything_has_changed_the_page_says_what_comes_next(owner_pages: PagesClient) -> None:
    page = await owner_pages.page("/app/events")

    assert accessibility_problems(page) == []
    assert "No events yet" in page.main
    assert page.link("Look at your watches") == "/app/watches"
    assert page.link("what is reported") == "/docs/watching#what-is-reported"
    for view, words in (("archived", "Nothing is archived"), ("all", "No events yet")):
        assert words in (await owner_pages.page("/app/events", view=view)).main


async def test_events_are_listed_by_day_with_what_was_before_and_after(owner_pages: PagesClient) -> None:
    caller = await owner_pages.caller()
    async with owner_pages.harness.database.transaction() as connection:
        await connection.execute(update(users).values(time_zone="Europe/Berlin"))
    high = await happen(owner_pages, OFF, RISK)
    owner_pages.harness.clock.move(86_400)
    expiry = await happen(owner_pages, EXPIRY, watch_id=2)

    page = await owner_pages.page("/app/events")

    assert accessibility_problems(page) == []
    assert len(page.all("h2")) == 2
    assert chosen(page) == [expiry, high]
    today, first, day_before, second, third = page.rows
    assert (today, day_before) == ([page.all("h2")[0].text], [page.all("h2")[1].text])
    assert first[1:] == [
        "! Medium",
        "Device 2 04012345670002",
        "Certificate expiry Z-25-052",
        "24 Dec 2026",
        "16 Sep 2030",
        first[-1],
    ]
    assert second[1:6] == ["✕ High", "Device 1 04012345670001", "Market status", OFF.old, OFF.new]
    assert third == ["Risk class", "Class IIa", "Class IIb"]
    assert page.link("Device 2") == "/app/watches/2"
    assert page.link("Since yesterday") == "/app/events?from=2027-01-15"
    since = await owner_pages.page(page.link("Since yesterday") + "&severity=medium")
    assert chosen(since) == [expiry]
    assert "Since yesterday" not in since.main
    seen = await owner_pages.page(page.link("Seen and archived"))
    assert seen.one("h2", id="seen-and-archived").text == "Seen and archived"
    assert "You have not seen 2: 1 high, 1 medium." in page.main
    assert caller.account.name in page.main


async def test_marks_are_for_one_user_and_lead_back_to_the_same_list(owner_pages: PagesClient) -> None:
    colleague = replace(await owner_pages.caller(), user_id=await add_colleague(owner_pages), role=Role.MEMBER)
    ids = [await happen(owner_pages, REFERENCE, watch_id=number) for number in range(1, 4)]
    page = await owner_pages.page("/app/events", field="reference")
    later = await happen(owner_pages, REFERENCE)

    response = await send(owner_pages, page, "seen-shown")
    assert response.headers["location"] == "/app/events?field=reference&done=seen&n=3"
    after = await owner_pages.follow(response)
    assert "Marked as seen: 3." in after.main
    assert chosen(after) == [later]
    again = await owner_pages.follow(await send(owner_pages, page, "seen-shown"))
    assert "it was so already" in again.main

    everything = await owner_pages.page("/app/events", view="all")
    assert chosen(everything) == [later, *ids[::-1]]
    response = await send(owner_pages, everything, "unseen", ids[1])
    assert response.headers["location"] == "/app/events?view=all&done=unseen&n=1"
    assert chosen(await owner_pages.page("/app/events")) == [later, ids[1]]
    others = await owner_pages.harness.service.watches.marks.page(colleague, EventSelection(EventView.UNSEEN), limit=9)
    assert [each.event.id for each in others.events] == [later, *ids[::-1]]


async def add_colleague(pages: PagesClient) -> int:
    """A member of the account, who has no session; their id."""
    row = {"email": "b@acme.example", "role": "member", "created_at": 0}
    account_id = (await pages.caller()).account.id
    async with pages.harness.database.transaction() as connection:
        added = insert(users).values(**row, account_id=account_id).returning(users.c.id)
        return int((await connection.execute(added)).scalar_one())


async def test_all_that_match_are_those_that_were_there_when_the_page_was_made(owner_pages: PagesClient) -> None:
    ids = [await happen(owner_pages, REFERENCE) for _ in range(ROWS + 2)]
    other = await happen(owner_pages, OFF)
    page = await owner_pages.page("/app/events", severity="low")
    assert chosen(page) == ids[:1:-1]
    assert f"All {ROWS + 2} that match" in page.main
    later = await happen(owner_pages, REFERENCE)

    older = await owner_pages.page(page.link("Older →"))
    assert chosen(older) == ids[1::-1]
    assert chosen(await owner_pages.page(older.link("← Newer"))) == ids[:1:-1]
    await send(owner_pages, page, "seen", all="1")
    assert chosen(await owner_pages.page("/app/events")) == [later, other]

    await send(owner_pages, page, "seen", all="1", through=str(MAX_ROW_ID))
    newest = await happen(owner_pages, REFERENCE)
    assert chosen(await owner_pages.page("/app/events")) == [newest, other]


async def test_archiving_is_for_everybody_and_asks_once_where_it_is_all_that_match(owner_pages: PagesClient) -> None:
    ids = [await happen(owner_pages, REFERENCE, watch_id=number) for number in range(1, ROWS + 3)]
    page = await owner_pages.page("/app/events", view="all")
    response = await send(owner_pages, page, "archive", ids[0], ids[1])
    assert response.headers["location"] == "/app/events?view=all&done=archived&n=2"

    page = await owner_pages.page("/app/events", view="all", **{"from": "2020-01-01"})
    archived = await owner_pages.page("/app/events", view="archived")
    assert chosen(archived) == ids[1::-1]
    assert "Take chosen out" in archived.main
    page = await owner_pages.page("/app/events", subject="0401234567")
    question = Markup.of(await send(owner_pages, page, "archive", all="1"))
    assert accessibility_problems(question) == []
    assert question.one("h1").text == f"Archive {ROWS} events?"
    assert "Number begins with: 0401234567" in question.main
    assert len(chosen(await owner_pages.page("/app/events"))) == ROWS

    done = await owner_pages.follow(await owner_pages.post("/app/events", **fields_of(question), action="archive"))
    assert f"Archived for everybody in your account: {ROWS}." in done.main
    assert "Nothing unseen" in (await owner_pages.page("/app/events")).main
    back = await send(owner_pages, archived, "unarchive", ids[0])
    assert back.headers["location"] == "/app/events?view=archived&done=unarchived&n=1"
    everything = await owner_pages.page("/app/events", view="all")
    assert chosen(everything) == [ids[0]]
    assert "unseen" not in everything.rows[1][2]


async def test_filters_are_in_the_address_and_each_can_be_left_out(owner_pages: PagesClient) -> None:
    caller = await owner_pages.caller()
    high = await happen(owner_pages, OFF)
    expiry = await happen(owner_pages, EXPIRY, watch_id=2)
    async with owner_pages.harness.database.transaction() as connection:
        await watch_repository.add(connection, caller.account.id, [NewWatch("S")], 0)
        await connection.execute(insert(watch_tags).values(account_id=caller.account.id, watch_id=1, tag="Ward <3>"))

    async def found(**filters: str) -> list[int]:
        return chosen(await owner_pages.page("/app/events", **filters))

    assert await found(kind="expiry") == await found(field="cert_expiry") == await found(watch="2") == [expiry]
    assert (
        await found(severity="high") == await found(tag="Ward <3>") == await found(subject="04012345670001") == [high]
    )
    assert await found(to="2020-01-01") == []
    page = await owner_pages.page("/app/events?severity=high&severity=medium&watch=1&tag=Ward+%3C3%3E")
    assert chosen(page) == [high]
    assert "Watch: Device 1" in page.main
    assert page.link("Tag: Ward <3> ✕, leave out") == "/app/events?severity=high&severity=medium&watch=1"
    assert page.one("form", action="/app/events", role="search")["data-live"] == "event-list"
    empty = await owner_pages.page("/app/events", field="trade_name")
    assert "No event matches" in empty.main
    assert accessibility_problems(empty) == []


@pytest.mark.parametrize(
    "query", ["severity=grave", "kind=x", "field=x", "watch=x", "view=x", "from=1.2.2026", "to=9999-12-31", "before=-1"]
)
async def test_what_an_address_cannot_mean_is_said(owner_pages: PagesClient, query: str) -> None:
    response = await owner_pages.get(f"/app/events?{query}")
    page = Markup.of(response)
    assert response.status_code == 400
    assert page.link("Show all without filters") == "/app/events"
    assert accessibility_problems(page) == []
    assert (await owner_pages.get(f"/app/events.csv?{query}")).status_code == 400


@pytest.mark.parametrize("name", ["tag", "subject"])
def test_a_filter_holds_no_character_that_a_database_refuses(name: str) -> None:
    assert EventQuery.of([(name, "a\x00b\u202e")]).value(name) == "a b", "PostgreSQL takes no NUL: the page was a 500"


async def test_a_form_that_chooses_nothing_or_something_strange_changes_nothing(owner_pages: PagesClient) -> None:
    event_id = await happen(owner_pages, OFF)
    for fields in (
        {"action": "seen"},
        {"action": "seen", "event": "x"},
        {"action": "nothing", "event": str(event_id)},
        {"action": "seen", "all": "1", "through": "x"},
        {"action": "seen-shown", "shown": ",,"},
    ):
        response = await owner_pages.post("/app/events", **fields)
        assert response.status_code == 400, fields
        assert accessibility_problems(Markup.of(response)) == []
    assert chosen(await owner_pages.page("/app/events")) == [event_id]


async def test_the_script_gets_the_list_alone_after_a_form(owner_pages: PagesClient) -> None:
    first, second = await happen(owner_pages, OFF), await happen(owner_pages, RISK)
    page = await owner_pages.page("/app/events")
    form = page.one("form", action="/app/events", method="post")
    assert form["data-send"] == "event-list"

    fields = {**fields_of(page), "action": "seen", "event": str(first)}
    answer = await owner_pages.post_from(REGION, "/app/events", **fields)

    assert answer.status_code == 200
    assert "<html" not in answer.text
    assert chosen(Markup.of(answer)) == [second]
    assert "Marked as seen: 1." in answer.text
    asked = await owner_pages.post_from(REGION, "/app/events", **{**fields, "action": "archive", "all": "1"})
    assert asked.status_code == 400


async def test_events_of_one_cause_stand_together(owner_pages: PagesClient) -> None:
    ids = [await happen(owner_pages, OF_MAKER, watch_id=number, cause="run/DE-MF-000006413") for number in range(1, 4)]
    await happen(owner_pages, OFF, watch_id=4)

    page = await owner_pages.page("/app/events")

    assert accessibility_problems(page) == []
    assert chosen(page)[1:] == ids[::-1]
    _day, _other, of_maker = page.rows
    assert "DE-MF-000006413, told for 3 watches:" in of_maker[2]
    assert of_maker[3:6] == ["Manufacturer status", "Active", "Inactive"]


async def test_a_group_that_goes_on_over_the_end_of_a_page_has_one_number_on_both(owner_pages: PagesClient) -> None:
    cause = "run/DE-MF-000006413"
    first = [await happen(owner_pages, OF_MAKER, watch_id=number, cause=cause) for number in range(1, 13)]
    await happen(owner_pages, OFF, watch_id=99)
    second = [await happen(owner_pages, OF_MAKER, watch_id=number, cause=cause) for number in range(13, 13 + ROWS - 5)]
    await happen(owner_pages, OFF, watch_id=98)
    seen = await owner_pages.page("/app/events")
    await send(owner_pages, seen, "seen", second[-1])

    newest, total = await owner_pages.page("/app/events", view="all"), len(first) + len(second)
    older = await owner_pages.page(newest.link("Older →"))
    newer = await owner_pages.page(older.link("← Newer"))
    unseen, filtered = await owner_pages.page("/app/events"), await owner_pages.page("/app/events?watch=1&view=all")

    said = [f"told for {total} watches, {{}} of them here:".format(len(second) + 3), f"told for {total} watches, 9 of"]
    for page in (newest, newer):
        assert len(chosen(page)) == ROWS
        assert said[0] in page.main
    assert said[1] in older.main
    assert accessibility_problems(older) == []
    assert f"told for {total - 1} watches, {len(second) + 3} of them here:" in unseen.main
    assert "told for" not in filtered.main


async def test_one_event_of_a_group_on_a_page_is_told_as_one_of_the_group(owner_pages: PagesClient) -> None:
    cause = "run/DE-MF-000006413"
    ids = [await happen(owner_pages, OF_MAKER, watch_id=number, cause=cause) for number in range(1, ROWS + 2)]

    last = await owner_pages.page((await owner_pages.page("/app/events")).link("Older →"))

    assert chosen(last) == ids[:1]
    assert f"DE-MF-000006413, told for {ROWS + 1} watches, 1 of them here:" in last.main


async def test_a_group_within_a_page_that_goes_on_over_midnight_has_one_number(owner_pages: PagesClient) -> None:
    cause = "run/DE-MF-000006413"
    for number in range(1, 4):
        owner_pages.harness.clock.move(12 * 3600)
        await happen(owner_pages, OF_MAKER, watch_id=number, cause=cause)

    page = await owner_pages.page("/app/events")

    assert len(page.all("h2")) == 2
    assert page.main.count("told for 3 watches, ") == 2


async def test_the_download_has_every_event_that_matches_the_worst_changes_first(owner_pages: PagesClient) -> None:
    await happen(owner_pages, OFF)
    hostile = await happen(owner_pages, FieldChange("trade_name", "=1+1", "@SUM(A1)"), RISK, watch_id=2)
    async with owner_pages.harness.database.transaction() as connection:
        await connection.execute(update(events).where(events.c.id == hostile).values(label='<b>"'))

    response = await owner_pages.get("/app/events.csv?watch=2&before=1")
    head, *rows = csv.reader(io.StringIO(response.content.decode("utf-8-sig")))

    assert response.headers["content-disposition"] == 'attachment; filename="registerwatch-events.csv"'
    assert [dict(zip(head, row, strict=True))["Before"] for row in rows] == ["Class IIa", "'=1+1"], "as on the page"
    assert [row[0] for row in rows] == [str(hostile)] * 2
    assert rows[1][6:14] == ['<b>"', "04012345670002", "", "trade name", "'=1+1", "'@SUM(A1)", "no", ""]
    page = await owner_pages.page("/app/events")
    assert '<b>"' in page.main
    assert accessibility_problems(page) == []


async def test_devices_are_told_by_number_with_links_to_the_first(owner_pages: PagesClient) -> None:
    named = [FieldChange("device_registered", "", f"<b>{number}", device=f"04/{number}") for number in range(7)]
    await happen(owner_pages, FieldChange("devices_registered", "", "1007"), *named)
    await happen(owner_pages, FieldChange("cert_ends", "2027-02-14", "in 30 days", "Z-25-052", revision="01"))
    await happen(owner_pages, FieldChange("device_off_market", "", "Alone", device="0405"))

    page = await owner_pages.page("/app/events")

    told = [
        " ".join(each.text for each in page.all("td") if each.attributes.get("data-label") == label).split()
        for label in ("Field", "After")
    ]
    assert " ".join(told[0]) == "Device off the market End of the certificate Z-25-052, revision 01 Devices registered"
    assert " ".join(told[1]).startswith(
        "Alone (0405) 14 Feb 2027, in 30 days 1,007: <b>0, <b>1, <b>2, <b>3, <b>4 and 1,002 more"
    )
    links = [each["href"] for each in page.all("a") if (each.attributes.get("href") or "").startswith("/d/")]
    assert links == ["/d/0405", *(f"/d/04%2F{number}" for number in range(5))]
    assert accessibility_problems(page) == []

    today = await owner_pages.page("/app")
    assert "1,007 devices registered: <b>0, <b>1, <b>2 and 1,004 more" in today.main
    assert "End of the certificate (Z-25-052, revision 01): 14 Feb 2027, in 30 days" in today.main
    assert accessibility_problems(today) == []

    response = await owner_pages.get("/app/events.csv")
    _, *rows = csv.reader(io.StringIO(response.content.decode("utf-8-sig")))
    assert [row[9:12] for row in rows[:2]] == [
        ["device off the market", "", "Alone"],
        ["end of the certificate", "", "2027-02-14, in 30 days"],
    ]
    assert [row[15] for row in rows[:3]] == ["", "01", ""]
    assert [row[14] for row in rows] == ["0405", "", "", *(f"04/{number}" for number in range(7))]


async def test_a_stranger_sees_and_changes_nothing(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    event_id = await happen(owner_pages, OFF)
    stranger = PagesClient(harness)
    await stranger.sign_up("b@other.example")

    assert chosen(await stranger.page("/app/events", view="all")) == []
    assert str(event_id) not in (await stranger.get("/app/events.csv?view=all")).text.splitlines()[-1]
    for action in ("seen", "unseen", "archive", "unarchive"):
        done = await stranger.follow(await stranger.post("/app/events", action=action, event=str(event_id)))
        assert "it was so already" in done.main
    assert chosen(await owner_pages.page("/app/events")) == [event_id]
    await stranger.client.aclose()
