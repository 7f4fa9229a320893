"""CSV and XLSX files: whatever a cell holds, it is text."""

import csv
import io
import re
import tempfile
from collections.abc import AsyncIterator, Sequence
from datetime import date, datetime
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

import anyio
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from openpyxl import load_workbook
from starlette.responses import Response
from starlette.types import Message

from registerwatch.accounts.models import Account, Caller, Role
from registerwatch.accounts.plans import PlanName, plans
from registerwatch.files.tables.csv_file import BATCH_ROWS, BYTE_ORDER_MARK, Row, Rows, csv_cell, csv_text
from registerwatch.web.files.spreadsheet import Workbooks, csv_response
from registerwatch.web.files.xlsx_sheet import MAX_CELL_LENGTH

HOSTILE = [
    '=HYPERLINK("http://evil.example","x")',
    "+1+1",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1)",
    "\t=1+1",
    "\r=1+1",
    " =1+1",
    "＝1+1",
    "harmless;=1+1",
    'harmless";"=1+1',
    "a\n=1+1",
    "#REF!",
    "\x00\x01\x0b\x1f\ud800\ufffe",
    "<c><f>1+1</f></c>",
    "_x003D_1+1",
]
texts = st.one_of(st.text(max_size=60), st.text("=+-@;\t\r\n \"'a1|", max_size=12), st.sampled_from(HOSTILE))
FORMULA = re.compile(r"[\s\"']*[=+\-@＝＋－＠]")


async def body_of(response: Response) -> bytes:
    sent: list[bytes] = []

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))

    async def receive() -> Message:
        raise AssertionError("nothing is received")

    await response({"type": "http", "method": "GET", "asgi": {"spec_version": "2.4"}}, receive, send)
    return b"".join(sent)


async def xlsx_response(header: Sequence[str], rows: Rows, *, title: str = "List") -> Response:
    account = Account(1, "owner@acme.example", "Acme", plans(25)[PlanName.TRIAL], 0, 0)
    workbooks = Workbooks(Path(tempfile.gettempdir()))
    return await workbooks.response(Caller(account, Role.OWNER, "", 1), "a.xlsx", header, rows, title=title)


async def rows_of(number: int) -> AsyncIterator[Row]:
    for each in range(number):
        yield f"{each:014}", each, None


@example("x;=1+1")
@given(texts)
def test_no_cell_of_a_csv_file_is_a_formula_whichever_sign_separates_cells(text: str) -> None:
    [[cell, last]] = csv.reader(io.StringIO(csv_text([[text, "end"]]), newline=""))
    assert last == "end"
    assert not re.match(r"\s*[=+\-@＝＋－＠]", cell)
    for piece in re.split(r"[;|\t\r\n]", csv_cell(text))[1:]:
        assert not FORMULA.match(piece) or piece.lstrip(' "').startswith("'")


@given(st.text("abc äß,;\"'.012", max_size=30))
def test_what_is_no_formula_stays_as_it_is(text: str) -> None:
    assert csv_cell(text) == text


async def test_a_csv_file_is_sent_in_pieces_and_opens_in_excel() -> None:
    response = await csv_response("watches.csv", ["Name", "Number", "Tags"], rows_of(2 * BATCH_ROWS + 1))

    text = (await body_of(response)).decode()

    assert text.startswith(BYTE_ORDER_MARK + "Name,Number,Tags\r\n00000000000000,0,\r\n")
    assert len(text.splitlines()) == 2 * BATCH_ROWS + 2
    assert response.headers["content-disposition"] == 'attachment; filename="watches.csv"'
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert response.headers["cache-control"] == "no-store"


async def test_no_cell_of_an_xlsx_file_is_a_formula() -> None:
    rows: list[Row] = [[text, 7, None] for text in [*HOSTILE, "x" * (MAX_CELL_LENGTH + 1), "04012345678901"]]
    response = await xlsx_response(["=Name", "Number", "Tags"], rows, title="Watches")

    content = await body_of(response)

    assert response.headers["content-length"] == str(len(content))
    sheet = load_workbook(io.BytesIO(content))["Watches"]
    cells = [cell for row in sheet.iter_rows(max_col=1) for cell in row]
    assert len(cells) == len(rows) + 1
    assert {cell.data_type for cell in cells if cell.value is not None} == {"s"}
    assert cells[0].value == "=Name"
    assert cells[1].value == HOSTILE[0]
    assert cells[1].quotePrefix
    assert cells[-1].value == "04012345678901"
    assert len(str(cells[-2].value)) == MAX_CELL_LENGTH
    assert [sheet["B2"].value, sheet["B2"].data_type] == [7, "n"]


