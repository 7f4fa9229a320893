"""`registerwatch nomenclature …` at a terminal."""

from pathlib import Path

import pytest

from tests.commands.steps import Operator
from tests.support.terminal import Said, Terminal


@pytest.fixture
def file(tmp_path: Path, operator: Operator) -> Path:
    """A file of an invented nomenclature, beside a service without one."""
    path = tmp_path / "emdn.csv"
    path.write_text("code;name\nQ;Invented devices\nQ01;Invented plates\n", "utf-8")
    return path


def test_names_are_loaded_in_place_of_those_before_and_shown(terminal: Terminal, file: Path) -> None:
    assert terminal.types("nomenclature", "load", str(file)) == Said(0, "2 codes have names now; 0 had before.\n", "")
    file.write_text("code;name\nQ;Other devices\n", "utf-8")
    assert terminal.types("nomenclature", "load", str(file)) == Said(0, "1 codes have names now; 2 had before.\n", "")

    shown = terminal.types("nomenclature", "show", "q01")

    assert shown.out.splitlines() == ["Q             Other devices", "Q01           (no name loaded)"]


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
