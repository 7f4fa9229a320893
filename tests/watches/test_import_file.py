"""Lists in files and in what was pasted: which column is used, how text is decoded, what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.cells import MAX_CELL_LENGTH
from registerwatch.watches.imports.import_file import text_file_lines, text_lines
from registerwatch.watches.imports.import_table import MAX_ROWS, LeftOut, ParsedList
from registerwatch.watches.imports.import_text import MAX_LINES
from tests.register.builders import PROPERTY, UDI
from tests.support.harness import SRN


def cells(parsed: ParsedList) -> list[tuple[int, str]]:
    return [(line.number, line.cell) for line in parsed.lines]


TABLES = {
    "a heading in the first column": (f"UDI-DI\n{UDI}", [(2, UDI)], "UDI-DI"),
    "a heading in the third column": (f"Name,Class,GTIN\na,IIa,{UDI}", [(2, UDI)], "GTIN"),
    "semicolons": (f"Bezeichnung;UDI DI\na;{UDI}", [(2, UDI)], "UDI DI"),
    "tabs": (f"Name\tPrimary DI\na\t{UDI}", [(2, UDI)], "Primary DI"),
    "commas within cells of another separator": (f"Name, class;UDI\na, b, c;{UDI}", [(2, UDI)], "UDI"),
    "a title above the heading": (f"Our devices\n\nName;SRN\na;{SRN}", [(4, SRN)], "SRN"),
    "the better of two headings": (f"SRN;UDI-DI\n{SRN};{UDI}", [(2, UDI)], "UDI-DI"),
    "a line break in a quoted cell": (f'Name;UDI\n"a\nb";{UDI}\nc;{UDI}', [(2, UDI), (4, UDI)], "UDI"),
    "a quote that never ends": (f'Name;UDI\n"a;1\nc;{UDI}', [(3, UDI)], "UDI"),
    "a heading alone above lines with other cells": (f"UDI\n;;;\n{UDI},x\n{UDI};y", [(3, UDI), (4, UDI)], "UDI"),
    "no heading": (f"{UDI};a\n{SRN},b", [(1, UDI), (2, SRN)], ""),
    "a heading's word below an identifier": (f"{UDI};a\nname;udi\n", [(1, UDI), (2, "name")], ""),
    "text in front of an apostrophe": (f"UDI\n'{UDI}", [(2, UDI)], "UDI"),
    "a formula that keeps a text": (f'Name;UDI\na;"=""{UDI}"""', [(2, UDI)], "UDI"),
    "a number with zeros behind the point": ("UDI\n4012345000016.0\n4012345000016,00", [(2, "4012345000016")], "UDI"),
    "a shortened number": ("4,01235E+12;a\n", [(1, "4,01235E+12")], ""),
    "nothing": ("", [], ""),
}


@pytest.mark.parametrize(("text", "expected", "heading"), TABLES.values(), ids=TABLES)
def test_the_column_that_a_heading_names_is_used_or_else_the_first(
    text: str, expected: list[tuple[int, str]], heading: str
) -> None:
    parsed = text_lines(text)

    assert (cells(parsed)[: len(expected)], parsed.heading) == (expected, heading)


def test_lines_without_anything_in_the_column_are_counted() -> None:
    parsed = text_lines(f"Title\nName;UDI\na;{UDI}\nb;\nc\n;;\n\n")

    assert (cells(parsed), parsed.above, parsed.empty, parsed.column_letter) == ([(3, UDI)], 1, 2, "B")


def test_lines_beyond_the_most_are_told_by_their_numbers() -> None:
    parsed = text_lines("udi\n" + "A1\n" * (MAX_LINES + 20))

    assert (len(parsed.lines), parsed.left_out) == (MAX_LINES, LeftOut(first=502, last=521, count=20))
    with pytest.raises(InvalidInput, match="more than 10,000 lines"):
        text_lines("A1\n" * (MAX_ROWS + 1))


@pytest.mark.parametrize("charset", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_text_in_unicode_is_decoded(charset: str) -> None:
    parsed = text_file_lines(f"UDI;Näme\r\n{UDI};Größe\r\n".encode(charset))

    assert (cells(parsed), parsed.heading, parsed.is_guessed) == ([(2, UDI)], "UDI", False)


def test_other_bytes_are_windows_1252_which_is_told_as_a_guess() -> None:
    parsed = text_file_lines(f"Größe;UDI\nca. 5 µm;{UDI}".encode("cp1252"))

    assert (cells(parsed), parsed.is_guessed) == ([(2, UDI)], True)


WRONG_FILES = {
    "PDF": (b"%PDF-1.7\n", "PDF"),
    "PNG": (b"\x89PNG\r\n\x1a\n\x00", "image"),
    "old Excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Excel file"),
    "web page": (b"\xef\xbb\xbf<html><table><tr><td>udi", "web page"),
    "a program": (b"\x7fELF\x02\x01\x01\x00\x00\x00", "no text"),
}


@pytest.mark.parametrize(("content", "message"), WRONG_FILES.values(), ids=WRONG_FILES)
def test_a_file_of_another_kind_is_refused_by_its_name(content: bytes, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        text_file_lines(content)


marks = st.sampled_from([b"", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"udi;x\n", b'"', b"%PDF", b"x,GTIN\n"])


@PROPERTY
@given(marks, st.binary(max_size=300) | st.text("\"=;,\t\n\r'udi4.0E+", max_size=80).map(str.encode))
def test_any_bytes_are_a_list_or_refused(mark: bytes, content: bytes) -> None:
    try:
        parsed = text_file_lines(mark + content)
    except InvalidInput:
        return
    for line in parsed.lines:
        assert line.cell == " ".join(line.cell.split())
        assert len(line.cell) <= MAX_CELL_LENGTH
    assert [line.number for line in parsed.lines] == sorted({line.number for line in parsed.lines})
