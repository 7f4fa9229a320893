"""The security page: it has every requirement once, names only files, tests, routes and settings that there are, and
says beside each claim which test holds it, or that none does.
"""

import re
from collections import Counter
from pathlib import Path

import pytest
from fastapi.routing import APIRoute

from registerwatch.app import ROUTERS
from registerwatch.settings import Settings, variable_name
from tests.test_docs import is_command

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")

SECTIONS = """
1.1:2 1.2:9 1.3:11 1.4:3 1.5:2 2.1:3 2.2:3 2.3:4 2.4:1 3.2:2 3.3:4 3.4:6 3.5:5 3.7:2 4.1:3 4.2:1 4.3:2 4.4:4 5.1:1
5.2:3 5.3:2 5.4:3 6.1:3 6.2:12 6.3:4 6.4:4 6.5:5 6.6:3 6.8:4 7.1:3 7.2:4 7.3:2 7.4:5 7.5:2 7.6:2 8.1:2 8.2:3 8.3:1
8.4:1 9.1:3 9.2:4 10.1:2 10.2:2 10.3:4 10.4:11 10.5:5 10.6:2 10.7:3 11.1:2 11.2:3 11.3:3 11.4:4 11.5:1 11.6:1 12.1:3
12.2:2 12.3:4 13.1:1 13.2:5 13.3:2 13.4:5 14.1:2 14.2:4 14.3:3 15.1:3 15.2:3 15.3:7 16.1:1 16.2:5 16.3:4 16.4:3 16.5:3
17.1:1 17.2:4 17.3:2
"""
"""How many requirements of levels 1 and 2 each section of OWASP ASVS 5.0.0 has; in each they are the first ones."""

STATUSES = ("met", "deployment", "not met")
HELD_TABLES = ("What it is exposed to", "Who may do what", "Inventories")
"""Sections with tables of which every row names a test, or says that it is a claim."""
IS_HELD = re.compile(r"`(?:tests/[\w./]+|test_\w+)`|\*claim\*")
ROWS = re.findall(r"^\| (\d+\.\d+\.\d+) \|[^|]*\| ([^|]*) \|", PAGE.partition("## The standard")[2], flags=re.MULTILINE)
SPANS = re.findall(r"`([^`\n]+)`", PAGE)
FILES = sorted({span for span in SPANS if re.fullmatch(r"[\w./-]+/|[\w./-]+\.(?:py|md|js|html|yml|conf|lock)", span)})
TESTS = sorted({span for span in SPANS if re.fullmatch(r"test_\w+", span)})


def _required() -> Counter[str]:
    sections = (section.split(":") for section in SECTIONS.split())
    return Counter(f"{name}.{number}" for name, count in sections for number in range(1, int(count) + 1))


def _left_out() -> Counter[str]:
    """The numbers of what does not apply: `3.3.1 to 3.3.4` names four."""
    found: Counter[str] = Counter()
    for paragraph in re.findall(r"^Left out.*?\n\n", PAGE + "\n\n", flags=re.MULTILINE | re.DOTALL):
        text = " ".join(paragraph.split())
        for section, first, last in re.findall(r"(\d+\.\d+)\.(\d+)(?: to \1\.(\d+))?", text):
            found.update(f"{section}.{number}" for number in range(int(first), int(last or first) + 1))
    return found


def test_every_requirement_is_on_the_page_once() -> None:
    assert Counter(number for number, _ in ROWS) + _left_out() == _required()


def test_every_row_has_one_of_three_statuses() -> None:
    assert [row for row in ROWS if row[1] not in STATUSES] == []


def test_every_row_that_is_met_names_a_test_or_says_that_it_is_a_claim() -> None:
    rows = re.findall(r"^\| (\d+\.\d+\.\d+) \|[^|]*\| met \|(.*)\|$", PAGE, flags=re.MULTILINE)
    assert len(rows) == Counter(status for _, status in ROWS)["met"]
    assert [number for number, text in rows if not IS_HELD.search(text)] == []


@pytest.mark.parametrize("section", HELD_TABLES)
def test_every_row_of_the_tables_before_names_a_test_or_says_that_it_is_a_claim(section: str) -> None:
    text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    tables = re.findall(r"^\|.*\|\n\|[-|]+\|\n((?:\|.*\|\n)+)", text, flags=re.MULTILINE)
    rows = [row for table in tables for row in table.splitlines()]
    assert rows
    assert [row.split("|")[1:3] for row in rows if not IS_HELD.search(row)] == []


def test_the_numbers_on_the_front_are_those_of_the_rows() -> None:
    counts = Counter(status for _, status in ROWS)
    told = f"{counts['met']} met, {counts['deployment']} met by the deployment, {counts['not met']} not met"
    assert told in " ".join(PAGE.split())
    assert f"{_left_out().total()} do not apply" in " ".join(PAGE.split())


def test_what_is_not_met_is_told_on_the_front() -> None:
    front = PAGE.partition("## Inventories")[0]
    assert [number for number, status in ROWS if status == "not met" and number not in front] == []


@pytest.mark.parametrize("name", FILES)
def test_every_file_that_is_named_is_there(name: str) -> None:
    assert (ROOT / name).exists() or (ROOT / "src" / "registerwatch" / name).exists()


def test_every_test_that_is_named_is_there() -> None:
    there = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }
    assert TESTS
    assert [name for name in TESTS if name not in there] == []


def test_every_setting_command_and_target_that_is_named_is_there() -> None:
    known = {variable_name(name) for name in Settings.model_fields}
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {name.removesuffix("_FILE") for name in re.findall(r"REGISTERWATCH_[A-Z_]*[A-Z]", PAGE)} <= known
    assert [each for each in SPANS if each.startswith("make ") and each.split()[1] not in targets] == []
    assert [each for each in SPANS if each.startswith("registerwatch ") and not is_command(each)] == []


def test_every_route_that_is_named_is_there() -> None:
    there = {
        (method, route.path)
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    named = re.findall(r"`(GET|POST|PATCH|DELETE) (/[^`]*)`", PAGE)
    assert named
    assert [each for each in named if each not in there] == []
