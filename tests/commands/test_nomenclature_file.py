"""Files of the nomenclature: both versions of the Commission's workbook, as XLSX and as CSV, and other files."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from openpyxl import Workbook

from registerwatch.commands.nomenclature_file import parse_nomenclature, read_nomenclature
from registerwatch.errors import InvalidInput

Rows = Sequence[Sequence[str | int | None]]

CATEGORY = "DEVICES FOR ADMINISTRATION, WITHDRAWAL AND COLLECTION"
VERSION_2: Rows = [
    ["EMDN V2", None, None, None, None, None],
    ["CATEGORY ", "CATEGORY DESCRIPTION", "CODE", "TERM", "LEVEL ", "TERMINAL LEVEL YES/NO "],
    ["A", CATEGORY, "A", CATEGORY, 1, "NO"],
    ["A", CATEGORY, "A01", "NEEDLES", 2, "NO"],
    ["A", CATEGORY, "A0101010101", "HYPODERMIC SYRINGE NEEDLES, WITH SAFETY SYSTEMS ", 6, "YES"],
    [None, None, None, None, None, None],
    ["A", CATEGORY, "A020102010101 ", "INFUSION SYRINGES,  2-PIECE", 7, "YES"],
]
OF_2026: Rows = [
    ["CATEGORY", "CATEGORY DESCRIPTION", "CODE", "TERM EMDN", "LEVEL", "TERMINAL LEVEL"],
    *[row for row in VERSION_2[3:] if row[0]],
]
NAMES = {
    "A": CATEGORY,
    "A01": "NEEDLES",
    "A0101010101": "HYPODERMIC SYRINGE NEEDLES, WITH SAFETY SYSTEMS",
    "A020102010101": "INFUSION SYRINGES, 2-PIECE",
}


def as_csv(rows: Rows, separator: str = ",", encoding: str = "utf-8") -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator).writerows(rows)
    return text.getvalue().encode(encoding)


def as_workbook(**sheets: Rows) -> bytes:
    book, content = Workbook(), io.BytesIO()
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    del book["Sheet"]
    book.save(content)
    return content.getvalue()


@pytest.mark.parametrize("rows", [VERSION_2, OF_2026], ids=["version 2", "2026"])
def test_both_versions_are_read_as_workbook_and_as_csv_whatever_the_order_of_columns(rows: Rows) -> None:
    order = list(range(6))
    for seed in range(4):
        moved = [[row[column] for column in order] for row in rows]
        contents = [
            as_workbook(EMDN=moved),
            as_workbook(Notes=[["Read me"], ["CODE", "MEANING"], ["A", "a letter"]], EMDN=moved),
            as_csv(moved),
            as_csv(moved, ";", "utf-8-sig"),
            as_csv(moved, "\t", "utf-16"),
            as_csv([[*row, "more", ""] for row in moved]),
        ]
        for content in contents:
            read, sheet = parse_nomenclature(content)
            assert (dict(read.names), read.problems) == (NAMES, ())
            assert sheet in ("", "EMDN")
        Random(seed).shuffle(order)


def test_a_long_term_is_read_to_its_end() -> None:
    rows = [["code", "name"], ["Q", "x" * 500], ["Q01", "y" * 501]]

    for content in (as_csv(rows), as_workbook(EMDN=rows)):
        read, _ = parse_nomenclature(content)
        assert read.names == {"Q": "x" * 500}
        assert read.problems == ("Line 3: Q01 needs a name of 1 to 500 characters.",)


def test_a_remark_in_another_column_is_no_term_and_a_wrong_line_is_named() -> None:
    rows: Rows = [
        ["LEVEL", "CODE", "TERM"],
        [1, "Q", "PLATES"],
        ["Source: the Commission", None, None],
        [2, "Q0", "HALF"],
    ]

    read, _ = parse_nomenclature(as_csv(rows))

    assert read.names == {"Q": "PLATES"}
    assert read.problems == ("Line 4: “Q0” is no EMDN code, which is a letter and pairs of digits.",)


def test_of_several_sheets_the_one_with_the_most_terms_counts() -> None:
    changes = [["CODE", "TERM"], ["A01", "NEEDLES, OLD"]]

    read, sheet = parse_nomenclature(as_workbook(Changes=changes, Terms=VERSION_2))

    assert (read.names, sheet) == (NAMES, "Terms")


@pytest.mark.parametrize(
    "content",
    [
        as_csv([["UDI-DI", "Name", "Stock"], ["04012345678901", "Pump", "4"]]),
        as_workbook(Stock=[["UDI-DI", "Name", "Stock"], ["04012345678901", "Pump", 4]]),
    ],
    ids=["CSV", "workbook"],
)
def test_another_file_is_refused_with_what_was_looked_for_and_what_it_has(content: bytes) -> None:
    with pytest.raises(InvalidInput, match="no nomenclature") as refused:
        parse_nomenclature(content)

    assert "CODE (or EMDN CODE) and TERM (or TERM EMDN" in str(refused.value)
    assert "“UDI-DI”, “Name”, “Stock” in row 1" in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"%PDF-1.7", b"PK\x03\x04broken", b"<!doctype html><table>"])
def test_what_is_no_spreadsheet_is_refused_with_its_path(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "emdn.xlsx"
    path.write_bytes(content)

    with pytest.raises(InvalidInput, match=r"emdn\.xlsx: "):
        read_nomenclature(path)
    with pytest.raises(InvalidInput, match="No such file"):
        read_nomenclature(tmp_path / "missing.csv")
