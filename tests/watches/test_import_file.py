"""Lists in files and in what was pasted: which column is used, which lines are taken, what is told of the others."""

import pytest

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.table import ReadChoices
from registerwatch.files.tables.table_reader import read_table
from registerwatch.watches.imports.import_table import LeftOut, ParsedList, list_of
from registerwatch.watches.imports.import_text import MAX_LINES
from tests.files.tables.workbooks import a_workbook
from tests.register.builders import UDI, a_udi
from tests.support.harness import SRN, ServiceHarness


def parsed_list(content: bytes) -> ParsedList:
    return list_of(read_table(content, ReadChoices()))


def text_lines(text: str) -> ParsedList:
    return parsed_list(text.encode())


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
    "a heading's word below an identifier": (f"{a_udi(1)};a\nname;udi\n", [(1, a_udi(1)), (2, "name")], ""),
    "text in front of an apostrophe": (f"UDI\n'{UDI}", [(2, UDI)], "UDI"),
    "a formula that keeps a text": (f'Name;UDI\na;"=""{UDI}"""', [(2, UDI)], "UDI"),
    "a number with zeros behind the point": ("UDI\n4012345000016.0\n4012345000016,00", [(2, "4012345000016")], "UDI"),
    "a shortened number": ("4,01235E+12;a\n", [(1, "4,01235E+12")], ""),
    "a heading of no known word": (f"Artikel;Code\na;{a_udi(1)}", [(2, a_udi(1))], ""),
    "a mistyped identifier above others": (f"DE-MF-0000\n{UDI}\n{SRN}", [(1, "DE-MF-0000"), (2, UDI), (3, SRN)], ""),
    "no heading, and identifiers behind names": (f"a;{UDI}\nb;{SRN}", [(1, UDI), (2, SRN)], ""),
    "a heading of another language": (f"Artikel;Strichcode\na;{UDI}", [(2, UDI)], "Strichcode"),
}


@pytest.mark.parametrize(("text", "expected", "heading"), TABLES.values(), ids=TABLES)
def test_the_column_that_a_heading_names_is_used_or_else_the_one_with_identifiers_or_the_first(
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


def test_of_a_workbook_its_sheet_and_what_it_has_destroyed_are_told() -> None:
    rows = [UDI, 4012345000016, f"'{UDI}", SRN, None, 10**15, 2.5]

    parsed = parsed_list(a_workbook(["Our devices"], [], ["Name", "UDI-DI"], *(["x", each] for each in rows)))

    assert [(line.number, line.cell, line.problem) for line in parsed.lines] == [
        (4, UDI, ""),
        (5, "4012345000016", ""),
        (6, UDI, ""),
        (7, SRN, ""),
        (9, "1e+15", "shortened"),
        (10, "2.5", ""),
    ]
    assert (parsed.heading, parsed.column_letter, parsed.above, parsed.empty, parsed.sheet, parsed.other_sheets) == (
        *("UDI-DI", "B", 1, 1),
        *("Sheet", 0),
    )


async def test_what_is_pasted_and_files_are_read_in_a_process(harness: ServiceHarness) -> None:
    reader = harness.service.watches.list_files

    pasted = await reader.read_text(f"\ufeffUDI\n{UDI}\n\ud800", 1)
    sent = await reader.read(f"Größe;UDI\n5 µm;{a_udi(1)}".encode("cp1252"), 1, "198.51.100.0/24")

    assert (cells(pasted), pasted.heading) == ([(2, UDI), (3, "?")], "UDI")
    assert (cells(sent), sent.is_guessed) == ([(2, a_udi(1))], True)
    with pytest.raises(InvalidInput, match="This is a PDF"):
        await reader.read(b"%PDF-1.7", 1)
