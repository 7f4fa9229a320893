"""Reading files of the nomenclature: names by code, or the line that is wrong."""

from pathlib import Path

import pytest

from registerwatch.errors import InvalidInput
from registerwatch.register import nomenclature_file
from registerwatch.register.nomenclature_file import parse_nomenclature, read_nomenclature

NAMES = {"Q": "Invented devices", "Q01": "Invented, with, commas"}


@pytest.mark.parametrize(
    "text",
    [
        'code,name\nQ,Invented devices\nQ01,"Invented, with, commas"\n',
        "EMDN code;Level;Term\r\nQ;1;Invented devices\r\n\r\n q01 ;2; Invented, with,  commas\r\n",
        "EMDN 2026\t\nCODE\tDescription (EN)\nQ\tInvented devices\nQ01\tInvented, with, commas\nQ\tInvented  devices",
    ],
    ids=["commas", "semicolons", "tabs below a title"],
)
def test_codes_and_names_are_found_by_their_headings_whatever_separates_them(text: str) -> None:
    assert parse_nomenclature(text) == NAMES


def test_a_byte_order_mark_is_no_part_of_a_heading(tmp_path: Path) -> None:
    file = tmp_path / "emdn.csv"
    file.write_text("code,name\nQ,Invented devices\n", "utf-8-sig")

    assert read_nomenclature(file) == {"Q": "Invented devices"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no line with the headings"),
        ("Q,Invented\n", "no line with the headings"),
        ("code,name\n", "It holds no codes"),
        ("code,name\nQ,A\nQ0,B\n", "Line 3: “Q0” is no EMDN code"),
        ("code,name\nQ,A\n,B\n", "Line 3: “” is no EMDN code"),
        ("code,name\nQ\n", "Line 2: Q needs a name"),
        (f"code,name\nQ,{'x' * 501}\n", "Line 2: Q needs a name"),
        ("code,name\nQ,A\nq,B\n", "Line 3: Q has another name in an earlier line"),
        ("code,name\nQ,\0\n", "NUL"),
        (f"code,name\nQ,{'x' * 200_000}\n", "Line 2 is no CSV"),
    ],
)
def test_a_line_that_is_wrong_is_named(text: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        parse_nomenclature(text)


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        read_nomenclature(tmp_path / "missing.csv")
    file = tmp_path / "emdn.csv"
    file.write_bytes(b"code,name\nQ,\xff\n")
    with pytest.raises(InvalidInput, match="UTF-8"):
        read_nomenclature(file)
    monkeypatch.setattr(nomenclature_file, "MAX_FILE_BYTES", 3)
    with pytest.raises(InvalidInput, match="no nomenclature"):
        read_nomenclature(file)
