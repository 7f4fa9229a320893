"""What counts as a change: the Basic UDI-DI of a device."""

from pathlib import Path

from registerwatch.watches.snapshot import FIELD_SET
from tests.recipes.recipe import Edit, Recipe, inserted

SNAPSHOT = "watches/snapshot.py"

RECIPE = Recipe(
    task="What counts as a change",
    folder=Path(__file__).parent,
    edits=(
        inserted(SNAPSHOT, """    device_total: str = ""\n""", """    basic_udi: str = ""\n"""),
        Edit(SNAPSHOT, f"FIELD_SET = {FIELD_SET}\n", f"FIELD_SET = {FIELD_SET + 1}\n"),
        inserted(SNAPSHOT, """    "device_total": 1,\n""", f"""    "basic_udi": {FIELD_SET + 1},\n"""),
        inserted(SNAPSHOT, "        reference=device.reference,\n", "        basic_udi=device.basic_udi,\n"),
        inserted(
            "watches/events/event_rules.py",
            """    "device_total": EventField("number of registered devices", EventKind.PORTFOLIO),\n""",
            """    "basic_udi": EventField("Basic UDI-DI", EventKind.RECORD),\n""",
        ),
        inserted(
            "docs/events.md",
            "| `device_total` | number of registered devices | `portfolio` |\n",
            "| `basic_udi` | Basic UDI-DI | `record` |\n",
        ),
    ),
    tests=("tests/watches/test_event_rules.py",),
)
