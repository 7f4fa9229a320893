"""Saved lists over REST: what is sent is matched with the copy, kept, followed, watched and exported."""

import asyncio
import csv
import io
from datetime import date, datetime
from typing import Any

import pytest
from openpyxl import load_workbook

from registerwatch.files.lists.models import LineFilter
from registerwatch.register.codes import StatusFilter
from registerwatch.register.models import Certificate
from registerwatch.register.other_codes import OtherCode
from tests.files.lists.steps import ListSteps
from tests.files.tables.workbooks import a_workbook
from tests.pages.account.pages_client import PagesClient
from tests.register.builders import a_full_reading, a_udi
from tests.support.harness import ServiceHarness
from tests.support.list_files import DAMAGED, list_worker

FOUND, OFF, ENDED, UNKNOWN, BARE = (a_udi(number) for number in range(5))
PAST, FUTURE = "2027-01-14", "2030-01-01"


async def fill(harness: ServiceHarness) -> None:
    """Devices of each kind: one is fine, one off the market, one has an ended certificate, one has none."""
    await harness.store(a_full_reading("u-1", FOUND, certs=(Certificate("C-1", expiry=FUTURE),), trade_name="Pump"))
    await harness.store(a_full_reading("u-2", OFF, status_code=StatusFilter.OFF.code))
    ended = (Certificate("C-2", expiry=PAST), Certificate("C-3", expiry=FUTURE, status_code="x.withdrawn"))
    await harness.store(a_full_reading("u-3", ENDED, certs=ended))
    await harness.store(a_full_reading("u-5", BARE, certs=()))


def a_file(*codes: str) -> str:
    return "Article;GTIN;Ward\n" + "".join(f"A-{number};{code};W {number}\n" for number, code in enumerate(codes, 1))


async def test_each_line_is_told_as_the_copy_has_it(harness: ServiceHarness, lists: ListSteps) -> None:
    await fill(harness)
    codes = (f"{FOUND[:7]} {FOUND[7:]}", OFF, ENDED, UNKNOWN, "4,01235E+12", "", FOUND)

    list_id = await lists.kept(a_file(*codes))

    lines = await lists.lines(list_id)
    assert [(each["line"], each["subject"], each["coverage"]) for each in lines] == [
        (2, FOUND, "found"),
        (3, OFF, "off_market"),
        (4, ENDED, "certificate_ended"),
        (5, UNKNOWN, "unknown"),
        (6, None, "invalid"),
        (7, None, "invalid"),
        (8, FOUND, "found"),
    ]
    assert lines[0]["cells"] == {"Article": "A-1", "Ward": "W 1"}
    assert (lines[0]["name"], lines[0]["certified_until"], lines[2]["certified_until"]) == ("Pump", FUTURE, "")
    assert [each["reason"] for each in lines if each["coverage"] == "invalid"] == [
        "a spreadsheet has shortened this number; format its column as text and export the list again.",
        "the row has no code.",
    ]
    assert await lists.coverage(list_id) == {
        "lines": 7,
        "found": 2,
        "off_market": 1,
        "certificate_ended": 1,
        "unknown": 1,
        "invalid": 2,
    }


async def test_nothing_is_kept_before_somebody_says_so(harness: ServiceHarness, lists: ListSteps) -> None:
    await fill(harness)

    list_id, answer = await lists.matched(a_file(FOUND, OFF), filename="stock.csv")

    assert (answer["upload"]["state"], answer["upload"]["filename"], answer["upload"]["matched"]) == (
        "ready",
        "stock.csv",
        2,
    )
    assert (await lists.get(f"/v1/lists/{list_id}"))["list"]["coverage"] is None
    refused = await lists.request("GET", f"/v1/lists/{list_id}/lines")
    assert (refused.status_code, refused.json()["error"]) == (400, "This list has no lines yet.")

    kept = await lists.request("POST", f"/v1/lists/{list_id}/uploads/{answer['upload']['id']}/keep", json={})
    assert kept.json()["list"]["coverage"]["lines"] == 2
    again = await lists.request("POST", f"/v1/lists/{list_id}/uploads/{answer['upload']['id']}/keep", json={})
    assert again.json() == kept.json()


async def test_what_was_recognised_wrongly_can_be_corrected(harness: ServiceHarness, lists: ListSteps) -> None:
    await fill(harness)
    list_id, answer = await lists.matched(f"GTIN;Other\n{UNKNOWN};{FOUND}\n")
    upload_id = answer["upload"]["id"]
    assert answer["coverage"]["unknown"] == 1

    await lists.request("PATCH", f"/v1/lists/{list_id}/uploads/{upload_id}", json={"code_column": 1})
    await lists.work()

    answer = await lists.get(f"/v1/lists/{list_id}/uploads/{upload_id}")
    assert (answer["upload"]["reading"]["code_column"], answer["coverage"]["found"]) == (1, 1)