async def test_days_and_instants_are_dates_but_those_that_excel_does_not_have() -> None:
    cells = [date(2031, 11, 21), datetime.fromisoformat("2026-11-22T18:03:05"), date(1, 1, 1), date(9999, 12, 31)]
    content = await body_of(await xlsx_response(["A", "B", "C", "D"], [cells]))

    found = load_workbook(io.BytesIO(content)).worksheets[0][2]

    assert [(cell.data_type, str(cell.value)) for cell in found] == [
        ("d", "2031-11-21 00:00:00"),
        ("d", "2026-11-22 18:03:05"),
        ("s", "0001-01-01"),
        ("d", "9999-12-31 00:00:00"),
    ]
    assert [cell.number_format for cell in found[:2]] == ["yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"]
    assert csv_text([cells]) == "2031-11-21,2026-11-22 18:03:05,0001-01-01,9999-12-31\r\n"


async def test_the_first_days_that_excel_has_are_those_days() -> None:
    days = [date(1900, 1, 1), date(1900, 2, 28), date(1900, 3, 1), datetime.fromisoformat("1900-01-02T12:00:00")]
    content = await body_of(await xlsx_response(["A"], [[each] for each in days]))

    found = [row[0].value for row in load_workbook(io.BytesIO(content)).worksheets[0].iter_rows(min_row=2)]
    assert [str(each) for each in found] == [
        "1900-01-01 00:00:00",
        "1900-02-28 00:00:00",
        "1900-03-01 00:00:00",
        "1900-01-02 12:00:00",
    ]


async def test_a_workbook_has_its_heading_in_sight_a_filter_and_columns_as_wide_as_what_they_show() -> None:
    rows: list[Row] = [["x" * 30, "", None, True, 0.5, "more than headings"], ["y" * 99, *[None] * 4]]
    content = await body_of(await xlsx_response(["Name", "A & B", "<c>", "d", "e"], rows, title='"<&>"'))

    sheet = load_workbook(io.BytesIO(content)).worksheets[0]
    assert (sheet.title, sheet.freeze_panes, sheet.auto_filter.ref) == ('"<&>"', "A2", "A1:E3")
    assert [sheet.column_dimensions[each].width for each in "ABC"] == [60, 10, 10]
    assert [cell.value for cell in sheet[1]] == ["Name", "A & B", "<c>", "d", "e", None]
    assert all(cell.font.bold for cell in sheet[1][:5])
    assert [cell.value for cell in sheet[2]] == ["x" * 30, None, None, True, 0.5, "more than headings"]
    with ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        for name in archive.namelist():
            ElementTree.fromstring(archive.read(name))


@given(st.lists(texts, max_size=5))
def test_whatever_texts_there_are_the_file_can_be_read(values: list[str]) -> None:
    async def cells() -> list[tuple[str, object]]:
        content = await body_of(await xlsx_response(["A"], [[each] for each in values]))
        sheet = load_workbook(io.BytesIO(content)).worksheets[0]
        return [(row[0].data_type, row[0].value) for row in sheet.iter_rows(min_row=2)]

    found = anyio.run(cells)
    assert all(kind == "s" for kind, value in found if value is not None)


async def test_an_empty_list_has_its_header_and_an_error_is_raised_before_anything_is_sent() -> None:
    content = await body_of(await xlsx_response(["Name"], []))
    assert [cell.value for cell in load_workbook(io.BytesIO(content)).worksheets[0][1]] == ["Name"]
    assert await body_of(await csv_response("a.csv", ["Name"], [])) == b"\xef\xbb\xbfName\r\n"

    async def broken() -> AsyncIterator[Row]:
        yield ("a",)
        raise LookupError

    for made in (csv_response("a.csv", ["Name"], broken()), xlsx_response(["Name"], broken())):
        with pytest.raises(LookupError):
            await made


@pytest.mark.parametrize("name", ['a".csv', "a\r\nX: y.csv", "../a.csv", "ä.csv", ""])
async def test_a_file_name_that_could_break_a_header_is_refused(name: str) -> None:
    with pytest.raises(AssertionError, match="file name"):
        await csv_response(name, ["Name"], [])
