"""The list of assumptions is whole, and the documentation has all of it."""

from pathlib import Path

from registerwatch.ingest.checks.check_rules import GATES
from registerwatch.sources.checks.assumption import Assumption
from registerwatch.sources.checks.assumptions import ASSUMPTIONS, DAILY
from registerwatch.sources.checks.names import CheckName
from registerwatch.sources.data_lake.checks import LOOKS as DATA_LAKE_LOOKS
from registerwatch.sources.eudamed.checks.looks import LOOKS as EUDAMED_LOOKS

PAGE = Path(__file__).parents[2] / "docs" / "register-checks.md"


def line_of(each: Assumption) -> str:
    """The line of an assumption in the documentation."""
    when = "daily, closes lists" if each.name in GATES else "daily" if each.is_daily else "by the command"
    return f"| `{each.name.value}` | {each.relied_on} | {each.source} | {when} | {each.if_differs} |"


def test_every_check_is_an_assumption_that_one_source_looks_at() -> None:
    assert set(ASSUMPTIONS) == set(CheckName)
    assert not EUDAMED_LOOKS.keys() & DATA_LAKE_LOOKS.keys()
    assert EUDAMED_LOOKS.keys() | DATA_LAKE_LOOKS.keys() == set(CheckName)
    assert GATES <= DAILY, "a list that is closed opens by itself"


def test_the_documentation_has_every_assumption_as_it_is() -> None:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]

    assert lines == [line_of(each) for each in ASSUMPTIONS.values()]


def test_every_assumption_says_what_holds_and_what_a_difference_means() -> None:
    for each in ASSUMPTIONS.values():
        assert each.relied_on.endswith("."), each.name
        assert each.if_differs.endswith("."), each.name
        assert "|" not in each.relied_on + each.if_differs, each.name