NO_LISTS = {
    "a PDF": (b"%PDF-1.7 ...", {}, "This is a PDF."),
    "a program": (b"\x7fELF\x02\x01\x01\x00", {}, "This file is no text"),
    "UTF-16 as something else": ("GTIN\n".encode("utf-16-le"), {"encoding": "cp850"}, "This file is no text"),
}


@pytest.mark.parametrize(("content", "params", "message"), NO_LISTS.values(), ids=NO_LISTS)
async def test_what_begins_as_no_list_is_refused_and_the_list_and_its_upload_stay(
    harness: ServiceHarness, lists: ListSteps, content: bytes, params: dict[str, str], message: str
) -> None:
    await lists.kept(a_file(FOUND))
    await lists.send(a_file(OFF))
    before = harness.all_rows()

    refused = await lists.request("POST", "/v1/lists", params={"name": "Stock", **params}, content=content)
    other = await lists.request("POST", "/v1/lists", params={"name": "Other", **params}, content=content)

    for each in (refused, other):
        assert (each.status_code, each.json()["code"]) == (400, "invalid-input")
        assert each.json()["error"].startswith(message)
    after = harness.all_rows()
    for table in ("item_lists", "list_uploads", "list_lines"):
        assert after[table] == before[table]


async def test_a_file_that_cannot_be_read_says_why_and_the_list_stays(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    await fill(harness)
    list_id = await lists.kept(a_file(FOUND))

    _, answer = await lists.matched(DAMAGED)

    assert answer["upload"]["state"] == "failed"
    assert "damaged" in answer["upload"]["error"]
    assert (await lists.coverage(list_id))["found"] == 1
    refused = await lists.request("POST", f"/v1/lists/{list_id}/uploads/{answer['upload']['id']}/keep", json={})
    assert refused.status_code == 400


async def test_a_later_file_tells_what_is_new_changed_and_gone(harness: ServiceHarness, lists: ListSteps) -> None:
    await fill(harness)
    await lists.kept(f"Article;GTIN\nA;{FOUND}\nB;{OFF}\nC;{FOUND}\nD;odd 1\n")

    list_id, answer = await lists.matched(f"Article;GTIN\nA;{FOUND[1:]}\nX;{FOUND}\nD;odd-1\nE;{ENDED}\n")

    upload_id = answer["upload"]["id"]
    assert answer["differences"] == {"new": 1, "changed": 1, "same": 2, "gone": 1}
    changed = await lists.lines(list_id, upload=upload_id, change="changed")
    assert [each["cells"]["Article"] for each in changed] == ["X"]
    preview = await harness.service.lists.service.preview(
        await harness.owner(), list_id, upload_id, LineFilter(), limit=10, offset=0
    )
    assert [(each.line.subject, each.line.cells) for each in preview.gone] == [(OFF, ["B"])]


async def test_lines_follow_the_copy(harness: ServiceHarness, lists: ListSteps) -> None:
    await fill(harness)
    list_id = await lists.kept(a_file(FOUND, UNKNOWN, OFF))
    assert await lists.coverage(list_id) == {"lines": 3, "found": 1, "unknown": 1, "off_market": 1}

    harness.clock.move(60)
    await harness.store(a_full_reading("u-1", FOUND, version=2, status_code=StatusFilter.NOT_EU.code))
    await harness.store(a_full_reading("u-4", UNKNOWN))
    assert (await lists.coverage(list_id))["changes_behind"] > 0
    await lists.follow()

    assert await lists.coverage(list_id) == {"lines": 3, "found": 1, "off_market": 2}


async def test_a_line_says_one_thing_of_its_device_before_its_list_has_taken_in_a_change(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    await fill(harness)
    list_id = await lists.kept(a_file(FOUND, ENDED, UNKNOWN))
    harness.clock.move(60)
    off = "No longer placed on the EU market"
    await harness.store(a_full_reading("u-1", FOUND, version=2, status=off, status_code=StatusFilter.OFF.code))
    renewed = (Certificate("C-2", expiry=FUTURE),)
    await harness.store(a_full_reading("u-3", ENDED, version=2, certs=renewed))
    await harness.store(a_full_reading("u-4", UNKNOWN))

    lines = await lists.lines(list_id)
    file = (await lists.request("GET", f"/v1/lists/{list_id}/lines.csv")).text
    pages = PagesClient(harness)
    await pages.sign_in(lists.owner.email, lists.owner.password)
    page = await pages.page(f"/app/lists/{list_id}")

    assert (await lists.coverage(list_id))["changes_behind"] > 0
    assert [(each["coverage"], each["status"], each["certified_until"]) for each in lines] == [
        ("off_market", off, None),
        ("found", "", FUTURE),
        ("found", "", None),
    ]
    rows = csv.DictReader(io.StringIO(file.removeprefix("\ufeff")))
    assert [each["Result"] for each in rows] == ["Off the EU market", "Found", "Found"]
    assert [row[4] for row in page.rows] == ["! Off the EU market", "– Found", "– Found"]
    await lists.follow()
    assert await lists.lines(list_id) == lines


async def test_a_certificate_ends_by_its_date_alone(harness: ServiceHarness, lists: ListSteps) -> None:
    await fill(harness)
    list_id = await lists.kept(a_file(FOUND, BARE))
    assert (await lists.coverage(list_id))["found"] == 2

    harness.clock.move(4 * 366 * 24 * 3600)

    caller = await harness.owner()
    assert (await harness.service.lists.service.one(caller, list_id)).counts.of == {  # type: ignore[union-attr]
        "found": 1,
        "certificate_ended": 1,
    }


async def test_a_code_that_the_copy_has_under_another_spelling_is_found_a_day_later(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    list_id = await lists.kept("HIBC\n+A99912345/$$52001510X33\n")
    assert (await lists.coverage(list_id))["unknown"] == 1
    await harness.store(a_full_reading("u-9", "+A99912345"))

    await lists.follow()
    harness.clock.move(24 * 3600 + 1)
    await lists.follow()

    assert [each["coverage"] for each in await lists.lines(list_id)] == ["found"]


async def test_the_code_of_a_carton_is_its_device(harness: ServiceHarness, lists: ListSteps) -> None:
    carton = OtherCode(UNKNOWN, "container_package", quantity=10, contains=FOUND)
    await harness.store(a_full_reading("u-1", FOUND, other_codes=(carton,)))

    list_id = await lists.kept(a_file(UNKNOWN, FOUND))

    assert [(each["code"], each["subject"], each["coverage"]) for each in await lists.lines(list_id)] == [
        (UNKNOWN, FOUND, "found"),
        (FOUND, FOUND, "found"),
    ]


async def test_the_code_of_a_carton_that_comes_to_another_device_leads_there_a_day_later(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    carton = OtherCode(UNKNOWN, "container_package")
    await harness.store(a_full_reading("u-1", FOUND, other_codes=(carton,)))
    list_id = await lists.kept(a_file(UNKNOWN))

    harness.clock.move(60)
    await harness.store(a_full_reading("u-1", FOUND, version=2))
    await harness.store(a_full_reading("u-2", OFF, other_codes=(carton,)))
    harness.clock.move(24 * 3600 + 1)
    await lists.follow()

    assert [each["subject"] for each in await lists.lines(list_id)] == [OFF]


async def test_a_code_of_no_known_form_is_found_once_the_copy_has_it(harness: ServiceHarness, lists: ListSteps) -> None:
    list_id = await lists.kept("GTIN\nABC-PUMP-77\n")
    assert (await lists.coverage(list_id))["invalid"] == 1

    await harness.store(a_full_reading("u-7", "ABC-PUMP-77"))
    harness.clock.move(24 * 3600 + 1)
    await lists.follow()

    assert [each["coverage"] for each in await lists.lines(list_id)] == ["found"]


async def test_a_certificate_that_begins_later_ends_too(harness: ServiceHarness, lists: ListSteps) -> None:
    later = Certificate("C-1", valid_from="2027-03-01", expiry="2028-03-01")
    await harness.store(a_full_reading("u-1", FOUND, certs=(later,)))
    list_id = await lists.kept(a_file(FOUND))

    assert [each["certified_until"] for each in await lists.lines(list_id)] == ["2028-03-01"]


async def test_odd_filters_and_appended_codes_are_taken_on_both_databases(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    list_id = await lists.kept(a_file(FOUND))
    odd: list[dict[str, str | int]] = [{"text": "\x00"}, {"text": "a " * 99}, {"after": 2**31 - 1}]
    for params in odd:
        answer = await lists.request("GET", f"/v1/lists/{list_id}/lines", params=params)
        assert answer.status_code == 200, (params, answer.text)
    assert (await lists.request("GET", f"/v1/lists/{list_id}/lines", params={"after": 2**31})).status_code == 400

    service, caller = harness.service.lists.service, await harness.owner()
    assert await service.append(caller, list_id, ["nul\x00", "x" * 12_000, OFF, OFF, FOUND]) == 3
    assert [len(each["code"]) for each in await lists.lines(list_id)] == [14, 3, 200, 14]


async def test_a_node_that_was_slow_does_not_undo_what_another_one_has_taken_in(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    await fill(harness)
    list_id = await lists.kept(a_file(FOUND))
    nodes = [list_worker(harness), list_worker(harness)]
    for version in range(2, 6):
        harness.clock.move(60)
        status = StatusFilter.OFF if version % 2 else StatusFilter.ON
        await harness.store(a_full_reading("u-1", FOUND, version=version, status_code=status.code))
        await asyncio.gather(*(node.follow() for node in nodes))

    assert (await lists.coverage(list_id)) == {"lines": 1, "off_market": 1}


async def test_lines_of_a_filter_are_watched_with_a_tag(harness: ServiceHarness, lists: ListSteps) -> None:
    await fill(harness)
    await harness.post_watches(lists.owner.api_key, FOUND)
    list_id = await lists.kept(a_file(FOUND, OFF, ENDED, UNKNOWN, "odd"))

    some = await lists.request("POST", f"/v1/lists/{list_id}/watch", json={"coverage": "off_market"})
    rest = await lists.request("POST", f"/v1/lists/{list_id}/watch", json={"tags": ["Stock"]})

    assert some.json() == {"added": 1, "watched": 0, "left": 0}
    assert rest.json() == {"added": 2, "watched": 2, "left": 0}
    assert (await lists.coverage(list_id))["watched"] == 4
    assert len(await lists.lines(list_id, watched="false")) == 1
    caller = await harness.owner()
    assert await harness.service.watches.tags.counts(caller) == {"Stock": 4}


async def test_what_the_plan_has_no_room_for_is_told(harness: ServiceHarness, lists: ListSteps) -> None:
    codes = [a_udi(number) for number in range(40)]
    list_id = await lists.kept(a_file(*codes))

    watched = (await lists.request("POST", f"/v1/lists/{list_id}/watch", json={})).json()

    cap = (await harness.owner()).account.plan.watches
    assert watched == {"added": cap, "watched": 0, "left": 40 - cap}


async def test_the_line_of_a_manufacturer_has_its_status_in_answers_as_in_files(
    harness: ServiceHarness, lists: ListSteps
) -> None:
    srn = harness.unique_devices(1)[0].manufacturer.srn
    assert (await harness.get("/v1/refresh", q=srn)).json()["refreshed"]
    list_id = await lists.kept(a_file(srn))

    [line] = await lists.lines(list_id)

    [header, row] = csv.reader(io.StringIO((await lists.request("GET", f"/v1/lists/{list_id}/lines.csv")).text))
    assert (line["status"], dict(zip(header, row, strict=True))["Market status"]) == ("Active", "Active")


async def test_a_list_is_exported_with_its_own_columns_and_ours(harness: ServiceHarness, lists: ListSteps) -> None:
    await fill(harness)
    list_id = await lists.kept(f"Article;GTIN;Name\n=1+1;{FOUND};Pümpe\n-2;{UNKNOWN};\n")

    as_csv = await lists.request("GET", f"/v1/lists/{list_id}/lines.csv", params={"coverage": "found"})
    as_xlsx = await lists.request("GET", f"/v1/lists/{list_id}/lines.xlsx")

    [header, row] = csv.reader(io.StringIO(as_csv.content.decode("utf-8-sig")))
    told: dict[str, Any] = dict(zip(header, row, strict=True))
    assert (told["Article"], told["GTIN"], told["Name"], told["Name (Registerwatch)"]) == (
        "'=1+1",
        FOUND,
        "Pümpe",
        "Pump",
    )
    assert (told["UDI-DI or SRN"], told["Result"], told["Covered until"]) == (FOUND, "Found", FUTURE)
    assert (told["First end"], told["Certificates"]) == (FUTURE, "Valid")
    sheet = load_workbook(io.BytesIO(as_xlsx.content)).active
    assert sheet is not None
    rows = list(sheet.iter_rows(values_only=True))
    assert len(rows) == 3
    assert rows[1][:2] == ("=1+1", FOUND)


async def test_cells_of_a_workbook_have_their_types_when_they_are_taken_away(lists: ListSteps) -> None:
    given = [
        (FOUND, "007", 12, 0.25, date(2026, 3, 1), "x", True),
        (UNKNOWN, "12", -3.5, 1, datetime(2026, 3, 1, 8, 30), 4, False),  # noqa: DTZ001  # workbooks have no zones
        (int(OFF), "n/a", "about 5", 0.1 + 0.2, None, "5", None),
    ]
    headings = ("GTIN", "Article", "Quantity", "Share", "Bought", "Mixed", "Sterile")
    list_id = await lists.kept(a_workbook(headings, *given))

    taken = await lists.request("GET", f"/v1/lists/{list_id}/lines.xlsx")
    as_csv = await lists.request("GET", f"/v1/lists/{list_id}/lines.csv")

    sheet = load_workbook(io.BytesIO(taken.content)).active
    assert sheet is not None
    rows = [row[: len(headings)] for row in sheet.iter_rows(min_row=2, values_only=True)]
    assert [list(map(type, row)) for row in rows] == [
        [str, str, int, float, datetime, str, bool],
        [str, str, float, int, datetime, str, bool],
        [str, str, str, float, type(None), str, type(None)],
    ]
    assert rows == [
        (FOUND, "007", 12, 0.25, datetime(2026, 3, 1), "x", True),  # noqa: DTZ001
        (UNKNOWN, "12", -3.5, 1, datetime(2026, 3, 1, 8, 30), "4", False),  # noqa: DTZ001
        (OFF.lstrip("0"), "n/a", "about 5", 0.3, None, "5", None),
    ]
    assert f"{UNKNOWN},12,'-3.5,1,2026-03-01 08:30:00,4,False," in as_csv.text


async def test_a_column_of_a_text_file_that_is_all_numbers_is_numbers_in_a_workbook(lists: ListSteps) -> None:
    list_id = await lists.kept(
        f"GTIN;Quantity;Article;Version;Long;EAN\n{FOUND};12;007;1.10;1;{OFF}\n{OFF};;8;1.2;1234567890123456;{OFF}\n"
    )

    taken = await lists.request("GET", f"/v1/lists/{list_id}/lines.xlsx")

    sheet = load_workbook(io.BytesIO(taken.content)).active
    assert sheet is not None
    assert [row[:6] for row in sheet.iter_rows(min_row=2, values_only=True)] == [
        (FOUND, 12, "007", "1.10", "1", OFF),
        (OFF, None, "8", "1.2", "1234567890123456", OFF),
    ]


async def test_a_list_is_renamed_and_deleted_with_its_lines(harness: ServiceHarness, lists: ListSteps) -> None:
    list_id = await lists.kept(a_file(UNKNOWN))
    await lists.kept(a_file(UNKNOWN), "Other")

    taken = await lists.request("PATCH", f"/v1/lists/{list_id}", json={"name": " Other "})
    renamed = await lists.request("PATCH", f"/v1/lists/{list_id}", json={"name": "Ward 3"})
    assert (taken.status_code, renamed.json()["list"]["name"]) == (400, "Ward 3")

    assert (await lists.request("DELETE", f"/v1/lists/{list_id}")).json() == {"ok": True}
    assert [each["name"] for each in (await lists.get("/v1/lists"))["lists"]] == ["Other"]
    assert (await lists.request("GET", f"/v1/lists/{list_id}")).status_code == 400


async def test_lists_of_others_are_not_there(harness: ServiceHarness, lists: ListSteps) -> None:
    list_id = await lists.kept(a_file(UNKNOWN))
    upload_id = (await lists.get(f"/v1/lists/{list_id}"))["list"]["kept"]["id"]
    stranger = ListSteps(harness, await harness.sign_up("b@other.example"))
    before = harness.all_rows()

    for method, path, body in (
        ("GET", "", None),
        ("GET", "/lines", None),
        ("GET", "/lines.csv", None),
        ("GET", f"/uploads/{upload_id}", None),
        ("PATCH", "", {"name": "x"}),
        ("PATCH", f"/uploads/{upload_id}", {"code_column": 0}),
        ("POST", f"/uploads/{upload_id}/keep", {}),
        ("POST", "/watch", {}),
        ("DELETE", f"/uploads/{upload_id}", None),
        ("DELETE", "", None),
    ):
        answer = await stranger.request(method, f"/v1/lists/{list_id}{path}", json=body)
        assert answer.status_code in (200, 400), path
        assert answer.status_code == 400 or answer.json() == {"ok": True}
    assert harness.all_rows()["list_lines"] == before["list_lines"]
    assert harness.all_rows()["item_lists"] == before["item_lists"]
    assert (await stranger.get("/v1/lists"))["lists"] == []
