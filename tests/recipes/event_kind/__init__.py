"""A kind of event: changes of the catalogue reference."""

from pathlib import Path

from tests.recipes.recipe import Edit, Recipe, inserted

RECIPE = Recipe(
    task="A kind of event",
    folder=Path(__file__).parent,
    edits=(
        inserted(
            "watches/models.py",
            '''    """When a certificate ends."""\n''',
            '''    CATALOGUE = "catalogue", "Catalogue references"
    """By what a device is ordered."""\n''',
        ),
        Edit(
            "watches/events/event_rules.py",
            'EventField("catalogue reference", EventKind.RECORD)',
            'EventField("catalogue reference", EventKind.CATALOGUE)',
        ),
        Edit(
            "docs/events.md",
            "| `reference` | catalogue reference | `record` |",
            "| `reference` | catalogue reference | `catalogue` |",
        ),
    ),
    tests=("tests/watches/test_event_rules.py::test_the_page_shows_the_fields_and_the_rules",),
)
