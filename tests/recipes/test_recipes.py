"""Each task of CONTRIBUTING is done in a copy of the tree, in the files that its row names, and works there."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.recipes import (
    account_page,
    assumption,
    channel,
    chat_service,
    command,
    compared_field,
    device_field,
    documentation_page,
    event_kind,
    rate_limit,
    rest_endpoint,
    second_source,
    setting,
    tool,
    watch_column,
)
from tests.recipes.recipe import ROOT, Recipe, copy_of_tree, pytest_arguments, run_python

SHORT = (chat_service.RECIPE,)
"""Those that `make test` runs."""
LONG = (
    rate_limit.RECIPE,
    device_field.RECIPE,
    event_kind.RECIPE,
    tool.RECIPE,
    setting.RECIPE,
    command.RECIPE,
    account_page.RECIPE,
    documentation_page.RECIPE,
    second_source.RECIPE,
    watch_column.RECIPE,
    assumption.RECIPE,
    channel.RECIPE,
    rest_endpoint.RECIPE,
    compared_field.RECIPE,
)
RECIPES = (*SHORT, *LONG)
MAX_PRODUCT_FILES = 3
MYPY = ("-m", "mypy", "-p", "registerwatch")
LINT_IMPORTS = ("-c", "from importlinter.cli import lint_imports_command; lint_imports_command()")
ROW = re.compile(r"^\| \*\*(?P<task>[^|*]+)\*\*[^|]*\| (?P<files>[^|]+) \|", re.MULTILINE)
ROWS = {
    row["task"]: re.findall("`([^`]+)`", row["files"])
    for row in ROW.finditer((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
}
"""The files that each task touches, with names such as `<page>` in place of what a new file is called."""


def name_of(recipe: Recipe) -> str:
    return recipe.folder.name


def as_named(path: str, names: list[str]) -> str:
    """A path as one of the names of a row has it, or itself where none does."""
    if path in names:
        return path
    patterns = {name: "[^/]+".join(map(re.escape, re.split("<[^>]+>", name))) for name in names}
    return next((name for name, pattern in patterns.items() if re.fullmatch(pattern, path)), path)


def test_every_task_has_a_recipe() -> None:
    assert {each.task for each in RECIPES} == set(ROWS)


@pytest.mark.parametrize("recipe", RECIPES, ids=name_of)
def test_a_task_touches_the_files_that_its_row_names_and_few_of_the_product(recipe: Recipe) -> None:
    names = ROWS[recipe.task]

    assert {as_named(path, names) for path in recipe.paths} == set(names)
    assert 1 <= len(recipe.product_paths) <= MAX_PRODUCT_FILES


@pytest.mark.nightly
def test_no_check_passes_where_its_task_is_not_done() -> None:
    done = run_python(ROOT, pytest_arguments(*(each.check for each in RECIPES)))

    assert (done.returncode, re.findall(r"\d+ passed", done.stdout)) == (1, []), done.stdout


@pytest.mark.parametrize(
    "recipe",
    [*SHORT, *(pytest.param(each, marks=pytest.mark.nightly) for each in LONG)],
    ids=name_of,
)
def test_a_task_that_is_done_so_works(recipe: Recipe, tmp_path: Path) -> None:
    root = copy_of_tree(tmp_path)
    recipe.apply(root)

    succeeds(root, pytest_arguments(recipe.check, *recipe.tests))


@pytest.mark.nightly
def test_with_all_tasks_done_types_and_layers_are_right(tmp_path: Path) -> None:
    root = copy_of_tree(tmp_path)
    for each in RECIPES:
        each.apply(root)

    succeeds(root, LINT_IMPORTS)
    succeeds(root, MYPY)


def succeeds(root: Path, arguments: Sequence[str]) -> None:
    """Run Python in a copy. Where it fails, what it printed says why."""
    done = run_python(root, arguments)
    if done.returncode:
        pytest.fail(done.stdout + done.stderr, pytrace=False)
