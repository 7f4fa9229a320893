"""A page of the documentation: languages."""

from pathlib import Path

from tests.recipes.recipe import Recipe, inserted

RECIPE = Recipe(
    task="A page of the documentation",
    folder=Path(__file__).parent,
    files={"docs/languages.md": "languages.md"},
    edits=(
        inserted(
            "pages/documentation/library.py",
            "TOPICS = (\n",
            """    Topic("languages", "Languages", "In which language names of devices are shown."),\n""",
        ),
        inserted(
            "pyproject.toml",
            """"docs/lists.md" = "registerwatch/docs/lists.md"\n""",
            """"docs/languages.md" = "registerwatch/docs/languages.md"\n""",
        ),
    ),
    tests=("tests/pages/documentation/test_library.py",),
)
