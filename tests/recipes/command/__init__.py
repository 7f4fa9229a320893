"""A command: the folder of what is kept here."""

from pathlib import Path

from tests.recipes.recipe import Recipe, inserted

RECIPE = Recipe(
    task="A command",
    folder=Path(__file__).parent,
    files={"commands/folder.py": "folder.py"},
    edits=(
        inserted(
            "cli.py",
            """List every setting with its value here and what it means. Secrets are masked.", "show"
        ),
""",
            """        "folder": CommandSource("folder", "Print the folder of what is kept here.", "folder"),\n""",
        ),
        inserted(
            "docs/operating.md",
            "Lists every setting with its value and meaning; names of variables that no setting has are pointed out.\n",
            "\n    registerwatch folder\n\nPrints the folder of what is kept here.\n",
        ),
    ),
    tests=("tests/test_docs.py::test_every_command_is_documented", "tests/commands/test_help.py"),
)
