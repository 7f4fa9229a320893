"""Texts as tables: separators, encodings, headings, codes that a spreadsheet has changed, what is refused."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.cells import MAX_CELL_LENGTH
from registerwatch.files.tables.encodings import ENCODINGS
from registerwatch.files.tables.table import MAX_COLUMNS, MAX_FILE_BYTES, MAX_ROWS, ReadChoices, Table
from registerwatch.files.tables.table_reader import read_table
from tests.register.builders import PROPERTY
from tests.support.harness import SRN

UDI = "04012345000009"
EAN = "4012345000016"
OTHER = "04012345000023"
ANY = ReadChoices()


def table(text: str, choices: ReadChoices = ANY) -> Table:
    return read_table(text.encode(), choices)


def codes(found: Table) -> list[tuple[int, str, str]]:
    return [(row.number, row.code, row.problem) for row in found.rows]


OF_HOSPITALS: dict[str, tuple[bytes, Sequence[str], str, int, list[tuple[int, str, str]]]] = {
    "an export of SAP, in UTF-16 with tabs and titles": (
        f"Materialliste Werk 0100\t\t\r\n\r\n\tMaterial\tKurztext\tEAN/UPC\tPreis\r\n\r\n"
        f"\t4711\tKatheter Größe 5\t{EAN}\t1.234,50-\r\n\t4712\tKanüle\t\t3,20\r\n".encode("utf-16"),
        ["Column A", "Material", "Kurztext", "EAN/UPC", "Preis"],
        *("\t", 3),
        [(5, EAN, ""), (6, "", "")],
    ),
    "semicolons, Windows-1252, decimal commas and shortened numbers": (
        f"Artikel;GTIN-Nummer;Preis €;Menge\nGröße 1;4,01235E+12;4,50;1,5\nGröße 2;{EAN};12,00;2,25\n".encode("cp1252"),
        ["Artikel", "GTIN-Nummer", "Preis €", "Menge"],
        *(";", 1),
        [(2, "4,01235E+12", "shortened"), (3, EAN, "")],
    ),
    "Excel's own first line, and formulas that keep texts": (
        f'sep=;\r\nNom;Code-barres\r\n"Cathéter ""long"";\r\nstérile";"=""{UDI}"""\r\nx;\'{EAN}\r\n'.encode(),
        ["Nom", "Code-barres"],
        *(";", 1),
        [(3, UDI, ""), (5, EAN, "")],
    ),
    "scanned codes with separators, and no heading": (
        f"2.1.2026 10:11,(01){UDI}(17)280101(10)A1,Ward 3\n2.1.2026 10:12,]d201{OTHER}10B\x1d2112,Ward 4\n".encode(),
        ["Column A", "Column B", "Column C"],
        *(",", 1),
        [(1, f"(01){UDI}(17)280101(10)A1", ""), (2, f"]d201{OTHER}10B<GS>2112", "")],
    ),
    "rows of different lengths, with a sum below": (
        f"Elenco;Reparto\n\nNome;Codice a barre;SRN fabbricante\nA;{UDI}\nB;{EAN};{SRN};extra\nTotale: 2\n".encode(),
        ["Nome", "Codice a barre", "SRN fabbricante", "Column D"],
        *(";", 1),
        [(4, UDI, ""), (5, EAN, ""), (6, "", "")],
    ),
    "codes that only their cells tell": (
        f"No|Ref|Produit|Référence fournisseur\n1|20260131|Gant|{UDI}\n2|20260201|Gant|{OTHER}\n".encode(),
        ["No", "Ref", "Produit", "Référence fournisseur"],
        *("|", 3),
        [(2, UDI, ""), (3, OTHER, "")],
    ),
}


@pytest.mark.parametrize(
    ("content", "headings", "delimiter", "column", "rows"), OF_HOSPITALS.values(), ids=OF_HOSPITALS
)
def test_a_file_as_hospitals_send_it_is_read(
    content: bytes, headings: Sequence[str], delimiter: str, column: int, rows: list[tuple[int, str, str]]
) -> None:
    found = read_table(content, ANY)

    assert (found.headings, found.choices.delimiter, found.choices.code_column) == (headings, delimiter, column)
    assert codes(found) == rows
    assert read_table(content, found.choices).rows == found.rows


def test_all_cells_of_a_row_are_kept_in_one_line_without_those_that_are_empty_at_the_end() -> None:
    found = table(f'Name;GTIN;;Note;\n"a\n b";{EAN};;4.012345678901E+12;\n;{UDI}\n{"x" * 300};\n')

    assert found.headings == ["Name", "GTIN", "Column C", "Note"]
    assert [row.cells for row in found.rows] == [
        ["a b", EAN, "", "4012345678901"],
        ["", UDI],
        ["x" * MAX_CELL_LENGTH],
    ]


