"""A tool for assistants: the day of the service."""

from pathlib import Path

from tests.recipes.recipe import Recipe, inserted

RECIPE = Recipe(
    task="A tool for assistants",
    folder=Path(__file__).parent,
    edits=(
        inserted(
            "mcp/tools/register.py",
            '''    """Arguments of `get_actor`."""

    srn: Annotated[
        str,
        text_argument(
            "The actor's single registration number: country, two letters, digits, such as AT-MF-000000252.", MAX_LENGTH
        ),
    ]
''',
            '''

class DayArguments(msgspec.Struct):
    """Arguments of `get_day`."""


@tool(
    "Read the day",
    "Give the day (UTC) from which the service counts until a certificate ends.",
    DayArguments,
    asks_register=False,
)
async def get_day(_arguments: DayArguments, context: ToolContext) -> ToolResult:
    """The day of the service."""
    return payload({"day": day_of(context.service.clock.now()).isoformat()})
''',
        ),
        inserted("mcp/tools/__init__.py", "    register.get_actor,\n", "    register.get_day,\n"),
        inserted("tests/mcp/messages.py", '    "get_actor",\n', '    "get_day",\n'),
        inserted(
            "docs/mcp.md",
            "or some of its devices (`missing`) are not read yet | |\n",
            "| `get_day` | | `day`, from which the service counts until a certificate ends | |\n",
        ),
    ),
    tests=(
        "tests/mcp/test_examples.py::test_the_page_names_every_tool_its_arguments_and_every_code",
        "tests/mcp/test_endpoint.py::test_the_list_of_tools_has_each_with_a_schema_and_hints",
    ),
)
