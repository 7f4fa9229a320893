"""`registerwatch nomenclature …` at a terminal."""

import os
from pathlib import Path

import pytest
from openpyxl import Workbook

from registerwatch_standins.register.faults import Faults
from registerwatch_standins.register.generation.vocabulary import nomenclature_codes
from tests.commands.steps import Operator
from tests.support.terminal import Said, Terminal

SHORTER = "It has 1 of about 2 terms: so many are loaded."


@pytest.fixture
def file(tmp_path: Path, operator: Operator) -> Path:
    """A file of an invented nomenclature, beside a service without one."""
    path = tmp_path / "emdn.csv"
    path.write_text("code;name\nQ;Invented devices\nQ01;Invented plates\n", "utf-8")
    return path


def test_names_are_loaded_in_place_of_those_before_and_shown(terminal: Terminal, file: Path) -> None:
    assert terminal.types("nomenclature", "load", str(file)) == Said(
        0, f"2 codes have names now, from {file}; 0 had before.\n", ""
    )
    file.write_text("code;name\nQ;Other devices\n", "utf-8")
    assert terminal.types("nomenclature", "load", str(file)) == Said(
        1, "", f"registerwatch: {file}: {SHORTER} Nothing was loaded. `--force` loads it all the same.\n"
    )
    assert terminal.types("nomenclature", "load", "--force", str(file)).out.startswith("1 codes have names now")

    shown = terminal.types("nomenclature", "show", "q01")

    assert shown.out.splitlines() == ["Q             Other devices", "Q01           (no name loaded)"]


def test_a_workbook_is_loaded_and_its_sheet_named(terminal: Terminal, operator: Operator, tmp_path: Path) -> None:
    book = Workbook()
    book["Sheet"].title = "EMDN 2026"
    for row in (["EMDN"], ["CODE ", "TERM EMDN "], ["Q", "Invented devices "], ["Q01", "Invented plates"]):
        book["EMDN 2026"].append(row)
    book.save(tmp_path / "emdn.xlsx")

    said = terminal.types("nomenclature", "load", str(tmp_path / "emdn.xlsx"))

    assert said.out == f"2 codes have names now, from {tmp_path / 'emdn.xlsx'}, sheet “EMDN 2026”; 0 had before.\n"
    assert "Q             Invented devices\n" in terminal.types("nomenclature", "show", "Q01").out


def test_without_a_file_the_register_is_asked(terminal: Terminal, operator: Operator, faults: Faults) -> None:
    loaded = terminal.types("nomenclature", "load")

    assert (loaded.code, "from the register; 0 had before." in loaded.out) == (0, True), loaded
    code = nomenclature_codes()[-1]
    assert terminal.types("nomenclature", "show", code).out.endswith(f"EMDN {code}\n")


def test_where_the_register_has_no_list_the_names_stay_and_the_workbook_is_pointed_to(
    terminal: Terminal, file: Path, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal.types("nomenclature", "load", str(file))
    monkeypatch.setenv("REGISTERWATCH_REGISTER_URL", f"{os.environ['REGISTERWATCH_REGISTER_URL']}/moved")

    said = terminal.types("nomenclature", "load")

    assert said.code == 1
    assert "The register's nomenclature could not be read: The register has no list" in said.err
    assert "Nothing was loaded. Load the Commission's workbook instead" in said.err
    assert "Invented plates" in terminal.types("nomenclature", "show", "Q01").out


def test_a_file_with_a_wrong_line_changes_nothing(terminal: Terminal, file: Path) -> None:
    terminal.types("nomenclature", "load", str(file))
    file.write_text("code;name\nQ;Other devices\nQ0;Half a level\n", "utf-8")

    said = terminal.types("nomenclature", "load", str(file))

    assert said.code == 1
    assert "Line 3: “Q0” is no EMDN code" in said.err
    assert "Nothing was loaded." in said.err
    assert "Invented devices" in terminal.types("nomenclature", "show", "Q").out


def test_what_is_no_code_has_no_name_to_show(terminal: Terminal, file: Path) -> None:
    said = terminal.types("nomenclature", "show", "Q0")

    assert (said.code, "no EMDN code" in said.err) == (1, True)
