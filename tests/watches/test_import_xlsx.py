"""Lists in Excel workbooks: cells that a spreadsheet has changed, odd workbooks, workbooks that are attacks."""

import contextlib
from collections.abc import Callable
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.cells import MAX_CELL_LENGTH
from registerwatch.platform.structs import replace
from registerwatch.watches.imports.import_process import BOUNDS, ListFileReader, workbook_processes
from registerwatch.watches.imports.import_table import LeftOut
from registerwatch.watches.imports.import_xlsx import workbook_lines
from tests.files.tables.workbooks import a_workbook, saved, with_part
from tests.files.tables.workbooks import an_archive as archive_of
from tests.register.builders import PROPERTY, UDI
from tests.support.harness import SRN, ServiceHarness


def test_cells_are_read_as_a_person_sees_them() -> None:
    rows = [UDI, 4012345000016, 4012345000016.0, f"'{UDI}", SRN, None, True, date(2026, 1, 2), 10**15, "=A1&1", 2.5]

    parsed = workbook_lines(a_workbook(["Our devices"], [], ["Name", "UDI-DI"], *(["x", each] for each in rows)))

    assert [(line.number, line.cell, line.problem) for line in parsed.lines] == [
        (4, UDI, ""),
        (5, "4012345000016", ""),
        (6, "4012345000016", ""),
        (7, UDI, ""),
        (8, SRN, ""),
        (10, "True", ""),
        (11, "2026-01-02 00:00:00", "date"),
        (12, "1000000000000000", "shortened"),
        (13, "=A1&1", "formula"),
        (14, "2.5", ""),
    ]
    assert (parsed.heading, parsed.column_letter, parsed.above, parsed.empty, parsed.sheet) == (
        *("UDI-DI", "B", 1, 1),
        "Sheet",
    )


def test_the_first_visible_sheet_that_holds_something_is_read() -> None:
    workbook = Workbook()
    workbook.active.title = "Empty"  # type: ignore[union-attr]  # a new workbook has a sheet
    hidden = workbook.create_sheet("Hidden")
    hidden.append(["A1"])
    hidden.sheet_state = "hidden"
    workbook.create_sheet("Devices").append([UDI])

    parsed = workbook_lines(saved(workbook))

    assert ([line.cell for line in parsed.lines], parsed.sheet, parsed.other_sheets) == ([UDI], "Devices", 2)


def test_a_name_of_a_sheet_that_goes_on_and_on_is_cut() -> None:
    sheets = (
        b'<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r='
        b'"http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="'
        + b"x" * 100_000
        + b'" sheetId="1" r:id="rId1"/></sheets></workbook>'
    )

    parsed = workbook_lines(with_part(a_workbook([UDI]), "xl/workbook.xml", sheets))

    assert (len(parsed.sheet), len(parsed.lines)) == (MAX_CELL_LENGTH, 1)


def test_merged_cells_count_once_and_lines_beyond_the_most_are_told() -> None:
    merged = workbook_lines(a_workbook(["udi", "x"], [UDI, "a"], [None, "b"], change=lambda s: s.merge_cells("A2:A3")))
    long = workbook_lines(a_workbook(["udi"], *([f"A{n}"] for n in range(503))))

    assert ([line.number for line in merged.lines], merged.empty) == ([2], 1)
    assert (len(long.lines), long.left_out) == (500, LeftOut(first=502, last=504, count=3))


def test_a_sheet_that_lies_about_its_size_is_read_as_it_is() -> None:
    sheet = (
        b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><dimension ref="A1:XFD1048576"/>'
        b'<sheetData><row r="3"><c r="A3" t="inlineStr"><is><t>A1</t></is></c>'
        b'<c r="XFD3"><v>7</v></c></row></sheetData></worksheet>'
    )

    parsed = workbook_lines(with_part(a_workbook(["x"]), "xl/worksheets/sheet1.xml", sheet))

    assert [(line.number, line.cell) for line in parsed.lines] == [(3, "A1")]


BILLION_LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
    b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1">'
    b'<c t="inlineStr"><is><t>&b;</t></is></c></row></sheetData></worksheet>'
)


def an_archive(*names: str, size: int = 1) -> bytes:
    return archive_of(dict.fromkeys(names, b"0" * size))


PARTS = "[Content_Types].xml", "xl/workbook.xml"
REFUSED = {
    "a zip bomb": (lambda: an_archive(*PARTS, size=21 * 1024 * 1024), "too large"),
    "very many parts": (lambda: an_archive(*PARTS, *map(str, range(1_000))), "too large"),
    "another archive": (lambda: an_archive("word/document.xml", "[Content_Types].xml"), "no Excel workbook"),
    "OpenDocument": (lambda: an_archive("mimetype", "content.xml"), "another kind"),
    "a binary workbook": (lambda: an_archive("[Content_Types].xml", "xl/workbook.bin"), "another kind"),
    "parts that are no XML": (lambda: an_archive(*PARTS), "cannot be read"),
    "entities": (lambda: with_part(a_workbook(["x"]), "xl/worksheets/sheet1.xml", BILLION_LAUGHS), "cannot be read"),
    "the beginning alone": (lambda: a_workbook(["x"])[:500], "cannot be read"),
    "an empty workbook": (lambda: a_workbook(), "no sheet that holds something"),
}


@pytest.mark.parametrize(("made", "message"), REFUSED.values(), ids=REFUSED)
def test_an_archive_that_is_no_list_is_refused(made: Callable[[], bytes], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        workbook_lines(made())


WORKBOOK = a_workbook(["udi"], [UDI], ["=1+1"])


@PROPERTY
@given(st.integers(0, len(WORKBOOK) - 1), st.binary(max_size=8), st.booleans())
def test_a_damaged_workbook_is_a_list_or_refused(place: int, damage: bytes, is_cut: bool) -> None:
    content = WORKBOOK[:place] + damage + (b"" if is_cut else WORKBOOK[place + len(damage) :])
    with contextlib.suppress(InvalidInput):
        workbook_lines(content)


@pytest.mark.anyio
async def test_a_workbook_is_read_in_a_process_that_ends_when_it_takes_too_long(harness: ServiceHarness) -> None:
    reader = harness.service.watches.list_files

    parsed = await reader.read(WORKBOOK, 1)
    assert [line.cell for line in parsed.lines] == [UDI, "=1+1"]
    with pytest.raises(InvalidInput, match="cannot be read"):
        await reader.read(WORKBOOK[:100], 1)
    assert [line.cell for line in (await reader.read(f"udi\n{UDI}".encode(), 1)).lines] == [UDI]
    hasty = ListFileReader(harness.service.work, workbook_processes(replace(BOUNDS, wall_seconds=0.01)))
    with pytest.raises(InvalidInput, match="takes too long"):
        await hasty.read(WORKBOOK, 1)
