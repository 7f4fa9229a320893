"""Written files: no cell is a formula, codes keep their zeros, and everything is read back as it was."""

import csv
import io
from collections.abc import AsyncIterator, Sequence

import anyio
from hypothesis import example, given
from hypothesis import strategies as st

from registerwatch.files.tables.cells import one_line
from registerwatch.files.tables.csv_file import BYTE_ORDER_MARK, csv_chunks
from registerwatch.files.tables.formula_guard import NOT_IN_XML, guarded, unguarded
from registerwatch.files.tables.table import ReadChoices, Table
from registerwatch.files.tables.table_reader import read_table
from registerwatch.web.files.xlsx_sheet import XlsxSheet
from tests.register.builders import PROPERTY

UDI = "04012345000009"
HEADINGS = ["GTIN", "Name", "Note"]
FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@a",
    "\t=1",
    "\r=1",
    " =1",
    "＝1",
    "a;=1",
    'a";"=1',
    '=HYPERLINK("x")',
    "-2+3|' /C calc'!A0",
]


async def rows_of(rows: Sequence[Sequence[str]]) -> AsyncIterator[Sequence[str]]:
    for row in rows:
        yield row


def csv_file(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    async def joined() -> bytes:
        return b"".join([each async for each in csv_chunks(headings, rows_of(rows))])

    return anyio.run(joined)


def xlsx_file(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    file = io.BytesIO()
    sheet = XlsxSheet(file, "List", headings)
    sheet.append(rows)
    sheet.finish()
    return file.getvalue()


texts = st.text(max_size=30) | st.text("=+-@;|\t\r\n \"'a1,.E_x0D", max_size=12) | st.sampled_from(FORMULAS)


def as_read(text: str) -> str:
    return one_line(NOT_IN_XML.sub("", text.replace("\x85", " ")))


def is_kept(text: str) -> bool:
    """Whether a text has nothing that spreadsheets write around others, as that would be taken away."""
    return unguarded(as_read(text)) == as_read(text) and not as_read(text).startswith('="')


tables = st.lists(st.lists(texts.filter(is_kept), min_size=3, max_size=3), max_size=6)


@PROPERTY
@example([["=1+1", "a;=1", "x"], ["", "-5", '"'], [UDI, "_x000D_", "a,b"]])
@given(tables)
def test_rows_are_read_back_from_both_kinds_of_files(rows: list[list[str]]) -> None:
    written = [[as_read(text) for text in row] for row in rows]
    expected = [row for row in written if any(row)]
    choices = ReadChoices(heading_row=1, code_column=0, delimiter=",")

    for content in (csv_file(HEADINGS, rows), xlsx_file(HEADINGS, rows)):
        found = read_table(content, choices)

        assert found.headings == HEADINGS
        assert [[*row.cells, "", "", ""][:3] for row in found.rows] == expected


def test_a_list_needs_no_choices_to_be_read_back() -> None:
    rows = [[UDI, "Größe; 5", "=1+1"], ["", 'quoted "x"', ""], ["00000000000017", "-", "4,50"]]

    for content in (csv_file(HEADINGS, rows), xlsx_file(HEADINGS, rows)):
        found: Table = read_table(content, ReadChoices())

        assert (found.headings, found.choices.code_column, found.choices.heading_row) == (HEADINGS, 0, 1)
        assert [[*row.cells, "", ""][:3] for row in found.rows] == rows


@given(st.sampled_from(FORMULAS) | st.text('=+-@;| "a1', max_size=12))
def test_a_guarded_text_is_itself_again(text: str) -> None:
    assert unguarded(guarded(text)) == " ".join(text.splitlines()) or "\t" in text or "\r" in text


def test_no_cell_of_a_csv_file_is_a_formula() -> None:
    text = csv_file(HEADINGS, [[each, "x", ""] for each in FORMULAS]).decode()

    assert text.startswith(f"{BYTE_ORDER_MARK}GTIN,Name,Note\r\n")
    for [cell, *_] in csv.reader(io.StringIO(text.removeprefix(BYTE_ORDER_MARK), newline="")):
        assert not cell.lstrip().startswith(("=", "+", "-", "@", "＝"))
