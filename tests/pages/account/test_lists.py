"""The pages of saved lists, as somebody uses them who has a spreadsheet and no script."""

import csv
import io
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest
from openpyxl import Workbook, load_workbook

from registerwatch.platform.structs import replace
from registerwatch.register.codes import CERTIFICATE_STATUS_PREFIX, StatusFilter, label
from registerwatch.register.models import Certificate, Completeness
from tests.pages.account.pages_client import PagesClient
from tests.pages.markup import Markup, accessibility_problems
from tests.register.builders import a_full_reading, a_udi
from tests.support.harness import SRN, ServiceHarness
from tests.support.list_files import DAMAGED

FOUND, OFF, UNKNOWN = (a_udi(number) for number in range(3))


@pytest.fixture(autouse=True)
async def copy(harness: ServiceHarness) -> None:
    """A copy with one device on the market and one off it."""
    await harness.store(a_full_reading("u-1", FOUND, trade_name="Pump <b>", manufacturer_name="Acme & Co"))
    await harness.store(a_full_reading("u-2", OFF, status="Off", status_code=StatusFilter.OFF.code))


def a_workbook(*rows: Sequence[str | int]) -> bytes:
    workbook, content = Workbook(), io.BytesIO()
    sheet = workbook.active
    assert sheet is not None
    for row in rows:
        sheet.append(list(row))
    workbook.save(content)
    return content.getvalue()


async def sent(harness: ServiceHarness, pages: PagesClient, content: bytes, **fields: str) -> tuple[str, Markup]:
    """Send a file and let it be matched: the address of its page, and the page."""
    response = await pages.upload("/app/lists", "Stock 2026.xlsx", content, **fields)
    address = response.headers["location"]
    await harness.service.lists.worker.work_off()
    return address, await pages.page(address)


async def kept(harness: ServiceHarness, pages: PagesClient, content: bytes) -> str:
    """The same, and keep it: the address of the list."""
    address, _ = await sent(harness, pages, content)
    response = await pages.post(address, step="keep")
    return without_message(response)


def without_message(response: httpx2.Response) -> str:
    address: str = response.headers["location"]
    return address.partition("?")[0]


