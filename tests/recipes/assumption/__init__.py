"""An assumption about the register: details of devices have a key of their own beside the uuid."""

from pathlib import Path

from tests.recipes.recipe import Recipe, inserted

RECORDS = "sources/eudamed/checks/records.py"

RECIPE = Recipe(
    task="An assumption about the register",
    folder=Path(__file__).parent,
    edits=(
        inserted(
            "sources/checks/names.py",
            """    UNKNOWN_RECORD = "unknown record"\n""",
            """    DETAIL_KEY = "key device detail"\n""",
        ),
        inserted(
            "sources/checks/record_assumptions.py",
            """records that are gone are asked for again. {SEND}",
    ),
""",
            """    Assumption(
        CheckName.DETAIL_KEY,
        "The key of a device",
        "The detail of a device has a `ulid`.",
        _DEVICE,
        0,
        f"Nothing relies on it. {SEND}",
    ),
""",
        ),
        inserted(
            RECORDS,
            """    return await ask.refusal(f"{DEVICES}/{NO_RECORD_UUID}", LANGUAGE, 302)\n""",
            '''

async def detail_key(ask: CheckRequests) -> Outcome:
    """Whether the detail has a key beside the uuid."""
    has_key = bool((await requests.detail(ask)).get("ulid"))
    return CheckResult(has_key, "" if has_key else "The detail has none.")
''',
        ),
        inserted(RECORDS, "    CheckName.UNKNOWN_RECORD: unknown_record,\n", "    CheckName.DETAIL_KEY: detail_key,\n"),
        inserted(
            "docs/register-checks.md",
            "records that are gone are asked for again. Please send us the recording (`--record FOLDER`). |\n",
            "| `key device detail` | The detail of a device has a `ulid`. | What a device is made of | daily"
            " | Nothing relies on it. Please send us the recording (`--record FOLDER`). |\n",
        ),
    ),
    tests=("tests/sources/test_assumptions.py",),
)