DELIMITERS = {
    "one column": (f"GTIN\n{EAN}\n{UDI}", ""),
    "one column of decimals": ("Preis\n1,50\n12,25\n3,00", ""),
    "one shortened number": ("4,01235E+12\n", ""),
    "a code and a number without a heading": (f"{UDI},5\n{OTHER},12", ","),
    "decimals beside semicolons": ("a;1,5;2,5\nb;3,5;1,0", ";"),
    "commas within quotes": ('"a, b";"c, d"\n"e, f";"g, h"', ";"),
    "commas within texts": (f"Name, class;GTIN\nx, y, z;{EAN}", ";"),
    "vertical bars": ("a|b|c\nd|e|f", "|"),
    "tabs below a title with commas": (f"List, of May\n\nName\tGTIN\na\t{EAN}", "\t"),
}


@pytest.mark.parametrize(("text", "delimiter"), DELIMITERS.values(), ids=DELIMITERS)
def test_the_separator_is_the_one_that_rows_agree_about(text: str, delimiter: str) -> None:
    assert table(text).choices.delimiter == delimiter


HEADINGS = {
    "no heading": (f"{EAN};a\n{UDI};b", 0, ["Column A", "Column B"]),
    "a heading of no known words": (f"Artikel;Ort\n{EAN};a\n{UDI};b", 1, ["Artikel", "Ort"]),
    "two titles": (f"Klinikum Nord\nStand: 1.2.2026\n\nArt;Nr\na;{EAN}\nb;{UDI}", 4, ["Art", "Nr"]),
    "a title with a word of headings": (
        f"UDI export of May\nUDI\n\nArt;GTIN;Ort\na;{EAN};b",
        4,
        ["Art", "GTIN", "Ort"],
    ),
    "titles with a code": (f"Hersteller;{SRN}\n\nArt;Nr;Ort\na;{EAN};b\nc;{UDI};d", 3, ["Art", "Nr", "Ort"]),
    "a heading alone above rows with other cells": (f"UDI\n{EAN};x;y", 1, ["UDI", "Column B", "Column C"]),
    "headings alike": (f"Name;Name;GTIN;Name\na;b;{EAN};c", 1, ["Name", "Name (2)", "GTIN", "Name (3)"]),
    "texts alone": ("Product;Ward\nGlove;East\nMask;East", 1, ["Product", "Ward"]),
    "a table without a heading, whose texts repeat": ("Glove;East\nMask;East", 0, ["Column A", "Column B"]),
    "a heading and nothing else": ("Name;GTIN", 1, ["Name", "GTIN"]),
}


@pytest.mark.parametrize(("text", "row", "headings"), HEADINGS.values(), ids=HEADINGS)
def test_the_heading_is_the_first_row_of_texts_above_data(text: str, row: int, headings: list[str]) -> None:
    found = table(text)

    assert (found.choices.heading_row, found.headings) == (row, headings)


CODE_COLUMNS = {
    "a heading before contents": (f"Ref;EAN-Code\n{UDI};\n{OTHER};{EAN}", [1, 0]),
    "the best of three headings": (f"SRN;Barcode;GTIN\n{SRN};{EAN};{UDI}", [2, 1, 0]),
    "devices before actors": (f"a;b\n{SRN};{UDI}", [1, 0]),
    "a heading with more words": (f"x;EAN Verpackung\n1;{UDI}", [1]),
    "a Basic UDI-DI is another column": (f"Basic UDI-DI;y\nabc;{UDI}\n", [1]),
    "a heading over cells that are no codes": (f"Identifier;Number\nA-1;{UDI}\nA-2;{OTHER}", [1, 0]),
    "a heading over nothing": (f"UDI;Number\n;{UDI}\n;{OTHER}", [1, 0]),
    "numbers of which few could be codes": ("a;b\nx;20260131\ny;20260201\nz;20260301", []),
    "shortened numbers": ("a;b\nx;4,01235E+12\ny;4,02235E+12", [1]),
    "the first of two that are alike": (f"a;b\n{UDI};{OTHER}", [0, 1]),
}


@pytest.mark.parametrize(("text", "columns"), CODE_COLUMNS.values(), ids=CODE_COLUMNS)
def test_the_codes_are_in_the_column_that_its_heading_names_or_that_has_most_of_them(
    text: str, columns: list[int]
) -> None:
    found = table(text)

    assert found.code_columns == columns
    assert found.choices.code_column == (columns[0] if columns else 0)


