"""Workbooks as tables: cells of every kind, the three formats, odd workbooks, workbooks that are attacks."""

import contextlib
import io
import struct
import zipfile
from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.cells import MAX_CELL_LENGTH
from registerwatch.files.tables.table import MAX_COLUMNS, MAX_ROWS, ReadChoices
from registerwatch.files.tables.table_reader import read_table
from tests.files.tables.workbooks import (
    STRICT,
    a_workbook,
    a_written_workbook,
    an_archive,
    an_ods,
    an_xlsb,
    ods_cell,
    ods_text,
    saved,
    with_part,
)
from tests.register.builders import PROPERTY

UDI = "04012345000009"
ANY = ReadChoices()


def test_cells_of_an_export_are_read_as_a_person_sees_them() -> None:
    found = read_table(
        a_workbook(
            ["Klinikum Nord: Bestand"],
            ["Artikel", "GTIN", "Ablauf", "Preis", "Steril", "Summe"],
            ["Gröẞe  5", 4012345000009, date(2028, 1, 31), 12.5, True, "=D3*2"],
            [None, UDI, datetime.fromisoformat("2028-01-31T10:30:00"), 0.1 + 0.2, False, "#N/A"],
            ["shortened", 10**15, time(10, 30), -3, None, None],
            [None, "=A1", None, None, None, 7],
            change=lambda sheet: (sheet.merge_cells("A1:F1"), sheet.merge_cells("A3:A4")),
        ),
        ANY,
    )

    assert found.headings == ["Artikel", "GTIN", "Ablauf", "Preis", "Steril", "Summe"]
    assert [(row.number, row.code, row.problem) for row in found.rows] == [
        (3, "4012345000009", ""),
        (4, UDI, ""),
        (5, "1e+15", "shortened"),
        (6, "", ""),
    ]
    assert [row.cells for row in found.rows] == [
        ["Gröẞe 5", "4012345000009", "2028-01-31", "12.5", "True"],
        ["", UDI, "2028-01-31 10:30:00", "0.3", "False"],
        ["shortened", "1e+15", "10:30:00", "-3"],
        ["", "", "", "", "", "7"],
    ]
    assert found.choices == ReadChoices(sheet="Sheet", heading_row=2, code_column=1)
    assert (found.sheets, found.code_columns, found.left_out_columns) == (["Sheet"], [1], 0)


CELLS = {
    "a shared text with several formats": ('<c t="s"><v>0</v></c>', "rich text", ""),
    "a text that tells how it is pronounced": ('<c t="s"><v>1</v></c>', "東京", ""),
    "an inline text with several formats": ('<c t="inlineStr"><is><r><t>a</t></r><r><t>b</t></r></is></c>', "ab", ""),
    "the stored text of a formula": ('<c t="str"><f>"a"&amp;"b"</f><v>ab</v></c>', "ab", ""),
    "the stored number of a formula": ("<c><f>1+1</f><v>4.012345000009E12</v></c>", "4012345000009", ""),
    "a formula whose stored text is empty": ('<c t="str"><f>A2</f><v></v></c><c r="D1"><v>1</v></c>', "", ""),
    "a formula without a result": ('<c><f>1+1</f></c><c r="D1"><v>1</v></c>', "", ""),
    "a shortened number that was made a text": (
        '<c t="inlineStr"><is><t>4,01E+12</t></is></c>',
        "4,01E+12",
        "shortened",
    ),
    "an error": ('<c t="e"><v>#DIV/0!</v></c><c r="D1"><v>1</v></c>', "", ""),
    "a number with an exponent": ("<c><v>4.012345000009E+12</v></c>", "4012345000009", ""),
    "a number of 15 digits": ("<c><v>123456789012345</v></c>", "123456789012345", ""),
    "a number with leading zeros": ("<c><v>0042</v></c>", "42", ""),
    "a day": ('<c s="1"><v>45000</v></c>', "2023-03-15", "date"),
    "a day in a format of its own": ('<c s="2"><v>45000.25</v></c>', "2023-03-15 06:00:00", "date"),
    "a GTIN in a format of dates": ('<c s="1"><v>4012345000009</v></c>', "4012345000009", ""),
    "a time that was measured": ('<c s="4"><v>1.5</v></c>', "1 day, 12:00:00", "date"),
    "a GTIN in a format that shows leading zeros": ('<c s="5"><v>4012345000009</v></c>', "4012345000009", ""),
    "a number with a word in its format": ('<c s="3"><v>45000</v></c>', "45000", ""),
    "a day by its name": ('<c t="d"><v>2026-01-02T00:00:00</v></c>', "2026-01-02", "date"),
    "signs by their numbers": ('<c t="inlineStr"><is><t>a_x000D_b_x005F_c</t></is></c>', "a b_c", ""),
    "a style and no value": ('<c s="1"/><c r="D1"><v>1</v></c>', "", ""),
}
TEXTS = (
    "<si><r><rPr><b/></rPr><t>rich</t></r><r><t xml:space='preserve'> text</t></r></si>"
    "<si><t>東京</t><rPh sb='0' eb='2'><t>トウキョウ</t></rPh></si>"
)
STYLES = (
    '<numFmts><numFmt numFmtId="170" formatCode="dd/mm/yyyy\\ hh:mm"/>'
    '<numFmt numFmtId="171" formatCode="0&quot; days&quot;"/><numFmt numFmtId="172" formatCode="00000000000000"/>'
    '</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/>'
    '<xf numFmtId="170"/><xf numFmtId="171"/><xf numFmtId="46"/><xf numFmtId="172"/></cellXfs>'
)


