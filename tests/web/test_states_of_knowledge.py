"""What every surface answers in every state of knowledge is what docs/answers.md says."""

import re
from pathlib import Path

import pytest

from registerwatch.register.models import DETAILS
from tests.register.forgetful_world import ForgetfulWorld
from tests.support.harness import built_harness
from tests.web.answers_of_surfaces import SURFACES
from tests.web.states_of_knowledge import State, subjects_in

PAGE = (Path(__file__).parents[2] / "docs" / "answers.md").read_text(encoding="utf-8")

Table = dict[str, list[str]]


def table_under(heading: str) -> Table:
    """The rows of the first table under a heading, by the state in their first cell."""
    table = re.search(r"(^\|.*\|\n)+", PAGE.partition(f"\n## {heading}\n")[2], re.MULTILINE)
    assert table is not None, f"{heading} has a table"
    lines = re.findall(r"^\| (.*) \|$", table[0], re.MULTILINE)
    rows = [line.split(" | ") for line in lines[1:]]
    return {row[0]: row[1:] for row in rows}


def says(told: str, expected: str) -> bool:
    """Whether a cell is as the page has it, where `…` stands for any words."""
    return re.fullmatch(".*".join(re.escape(part) for part in expected.split("…")), told) is not None


def test_the_page_says_how_every_state_comes_about() -> None:
    explained = PAGE.partition("| state | what happened |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| ([^|]*) \|", explained, re.MULTILINE) == list(State)


def test_the_page_lists_every_field_that_is_not_always_there() -> None:
    listed = PAGE.partition("| field | what it is | read from |")[2].partition("\n\n")[0]
    cells = re.findall(r"^\| ([^|]*) \|", listed, re.MULTILINE)
    assert sorted(re.findall("`([^`]+)`", " ".join(cells))) == sorted(DETAILS)


def all_say(told: list[str], expected: list[str]) -> bool:
    """Whether all cells of a row are as the page has them."""
    return len(told) == len(expected) and all(says(*pair) for pair in zip(told, expected, strict=True))


@pytest.mark.parametrize("heading", SURFACES)
def test_every_table_has_a_row_for_every_state_and_no_other(heading: str) -> None:
    assert list(table_under(heading)) == list(State)


@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize("state", State)
async def test_every_surface_says_what_the_page_says(state: State, database_url: str, tmp_path: Path) -> None:
    world = ForgetfulWorld(120)
    async with built_harness(database_url, tmp_path, world=world) as harness:
        subjects = await subjects_in(state, harness, world, tmp_path / "index")
        told: Table = {}
        for heading, ask in SURFACES.items():
            if heading == "Syncs":
                subjects.release()
                await harness.finish_background_work()
            told[heading] = list(await ask(subjects))
        await subjects.close()
    expected = {heading: table_under(heading)[state] for heading in SURFACES}
    wrong = {heading: cells for heading, cells in told.items() if not all_say(cells, expected[heading])}
    assert wrong == {}