async def test_a_line_that_is_listed_no_more_is_as_bad_as_its_device(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    subjects = [a_udi(number) for number in (7, 8)]
    for udi, market in zip(subjects, (StatusFilter.ON.code, StatusFilter.NOT_EU.code), strict=True):
        await harness.store(a_full_reading(f"u-{udi}", udi, status=label(market), status_code=market))
        since = (await harness.service.records.state()).revision
        await harness.service.records.delist(udi, read_at=harness.now, since=since)

    address = await kept(harness, owner_pages, a_workbook(["UDI"], *([udi] for udi in subjects)))
    page, file = await owner_pages.page(address), await owner_pages.client.get(f"{address}/lines.csv")

    assert [row[2] for row in page.rows] == ["! No longer listed", "! No longer listed"]
    assert (file.text.count("No longer listed"), "the EU market" in file.text) == (2, False)


async def test_a_line_is_not_good_whose_certificates_nobody_has_read(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    on: dict[str, Any] = {"status": label(StatusFilter.ON.code), "status_code": StatusFilter.ON.code}
    await harness.store(replace(a_full_reading("u-7", a_udi(7), **on), completeness=Completeness.SOME))

    page = await owner_pages.page(await kept(harness, owner_pages, a_workbook(["UDI"], [a_udi(7)])))

    assert page.rows[0][2] == "– Found"
    assert "Certificates: not read" in page.rows[0][3]


async def test_the_line_of_a_manufacturer_says_its_status(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    await harness.store_actor(status_code="refdata.actor-status.inactive")

    address = await kept(harness, owner_pages, a_workbook(["SRN"], [SRN]))
    page, file = await owner_pages.page(address), await owner_pages.client.get(f"{address}/lines.csv")

    assert page.rows[0][2:] == ["! Found", "Acme ! Status: Inactive"]
    [row] = csv.DictReader(io.StringIO(file.text.removeprefix("\ufeff")))
    assert (row["Result"], row["Market status"]) == ("Found", "Inactive")


async def test_a_result_says_no_more_and_no_better_than_its_lines_do(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    suspended, ending = a_udi(7), a_udi(8)
    on: dict[str, Any] = {"status": label(StatusFilter.ON.code), "status_code": StatusFilter.ON.code}
    held = Certificate("Z-1", expiry="2030-01-01", status_code=f"{CERTIFICATE_STATUS_PREFIX}suspended")
    await harness.store(a_full_reading("u-7", suspended, certs=(held,), **on))
    await harness.store(a_full_reading("u-8", ending, certs=(Certificate("Z-2", expiry="2027-02-01"),), **on))

    page = await owner_pages.page(await kept(harness, owner_pages, a_workbook(["UDI"], [suspended], [ending])))

    assert [row[2] for row in page.rows] == ["✕ No valid certificate", "! Found"]
    assert "Certificates: suspended" in page.rows[0][3]
    assert [each["class"] for each in page.all("rect")] == ["part  c-found", "part bad c-certificate_ended"]


async def test_a_spreadsheet_is_checked_kept_watched_and_downloaded(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    empty = await owner_pages.page("/app/lists")
    assert "Your first list" in empty.main
    content = a_workbook(
        ("Stock of ward 3",),
        ("Article", "Barcode", "Ward"),
        ("A-1", int(FOUND), "3"),
        ("A-2", f"{OFF[:5]} {OFF[5:]}", "3"),
        ("A-3", UNKNOWN, "4"),
        ("A-4", "see note", "4"),
    )

    response = await owner_pages.upload("/app/lists", "Stock 2026.xlsx", content, name="")
    address = response.headers["location"]
    under_way = await owner_pages.page(address)
    await harness.service.lists.worker.work_off()
    checked = await owner_pages.page(address)

    assert "Reading “Stock 2026.xlsx”" in under_way.main
    assert checked.one("h1").text == "Check the list “Stock 2026”"
    assert "codes in “Barcode”" in checked.main
    assert [row[:2] for row in checked.rows] == [
        ["3", f"{int(FOUND)}read as {FOUND}"],
        ["4", f"{OFF[:5]} {OFF[5:]}read as {OFF}"],
        ["5", UNKNOWN],
        ["6", "see note"],
    ]
    assert [*accessibility_problems(empty), *accessibility_problems(under_way), *accessibility_problems(checked)] == []

    list_address = without_message(await owner_pages.post(address, step="keep"))
    page = await owner_pages.page(list_address)
    for each in ("Found 1", "Off the EU market 1", "Not in the stored copy 1", "Invalid code 1"):
        assert each in page.main
    assert "Pump <b>" in page.main
    only = await owner_pages.page(page.link("Off the EU market"))
    assert [row[0] for row in only.rows] == ["4"]
    assert [*accessibility_problems(page), *accessibility_problems(only)] == []

    assert "Watch 3 devices and actors" in page.main
    watched = await owner_pages.post(f"{list_address}/watch", result="off_market", tag="Ward 3")
    all_watched = await owner_pages.page(watched.headers["location"])
    assert "1 newly watched." in all_watched.main
    assert ("Tag these watches" in all_watched.main, "is watched already" in all_watched.main) == (True, True)
    assert "Watch 2 devices and actors 1 of 3" in (await owner_pages.page(list_address)).main
    of_none = await owner_pages.page(f"{list_address}?result=invalid")
    assert [each["action"] for each in of_none.all("form") if each["action"].endswith("/watch")] == []
    file = await owner_pages.client.get(f"{list_address}/lines.csv")
    [header, *rows] = csv.reader(io.StringIO(file.content.decode("utf-8-sig")))
    assert header[:4] == ["Article", "Barcode", "Ward", "UDI-DI or SRN"]
    assert [(row[3], row[4], row[-1]) for row in rows] == [
        (FOUND, "Found", "no"),
        (OFF, "Off the EU market", "yes"),
        (UNKNOWN, "Not in the stored copy", "no"),
        ("", "Invalid code", "no"),
    ]


async def test_what_was_recognised_wrongly_is_corrected_on_the_page(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    address, checked = await sent(harness, owner_pages, f"GTIN;Own\n{UNKNOWN};{FOUND}\n".encode(), name="Own codes")
    assert checked.rows[0][1] == UNKNOWN

    response = await owner_pages.post(
        address, step="read", code_column="1", heading_row="1", delimiter=";", encoding="utf-8"
    )
    assert response.headers["location"] == address
    await harness.service.lists.worker.work_off()

    assert (await owner_pages.page(address)).rows[0][1] == FOUND


async def test_a_later_file_shows_what_is_new_changed_and_gone(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    list_address = await kept(harness, owner_pages, f"GTIN;Ward\n{FOUND};3\n{OFF};3\n".encode())
    list_id = list_address.rpartition("/")[2]

    address, checked = await sent(harness, owner_pages, f"GTIN;Ward\n{FOUND};4\n{UNKNOWN};3\n".encode(), list=list_id)

    for each in ("1 new", "1 changed in your columns", "0 the same", "1 gone"):
        assert each in checked.main
    changed = await owner_pages.page(checked.link("1 changed in your columns"))
    assert [row[1] for row in changed.rows] == [FOUND, OFF], "the changed line, then what is gone"
    assert accessibility_problems(checked) == []
    await owner_pages.post(address, step="discard")
    assert [row[1] for row in (await owner_pages.page(list_address)).rows] == [FOUND, OFF]


async def test_what_cannot_be_used_says_what_to_do(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    nothing = await owner_pages.post("/app/lists", name="x", list="")
    assert (nothing.status_code, "Choose a file." in Markup.of(nothing).main) == (400, True)

    pdf = await owner_pages.upload("/app/lists", "a.csv", b"%PDF-1.7 x")
    assert (pdf.status_code, "This is a PDF." in Markup.of(pdf).main) == (400, True)

    address, failed = await sent(harness, owner_pages, DAMAGED)
    assert "This file cannot be used." in failed.main
    assert accessibility_problems(failed) == []
    gone = await owner_pages.post(address, step="discard")
    assert without_message(gone) == "/app/lists"
    assert (await owner_pages.client.get(address)).status_code == 404

    huge = await owner_pages.upload("/app/lists", "a.csv", b"x" * (11 * 1024 * 1024))
    assert huge.status_code == 400


async def test_a_list_is_renamed_and_deleted(harness: ServiceHarness, owner_pages: PagesClient) -> None:
    list_address = await kept(harness, owner_pages, f"GTIN\n{FOUND}\n".encode())

    refused = await owner_pages.post(f"{list_address}/name", name=" ")
    await owner_pages.post(f"{list_address}/name", name="<b>Ward</b> 4")
    asked = await owner_pages.page(f"{list_address}/delete")

    assert (refused.status_code, "Name the list." in Markup.of(refused).main) == (400, True)
    assert "<b>Ward</b> 4" in asked.main
    deleted = await owner_pages.post(f"{list_address}/delete", sure="yes")
    assert "The list is deleted." in (await owner_pages.page(deleted.headers["location"])).main
    assert (await owner_pages.client.get(list_address)).status_code == 404


async def test_scanned_codes_become_a_list_and_are_added_to_one(
    harness: ServiceHarness, owner_pages: PagesClient
) -> None:
    scanned = Markup.of(await owner_pages.post("/app/scan", code=f"(01){FOUND}(10)L1", step="read"))
    assert "Add them to a saved list" in scanned.main
    codes = scanned.one("input", name="scanned")["value"]

    caller = await owner_pages.caller()
    response = await owner_pages.post("/app/lists", scanned=codes, name="Round of ward 3", list="")
    await harness.service.lists.worker.work_off()
    [(list_id, name)] = (await harness.service.lists.service.names(caller)).items()
    assert (codes, name) == (FOUND, "Round of ward 3")
    assert without_message(response).startswith(f"/app/lists/{list_id}/uploads/")

    added = await owner_pages.post("/app/lists", scanned=f"{FOUND}\n{OFF}", name="", list=str(list_id))
    page = await owner_pages.page(added.headers["location"])
    assert "Added: 1 new in the list." in page.main
    assert [row[1] for row in page.rows] == [FOUND, OFF]
    again = await owner_pages.post("/app/lists", scanned=OFF, name="Round of ward 3", list="")
    assert (again.status_code, "a list with this name already" in Markup.of(again).main) == (400, True)


def csv_of(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter).writerows(rows)
    return written.getvalue()


NUMBERS = range(10, 70)
CODES = [a_udi(number) for number in NUMBERS]
ODD_FILES = {
    "numbers below a title": lambda: a_workbook(
        ("Stock of the clinic, November",),
        (),
        ("No.", "EAN", "Ward"),
        *((number, int(code), "3") for number, code in enumerate(CODES)),
    ),
    "windows-1252 with semicolons": lambda: csv_of(
        [["Artikel", "Größe", "GTIN-Nummer"], *([f"A{n}", "groß", code[1:]] for n, code in enumerate(CODES))], ";"
    ).encode("cp1252"),
    "utf-16 with tabs, as text for Excel": lambda: csv_of(
        [["Ward", "UDI"], *(["3", f"(01){code}(17)271231(10)L{n}"] for n, code in enumerate(CODES))], "\t"
    ).encode("utf-16"),
    "formulas that keep zeros": lambda: csv_of(
        [["Barcode", "Price"], *([f'="{code}"', "4,50"] for code in CODES)], ";"
    ).encode(),
    "no heading, spaces and dashes": lambda: csv_of(
        [["pump", f"{code[:1]} {code[1:7]}-{code[7:13]} {code[13:]}", "x"] for code in CODES], "|"
    ).encode(),
}


@pytest.mark.parametrize("name", ODD_FILES)
async def test_odd_files_are_watched_and_exported_without_a_correction(
    harness: ServiceHarness, owner_pages: PagesClient, name: str
) -> None:
    for number, code in list(zip(NUMBERS, CODES, strict=True))[:20]:
        await harness.store(a_full_reading(f"u-{number}", code))

    list_address = await kept(harness, owner_pages, ODD_FILES[name]())
    page = await owner_pages.page(list_address)
    assert ("Found 20" in page.main, "Not in the stored copy 40" in page.main) == (True, True), page.main
    watched = await owner_pages.post(f"{list_address}/watch", result="found", tag="All")
    assert "20 newly watched." in (await owner_pages.page(watched.headers["location"])).main
    file = await owner_pages.client.get(f"{list_address}/lines.xlsx")
    sheet = load_workbook(io.BytesIO(file.content)).worksheets[0]
    header, *rows = sheet.iter_rows(values_only=True)
    told = [dict(zip(header, row, strict=True)) for row in rows]
    assert [each["UDI-DI or SRN"] for each in told] == CODES
    assert sum(each["Watched"] == "yes" for each in told) == 20