@pytest.mark.parametrize(("cell", "text", "problem"), CELLS.values(), ids=CELLS)
def test_a_cell_as_other_programs_write_it(cell: str, text: str, problem: str) -> None:
    content = a_written_workbook(f"<row>{cell}</row>", texts=TEXTS, styles=STYLES)

    row = read_table(content, ReadChoices(heading_row=0, code_column=0)).rows[0]

    assert (row.number, row.cells[0], row.problem) == (1, text, problem)


ODS = (
    ods_text("UDI"),
    ods_text(UDI),
    ods_cell('office:value-type="float" office:value="4012345000016"'),
    ods_cell('office:value-type="date" office:date-value="2028-01-31"'),
    ods_cell('table:number-columns-repeated="16384"', ""),
    ods_cell('table:formula="of:=1+1" office:value-type="float" office:value="2"'),
)


def test_a_workbook_of_opendocument_is_read() -> None:
    found = read_table(an_ods(*ODS), ANY)

    assert (found.headings, found.sheets, found.choices.sheet) == (["UDI"], ["Liste"], "Liste")
    assert [(row.number, row.code, row.problem) for row in found.rows] == [
        (2, UDI, ""),
        (3, "4012345000016", ""),
        (4, "2028-01-31", "date"),
        (6, "2", ""),
    ]


def test_a_binary_workbook_is_read() -> None:
    found = read_table(an_xlsb("UDI", UDI, 4012345000016, 1e17), ANY)

    assert (found.headings, found.sheets, found.choices.sheet) == (["UDI"], ["Liste"], "Liste")
    assert [(row.number, row.code, row.problem) for row in found.rows] == [
        (2, UDI, ""),
        (3, "4012345000016", ""),
        (4, "1e+17", "shortened"),
    ]


def test_days_are_counted_from_1904_where_the_workbook_says_so() -> None:
    content = a_written_workbook(
        '<row><c s="1"><v>43538</v></c></row>', styles=STYLES, settings='<workbookPr date1904="1"/>'
    )

    assert read_table(content, ANY).rows[0].cells == ["2023-03-15"]


@pytest.mark.parametrize(
    ("namespace", "folder"), [(STRICT, "xl"), ("http://schemas.openxmlformats.org/spreadsheetml/2006/main", "xl/book")]
)
def test_both_forms_of_the_standard_and_parts_of_other_names_are_read(namespace: str, folder: str) -> None:
    content = a_written_workbook(f'<row r="7"><c r="C7"><v>{UDI[1:]}</v></c></row>', namespace=namespace, folder=folder)

    found = read_table(content, ANY)

    assert [(row.number, row.code, row.cells) for row in found.rows] == [(7, UDI[1:], ["", "", UDI[1:]])]


def test_elements_with_prefixes_are_read() -> None:
    sheet = (
        '<x:worksheet xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><x:sheetData><x:row>'
        f'<x:c t="inlineStr"><x:is><x:t>{UDI}</x:t></x:is></x:c></x:row></x:sheetData></x:worksheet>'
    )

    found = read_table(with_part(a_workbook(["x"]), "xl/worksheets/sheet1.xml", sheet.encode()), ANY)

    assert found.rows[0].code == UDI


def test_a_filter_hides_no_row_and_no_column() -> None:
    def hide(sheet: Any) -> None:
        sheet.row_dimensions[2].hidden = True
        sheet.column_dimensions["B"].hidden = True

    found = read_table(a_workbook(["Name", "GTIN"], ["a", UDI], ["b", UDI], change=hide), ANY)

    assert [row.code for row in found.rows] == [UDI, UDI]


def three_sheets() -> bytes:
    workbook = Workbook()
    workbook.active.title = "Empty"  # type: ignore[union-attr]  # a new workbook has a sheet
    hidden = workbook.create_sheet("Hidden")
    hidden.append(["secret"])
    hidden.sheet_state = "hidden"
    for name in ("Ward 1", "Ward 2"):
        workbook.create_sheet(name).append([f"of {name}"])
    return saved(workbook)


def test_the_first_visible_sheet_that_holds_something_is_read_or_the_one_that_is_chosen() -> None:
    content = three_sheets()

    found = read_table(content, ANY)

    assert (found.sheets, found.choices.sheet, found.rows[0].code) == (
        ["Empty", "Ward 1", "Ward 2"],
        "Ward 1",
        "of Ward 1",
    )
    assert read_table(content, ReadChoices(sheet="Ward 2")).rows[0].code == "of Ward 2"
    for sheet, message in {
        "Hidden": "no visible sheet",
        "Ward 3": "no visible sheet",
        "Empty": "holds nothing",
    }.items():
        with pytest.raises(InvalidInput, match=message):
            read_table(content, ReadChoices(sheet=sheet))


