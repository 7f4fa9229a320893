"""Importing a list in a browser: what is shown before anything is added, what becomes of it, what is refused."""

import csv
import io
from datetime import date

from openpyxl import Workbook

from registerwatch.watches.imports.import_text import MAX_LINES
from tests.pages.account.pages_client import PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.register.builders import UDI, a_full_reading, a_udi
from tests.support.harness import SRN, ServiceHarness

HOSTILE = "<script>alert(1)</script>\"'=1+1"


async def subjects(harness: ServiceHarness, pages: PagesClient) -> list[str]:
    return [watch["subject"] for watch in await harness.get_list(await pages.rest_session(), "watches")]


def cards(page: Markup) -> list[str]:
    [first] = [each for each in page.all("ul") if each.attributes.get("class") == "cards counts"]
    return [each.text for each in page.all("li") if each.text and each.text in first.text and each.text[0].isdigit()]


async def test_a_list_is_shown_line_by_line_then_added_once_with_its_tag(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    await harness.store(a_full_reading(udi=a_udi(1), trade_name="Stent <b>", manufacturer_name="Acme & Co"))
    await harness.post_watches(await owner_pages.rest_session(), SRN)
    form = await owner_pages.page("/app/import")
    assert "You watch 1 of 25: 24 more can be added." in form.main
    text = f"Name;UDI-DI\na;{a_udi(1)}\nb;{a_udi(2)[1:]}\nc;{a_udi(2)}\nd;{SRN.lower()}\ne;{HOSTILE}\nf;\n"

    response = await owner_pages.post("/app/import", text=text)

    checked = Markup.of(response)
    assert [*accessibility_problems(form), *accessibility_problems(checked)] == []
    assert cards(checked) == ["2 new1 not looked yet", "1 already watched", "1 twice in the list", "1 cannot be used"]
    assert "The column “UDI-DI” (B) was used" in checked.main
    assert "1 line has nothing in this column" in checked.main
    assert checked.rows == [
        ["6", HOSTILE, checked.rows[0][2]],
        ["2", a_udi(1), "Stent <b> Acme & Co"],
        ["3", f"{a_udi(2)}typed {a_udi(2)[1:]}", "Not looked yet"],
        ["5", f"{SRN}typed {SRN.lower()}", checked.rows[3][2]],
        ["4", a_udi(2), "Not looked yet"],
    ]
    assert await subjects(harness, owner_pages) == [SRN], "nothing is added before it is confirmed"

    carried = {each["name"]: each["value"] for each in checked.all("input", type="hidden")}
    assert "checked" in checked.one("input", id="tag-watched").attributes
    done = Markup.of(await owner_pages.post("/app/import", step="add", tag="Ward 3", **carried))
    again = Markup.of(await owner_pages.post("/app/import", step="add", tag="Ward 3", **carried))

    assert [*accessibility_problems(done), *accessibility_problems(again)] == []
    assert done.one("h1").text == "You watch 2 more"
    assert done.link("Watches with the tag “Ward 3”") == "/app/watches?tag=Ward+3"
    assert again.one("h1").text == "Nothing was added"
    assert "2 new, 1 was watched already and did not get the tag, 1 line repeats another one of the list." in done.main
    carried = {
        each["name"]: each["value"]
        for each in Markup.of(await owner_pages.post("/app/import", text=text)).all("input", type="hidden")
    }
    tagged = Markup.of(await owner_pages.post("/app/import", step="add", tag="Ward 3", **carried))
    assert "0 new, 3 were watched already and have the tag now, 1 line repeats another one of the list." in tagged.main
    assert tagged.link("Watches with the tag “Ward 3”") == "/app/watches?tag=Ward+3"
    assert await subjects(harness, owner_pages) == [SRN, a_udi(1), a_udi(2)]
    failed = await owner_pages.post("/app/import", step="failed", **carried)
    assert failed.headers["content-disposition"] == 'attachment; filename="lines-not-added.csv"'
    [header, row] = csv.reader(io.StringIO(failed.text.removeprefix("\ufeff")))
    assert (header[:2], row[:2]) == (["Line", "Identifier"], ["6", HOSTILE])


async def test_what_the_register_does_not_have_is_said_alike_by_a_watch_an_import_and_a_scan(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    unknown = a_udi(99)
    [watched] = await harness.post_watches(await owner_pages.rest_session(), unknown)
    harness.clock.move(3600)
    words = "! Not in the register"

    watch = await owner_pages.page(f"/app/watches/{watched['id']}")
    checked = Markup.of(await owner_pages.post("/app/import", text=unknown))
    scanned = Markup.of(await owner_pages.post("/app/scan", code=unknown, codes=""))
    harness.faults.fail("any", "http-500")
    harness.clock.move(3600)
    failing = Markup.of(await owner_pages.post("/app/scan", code=unknown, codes=""))

    assert checked.rows == [["1", unknown, f"{words} as of 15 Jan 2027, 08:00"]]
    for page in (watch, scanned, failing):
        assert words in page.main
    assert "Not looked" not in checked.main
    assert f"{words} as of 15 Jan 2027, 08:00" in failing.main
    assert "as of" not in scanned.main, "the register was asked just now"


async def test_a_workbook_is_read_and_what_it_has_destroyed_is_told(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    workbook, content = Workbook(), io.BytesIO()
    sheet = workbook.active
    assert sheet is not None
    sheet.title = "<b>Devices"
    for row in (["My list"], ["Name", "GTIN"], ["a", int(a_udi(3))], ["b", 10**17], ["c", date(2026, 1, 2)]):
        sheet.append(row)
    workbook.save(content)

    checked = Markup.of(await owner_pages.upload("/app/import", "list.xlsx", content.getvalue(), text="", step=""))

    assert "The sheet “<b>Devices” was read." in checked.main
    assert "1 line above the heading was left out." in checked.main
    assert [(row[0], row[1]) for row in checked.rows] == [
        ("4", "1e+17"),
        ("5", "2026-01-02"),
        ("3", f"{a_udi(3)}typed {int(a_udi(3))}"),
    ]
    assert "A spreadsheet has shortened this number" in checked.rows[0][2]
    assert "has made a date of it" in checked.rows[1][2]


async def test_what_cannot_be_read_says_why_and_keeps_what_was_typed(owner_pages: PagesClient) -> None:
    empty = await owner_pages.post("/app/import", text="  ")
    both = await owner_pages.upload("/app/import", "a.csv", b"x", text=UDI)
    pdf = await owner_pages.upload("/app/import", "a.csv", b"%PDF-1.7", text="")
    control = await owner_pages.post("/app/import", text="a\x00b")
    nothing = await owner_pages.post("/app/import", text="udi\n;;;\n")
    damaged = await owner_pages.post("/app/import", step="add", list='[[1,"x","bomb"]]')
    large = await owner_pages.upload("/app/import", "a.csv", b"x" * (2 * 1024 * 1024 + 1), text="")

    told = {
        "Paste a list, or choose a file.": empty,
        "not both": both,
        "This is a PDF": pdf,
        "no text": control,
        "holds nothing that could be an identifier": nothing,
        "did not come back as it was shown": damaged,
        "more than 2,048 KiB": large,
    }
    for words, response in told.items():
        page = Markup.of(response)
        assert response.status_code == 400, words
        assert words in page.main
        assert accessibility_problems(page) == []
    assert Markup.of(both).one("textarea").text == UDI
    assert Markup.of(control).one("textarea").text == "ab"
    assert Markup.of(pdf).one("input", type="file")["aria-invalid"] == "true"


async def test_what_was_sent_without_a_session_is_kept_unless_it_is_large(
    harness: ServiceHarness, browser_client: PagesClient
) -> None:
    kept = await browser_client.post("/app/import", text=f"{UDI}\n{SRN}")
    large = await browser_client.upload("/app/import", "a.csv", b"x" * 200_000, text="")

    assert (kept.status_code, large.status_code) == (401, 401)
    hidden = {each["name"]: each["value"] for each in Markup.of(kept).all("input", type="hidden")}
    assert hidden["kept:text"] == f"{UDI}\n{SRN}"
    assert "too large to be kept" in Markup.of(large).main


async def test_the_cap_and_the_end_of_the_period_are_told_before_anything_is_added(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    text = "\n".join(a_udi(number) for number in range(MAX_LINES + 2))

    checked = Markup.of(await owner_pages.post("/app/import", text=text))
    carried = {each["name"]: each["value"] for each in checked.all("input", type="hidden")}

    assert "2 more lines were left out: lines 501 to 502." in checked.main
    told = ["25 new25 not looked yet", "0 already watched", "475 over the plan’s 25", "0 cannot be used"]
    assert cards(checked) == told
    harness.clock.move(8 * 24 * 3600)
    late = await owner_pages.post("/app/import", step="add", **carried)
    assert late.status_code == 400
    assert "period has ended" in Markup.of(late).main
    assert Markup.of(late).link("Choose a plan") == "/app/billing"
    assert "Watch these" not in Markup.of(late).main
    assert await subjects(harness, owner_pages) == []


async def test_a_line_that_is_watched_already_is_never_over_the_plan(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    key = await owner_pages.rest_session()
    await harness.post("/v1/import", key, csv="\n".join(a_udi(number) for number in range(24)))
    text = "\n".join(a_udi(number) for number in (50, 51, 0, 51, 1, 50))

    checked = Markup.of(await owner_pages.post("/app/import", text=text))
    carried = checked.all("input", name="list")[0]["value"]
    tried = (await harness.post("/v1/import", key, csv=text, dry_run=True)).json()
    done = Markup.of(await owner_pages.post("/app/import", step="add", list=carried))

    told = ["1 new1 not looked yet", "2 already watched", "1 twice in the list", "2 over the plan’s 25"]
    assert cards(checked) == [*told, "0 cannot be used"]
    assert [line["fate"] for line in tried["lines"]] == ["added", "left", "skipped", "left", "skipped", "skipped"]
    assert (tried["added"], tried["skipped"]) == (1, 3)
    assert "1 new, 2 were watched already, 1 line repeats another one of the list. 25 of 25" in done.main
    file = await owner_pages.post("/app/import", step="failed", list=carried)
    assert [line.split(",")[:2] for line in file.text.splitlines()[1:]] == [["2", a_udi(51)], ["4", a_udi(51)]]


async def test_a_tag_that_is_refused_is_kept_and_a_full_plan_is_told(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    text = "\n".join(a_udi(number) for number in range(25))
    checked = Markup.of(await owner_pages.post("/app/import", text=text))
    carried = checked.all("input", name="list")[0]["value"]

    refused = await owner_pages.post("/app/import", step="add", list=carried, tag="x" * 100)
    assert refused.status_code == 400
    page = Markup.of(refused)
    assert page.one("input", id="tag")["value"] == "x" * 100
    assert accessibility_problems(page) == []
    await owner_pages.post("/app/import", step="add", list=page.all("input", name="list")[0]["value"])

    full = await owner_pages.page("/app/import")
    assert "all in use: 25 of 25" in full.main
    left = Markup.of(await owner_pages.post("/app/import", text=a_udi(99)))
    assert "Nothing can be added: the plan’s watches are all in use." in left.main
    assert accessibility_problems(left) == []
