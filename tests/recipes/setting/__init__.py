"""A setting: how many connections the sources share."""

from pathlib import Path

from tests.recipes.recipe import Edit, Recipe, inserted

RECIPE = Recipe(
    task="A setting",
    folder=Path(__file__).parent,
    edits=(
        inserted(
            "settings.py",
            """        20.0, gt=0, le=600, description="Seconds that one request to the register may take."
    )
""",
            """    register_connections: int = Field(
        20, ge=1, le=100, description="Connections to the register and the Data Lake at a time."
    )
""",
        ),
        Edit(
            "bootstrap.py",
            "        transport=transport, limits=httpx2.Limits(max_connections=20, max_keepalive_connections=5)\n",
            "        transport=transport,\n"
            "        limits=httpx2.Limits(max_connections=settings.register_connections, max_keepalive_connections=5),"
            "\n",
        ),
        inserted(
            "docs/operating.md",
            "| `REGISTERWATCH_REGISTER_TIMEOUT` | 20 | seconds that one request to the register may take |\n",
            "| `REGISTERWATCH_REGISTER_CONNECTIONS` | 20 | connections to it and to the Data Lake at a time |\n",
        ),
    ),
    tests=("tests/test_docs.py::test_every_setting_is_documented[register_connections]",),
)
