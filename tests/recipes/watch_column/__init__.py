"""A column of a watch that people set: how much depends on what is watched."""

from pathlib import Path

from registerwatch.platform.db.migrate import known_schemas
from tests.recipes.recipe import Edit, Recipe, inserted

MODELS, REST, ANSWERS = "watches/models.py", "rest/watches.py", "web/answers/watch_answers.py"
TESTS = "tests/rest/test_watches.py"
LAST = max(known_schemas())
NUMBER = f"{int(LAST) + 1:04}"
MIGRATION = f"platform/db/migrations/versions/{NUMBER}_importance.py"

RECIPE = Recipe(
    task="A column of a watch",
    folder=Path(__file__).parent,
    files={MIGRATION: "migration.py"},
    edits=(
        Edit(MIGRATION, '\nrevision = "0002"', f'\nrevision = "{NUMBER}"'),
        Edit(MIGRATION, 'down_revision = "0001"', f'down_revision = "{LAST}"'),
        inserted(
            "watches/tables.py",
            """doc="what people wrote down beside it"),\n""",
            """    Column("importance", Text, nullable=False, server_default="", doc="what people say of it"),\n""",
        ),
        inserted(MODELS, "    options: WatchOptions = WatchOptions()\n", """    importance: str = ""\n"""),
        inserted(MODELS, "    options: OptionChange | None = None\n", "    importance: str | None = None\n"),
        inserted(
            MODELS,
            """            "is_renamed": None if self.label is None else True,\n""",
            """            "importance": self.importance,\n""",
        ),
        inserted(
            REST,
            """Field(None, description="What the watch tells, and whether it is sent.")\n""",
            """    importance: str | None = Field(
        None, max_length=40, description="How much depends on it.", examples=["life-supporting"]
    )
""",
        ),
        inserted(
            ANSWERS,
            """    options: Annotated[WatchOptionsObject, doc("What it tells, and whether that is sent.")]\n""",
            """    importance: Annotated[str, doc("How much depends on it; can be empty.", "life-supporting")]\n""",
        ),
        inserted(
            ANSWERS,
            "            options=WatchOptionsObject(watch.options.portfolio, watch.options.certificates,"
            " watch.options.notifies),\n",
            "            importance=watch.importance,\n",
        ),
        inserted(TESTS, "WATCH_FIELDS = {\n", '    "importance",\n'),
    ),
    tests=("tests/platform/db/test_migrations.py", TESTS),
)
