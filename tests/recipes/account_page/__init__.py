"""A page of the account with an entry of the navigation: deadlines."""

from pathlib import Path

from tests.recipes.recipe import Edit, Recipe, inserted

ROUTES = "pages/routes.py"

RECIPE = Recipe(
    task="A page of the account",
    folder=Path(__file__).parent,
    files={
        "pages/account/deadlines.py": "deadlines.py",
        "pages/templates/account/deadlines.html": "deadlines.html",
    },
    edits=(
        Edit(ROUTES, "account import audit, keys,", "account import audit, deadlines, keys,"),
        inserted(ROUTES, "    team,\n    audit,\n", "    deadlines,\n"),
        inserted(
            ROUTES,
            """    Section("lists", "/app/lists", "Lists"),\n""",
            """    Section("deadlines", "/app/deadlines", "Deadlines"),\n""",
        ),
        inserted(
            "tests/pages/account/test_access.py",
            """    "GET /app/audit.csv": OWNER,\n""",
            """    "GET /app/deadlines": USER,\n""",
        ),
    ),
    tests=("tests/pages/account/test_access.py::test_the_table_here_has_every_page_and_no_other",),
)
