"""A field of a device: whether conditions of storage apply, which the detail says."""

from pathlib import Path

from registerwatch.register.models import DOCUMENT_VERSION
from tests.recipes.recipe import Edit, Recipe, inserted

MODELS = "register/models.py"

RECIPE = Recipe(
    task="A field of a device",
    folder=Path(__file__).parent,
    edits=(
        inserted(
            MODELS,
            """            "https://www.acme.example/instructions",
        ),
    ] = msgspec.UNSET
""",
            """    storage_applies: Annotated[
        bool | msgspec.UnsetType, field_doc("Whether conditions of storage apply." + _OR_MISSING, True)
    ] = msgspec.UNSET
""",
        ),
        Edit(MODELS, f"DOCUMENT_VERSION = {DOCUMENT_VERSION}\n", f"DOCUMENT_VERSION = {DOCUMENT_VERSION + 1}\n"),
        inserted(
            MODELS,
            """    **dict.fromkeys(_OF_VERSION_4, 4),\n""",
            f"""    "storage_applies": {DOCUMENT_VERSION + 1},\n""",
        ),
        inserted(
            "sources/eudamed/wire.py",
            "    additional_information_url: str | None = None\n",
            "    storage_applicable: bool | None = None\n",
        ),
        inserted(
            "sources/eudamed/convert.py",
            """        "latex": detail.latex,\n""",
            """        "storage_applies": msgspec.UNSET if detail.storage_applicable is None"""
            " else detail.storage_applicable,\n",
        ),
        inserted(
            "docs/answers.md",
            "an address that is neither http nor https is left out | full reads |\n",
            "| `storage_applies` | whether conditions of storage apply | full reads |\n",
        ),
    ),
    tests=(
        "tests/register/test_models.py::test_every_field_that_came_later_says_in_which_version_of_documents",
        "tests/ingest/test_document_version.py",
        "tests/web/test_states_of_knowledge.py::test_the_page_lists_every_field_that_is_not_always_there",
    ),
)