def test_rows_keep_their_numbers_and_columns_behind_the_most_are_told() -> None:
    cells = f'<row r="3"><c r="A3"><v>{UDI[1:]}</v></c><c r="XFD3"><v>7</v></c></row><row><c><v>1</v></c></row>'
    found = read_table(a_written_workbook(cells), ANY)

    assert [row.number for row in found.rows] == [3, 4]
    assert found.left_out_columns == 16_384 - MAX_COLUMNS


def test_texts_are_cut_where_no_code_is_as_long() -> None:
    found = read_table(a_workbook(["GTIN", "Note"], [UDI, "x" * 30_000]), ANY)

    assert [len(cell) for cell in found.rows[0].cells] == [14, MAX_CELL_LENGTH]


BILLION_LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
    b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1">'
    b'<c t="inlineStr"><is><t>&b;</t></is></c></row></sheetData></worksheet>'
)
PARTS = "[Content_Types].xml", "xl/workbook.xml"


def of_parts(*names: str, part: bytes = b"0") -> bytes:
    return an_archive(dict.fromkeys(names, part))


def with_lower_size(content: bytes, name: str, size: int) -> bytes:
    """The archive, which says of a part that it is smaller than it is."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        offset = archive.start_dir
        for part in archive.infolist():
            length = 46 + len(part.filename.encode())
            if part.filename == name:
                return content[: offset + 24] + struct.pack("<I", size) + content[offset + 28 :]
            offset += length
    raise LookupError(name)


REFUSED = {
    "a zip bomb": (lambda: of_parts(*PARTS, part=bytes(110 * 1024 * 1024)), "too large when it is unpacked"),
    "a part that is larger than it says": (
        lambda: with_lower_size(a_workbook([UDI] * 99), "xl/worksheets/sheet1.xml", 9),
        "cannot be read",
    ),
    "a document of another kind": (lambda: of_parts("word/document.xml", "[Content_Types].xml"), "of another kind"),
    "an archive with a workbook": (lambda: an_archive({"a.xlsx": a_workbook([UDI])}), "of another kind"),
    "a text of OpenDocument": (lambda: of_parts("mimetype", "content.xml"), "of another kind"),
    "OpenDocument with a password": (lambda: an_ods(ods_text("a"), is_encrypted=True), "has a password"),
    "Numbers": (lambda: of_parts("Index/Document.iwa"), "of another kind"),
    "a workbook without its list of sheets": (lambda: of_parts("[Content_Types].xml", "xl/a.xml"), "cannot be read"),
    "parts that are no XML": (lambda: of_parts(*PARTS), "cannot be read"),
    "entities": (lambda: with_part(a_workbook(["x"]), "xl/worksheets/sheet1.xml", BILLION_LAUGHS), "cannot be read"),
    "the beginning alone": (lambda: a_workbook(["x"])[:500], "cannot be read"),
    "an empty workbook": (lambda: a_workbook(), "holds nothing"),
    "an empty archive": (lambda: an_archive({}), "packed, and empty"),
    "a text that is not there": (lambda: a_written_workbook('<row><c t="s"><v>9</v></c></row>'), "cannot be read"),
    "a cell of no column": (lambda: a_written_workbook('<row><c r="7"><v>9</v></c></row>'), "cannot be read"),
    "too many rows": (
        lambda: a_written_workbook("<row><c><v>1</v></c></row>" * (MAX_ROWS + 1)),
        "more than 50,000 rows",
    ),
    "a million empty cells": (lambda: a_written_workbook(f"<row>{'<c/>' * 1_000_000}</row>"), "holds nothing"),
    "too many cells": (
        lambda: a_written_workbook(
            ("<row>" + '<c t="s"><v>0</v></c>' * 50 + "</row>") * 3_000, texts=f"<si><t>{'x' * 200}</t></si>"
        ),
        "more than 24 MiB together",
    ),
}


@pytest.mark.parametrize(("made", "message"), REFUSED.values(), ids=REFUSED)
def test_an_archive_that_is_no_table_is_refused(made: Callable[[], bytes], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_table(made(), ANY)


WORKBOOK = a_workbook(["udi", "x"], [UDI, date(2026, 1, 2)], ["=1+1", 2.5])


@PROPERTY
@given(st.integers(0, len(WORKBOOK) - 1), st.binary(max_size=8), st.booleans())
def test_a_damaged_workbook_is_a_table_or_refused(place: int, damage: bytes, is_cut: bool) -> None:
    content = WORKBOOK[:place] + damage + (b"" if is_cut else WORKBOOK[place + len(damage) :])
    with contextlib.suppress(InvalidInput):
        read_table(content, ANY)
