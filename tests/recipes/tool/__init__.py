"""A tool for assistants: what a code says, as `GET /v1/parse` does."""

from pathlib import Path

from tests.recipes.recipe import Recipe, inserted

GROUP, TESTS = "mcp/tools/register.py", "tests/mcp/test_tools.py"

RECIPE = Recipe(
    task="A tool for assistants",
    folder=Path(__file__).parent,
    edits=(
        inserted(
            GROUP,
            "from registerwatch.platform.clock import day_of\n",
            "from registerwatch.register.identifiers import parse\n",
        ),
        inserted(
            GROUP,
            "from registerwatch.register.identifiers import MAX_LENGTH\n",
            "from registerwatch.web.answers.code_answers import ParsedCodeAnswer\n",
        ),
        inserted(
            GROUP,
            '''    """Arguments of `get_actor`."""

    srn: Annotated[
        str,
        text_argument(
            "The actor's single registration number: country, two letters, digits, such as AT-MF-000000252.", MAX_LENGTH
        ),
    ]
''',
            '''

class CodeArguments(msgspec.Struct):
    """Arguments of `parse_code`."""

    code: Annotated[str, msgspec.Meta(min_length=1, max_length=500, description="What was typed or scanned.")]


@tool("Read a code", "Tell what a code says, without asking the register.", CodeArguments, asks_register=False)
async def parse_code(arguments: CodeArguments, context: ToolContext) -> ToolResult:
    """What a code says."""
    await context.count(Limit.CODES)
    read = parse(arguments.code, day_of(context.service.clock.now()).year)
    return payload(ParsedCodeAnswer.of(read, await context.service.codes.coded(arguments.code)))
''',
        ),
        inserted("mcp/tools/__init__.py", "    register.get_actor,\n", "    register.parse_code,\n"),
        inserted("tests/mcp/messages.py", '    "get_actor",\n', '    "parse_code",\n'),
        inserted(
            "tests/mcp/messages.py", '        "get_actor": {"srn": srn},\n', '        "parse_code": {"code": udi},\n'
        ),
        inserted(
            TESTS,
            'await same("list_changes", await of_rest(harness, "/v1/events", key))\n',
            '    await same("parse_code", await of_rest(harness, "/v1/parse", code=udi), code=udi)\n',
        ),
        inserted(
            "docs/mcp.md",
            "or some of its devices (`missing`) are not read yet | |\n",
            "| `parse_code` | `code` | what `GET /v1/parse` gives | |\n",
        ),
    ),
    tests=(
        "tests/mcp/test_examples.py::test_the_page_names_every_tool_its_arguments_and_every_code",
        "tests/mcp/test_endpoint.py",
        "tests/mcp/test_tools.py",
    ),
)