@pytest.mark.parametrize("charset", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_text_in_unicode_needs_no_choice(charset: str) -> None:
    found = read_table(f"GTIN;Größe\r\n{EAN};€ß\r\n".encode(charset), ANY)

    assert (found.headings, found.rows[0].cells, found.is_encoding_guessed) == (["GTIN", "Größe"], [EAN, "€ß"], False)
    assert found.choices.encoding in ENCODINGS


@pytest.mark.parametrize(
    ("encoding", "word"), [("mac-roman", "Größe"), ("cp850", "Größe"), ("iso-8859-15", "€ Größe"), ("utf-16", "ß")]
)
def test_an_encoding_can_be_chosen_where_the_guess_is_wrong(encoding: str, word: str) -> None:
    found = read_table(f"{word};GTIN\nx;{EAN}".encode(ENCODINGS[encoding]), ReadChoices(encoding=encoding))

    assert (found.headings[0], found.choices.encoding, found.is_encoding_guessed) == (word, encoding, False)


def test_other_bytes_are_read_as_windows_1252_which_is_told_as_a_guess() -> None:
    found = read_table(f"Größe;GTIN\n5 µm;{EAN}".encode("cp1252"), ANY)

    assert (found.headings[0], found.choices.encoding, found.is_encoding_guessed) == ("Größe", "windows-1252", True)


@pytest.mark.parametrize("choices", [ANY, ReadChoices(encoding="windows-1252")])
def test_each_byte_is_the_character_that_windows_1252_has_for_it_or_is_replaced(choices: ReadChoices) -> None:
    letters = bytes(range(0xA1, 0x100)) + bytes(range(0x80, 0xA0))

    found = read_table(b"GTIN;" + letters + b"\n", choices)

    assert found.headings[1] == letters.decode("cp1252", "replace")


def test_choices_decide_what_would_be_recognised_otherwise() -> None:
    text = f"a,b;GTIN\nc,{UDI};{EAN}\nd,e;f"

    found = table(text, ReadChoices(delimiter=",", heading_row=2, code_column=0))

    assert (found.headings, codes(found)) == (["c", f"{UDI};{EAN}"], [(3, "d", "")])
    assert table(text, ReadChoices(heading_row=0)).rows[0].number == 1


WRONG_CHOICES = {
    "an encoding that does not fit": (ReadChoices(encoding="utf-8"), "cannot be read as utf-8: its byte 3 "),
    "an unknown encoding": (ReadChoices(encoding="punycode"), "encoding is none of"),
    "an unknown separator": (ReadChoices(delimiter="x"), "separator is none of"),
    "an empty row as heading": (ReadChoices(heading_row=2), "Row 2 of the file holds nothing"),
    "a column that is not there": (ReadChoices(code_column=2), "has 2 columns"),
    "a column below zero": (ReadChoices(code_column=-1), "has 2 columns"),
}


@pytest.mark.parametrize(("choices", "message"), WRONG_CHOICES.values(), ids=WRONG_CHOICES)
def test_a_choice_that_does_not_fit_is_told(choices: ReadChoices, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_table(f"Gr\xf6\xdfe;GTIN\n\nx;{EAN}".encode("cp1252"), choices)


WRONG_FILES = {
    "nothing": (b"", "holds nothing"),
    "blank lines": (b"\n;;\n \t\n", "holds nothing"),
    "PDF": (b"%PDF-1.7\n", "PDF"),
    "PNG": (b"\x89PNG\r\n\x1a\n\x00", "image"),
    "old Excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Excel file"),
    "a page named .xls": (b"\xef\xbb\xbf<html><table><tr><td>udi", "web page"),
    "a page that begins otherwise": (b"<meta charset=utf-8><table>", "web page"),
    "a program": (b"\x7fELF\x02\x01\x01\x00\x00\x00", "no text"),
    "NUL": (b"GTIN\n1\x002\n", "no text"),
    "zeros": (bytes(1000), "no text"),
    "too many rows": (b"udi\n" + b"1\n" * (MAX_ROWS + 1), "more than 50,000 rows"),
    "too many lines": (b"udi\n" + b"\n" * 500_001, "more than 500,000 lines"),
    "too many bytes": (b"1" * (MAX_FILE_BYTES + 1), "more than 10 MiB"),
}


@pytest.mark.parametrize(("content", "message"), WRONG_FILES.values(), ids=WRONG_FILES)
def test_a_file_that_is_no_table_is_refused_by_its_name(content: bytes, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_table(content, ANY)


def test_columns_behind_the_most_are_told() -> None:
    found = table("GTIN" + ";a" * 16_383 + f"\n{EAN}" + ";1" * 60 + ";" * 40)

    assert (len(found.headings), found.left_out_columns) == (MAX_COLUMNS, 16_384 - MAX_COLUMNS)


def test_the_most_rows_are_read() -> None:
    assert len(table("udi\n" + f"{EAN}\n" * MAX_ROWS).rows) == MAX_ROWS


marks = st.sampled_from([b"", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"udi;x\n", b'"', b"sep=;\n", b"x,GTIN\n"])


@PROPERTY
@given(marks, st.binary(max_size=300) | st.text("\"=;,|\t\n\r'udi4.0E+", max_size=80).map(str.encode))
def test_any_bytes_are_a_table_or_refused(mark: bytes, content: bytes) -> None:
    try:
        found = read_table(mark + content, ANY)
    except InvalidInput:
        return
    assert len(set(found.headings)) == len(found.headings) >= 1
    assert all(found.headings)
    assert [row.number for row in found.rows] == sorted({row.number for row in found.rows})
    for row in found.rows:
        assert 0 < len(row.cells) <= len(found.headings)
        assert all(cell == " ".join(cell.split()) and len(cell) <= MAX_CELL_LENGTH for cell in row.cells)
    assert read_table(mark + content, found.choices).rows == found.rows
