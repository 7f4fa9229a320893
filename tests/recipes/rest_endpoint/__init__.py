"""A REST endpoint: how many watches the account has."""

from pathlib import Path

from tests.recipes.recipe import Recipe, inserted

WATCHES, DESCRIPTION = "rest/watches.py", "tests/rest/test_description.py"

RECIPE = Recipe(
    task="A REST endpoint",
    folder=Path(__file__).parent,
    edits=(
        inserted(
            WATCHES,
            """    watches, now = await service.watches.service.all(caller), service.clock.now()
    items = await asyncio.to_thread(expiring, watches, now)  # the states of many certificates take time
    found = ExpiringAnswer(items, [watch.subject for watch in unsure(watches)] or UNSET)
    return private_response(found.of_account(caller.account, now))
""",
            '''

class WatchCount(Answer):
    """How many watches there are."""

    watches: Annotated[int, doc("Number of watches of the account.", 12)]


@router.get("/v1/watch-count", summary="How many watches there are", responses=answer(WatchCount))
async def count_watches(service: InjectedService, caller: Reader) -> Response:
    """Counts the watches of the account. Works after the period has ended too."""
    return private_response(WatchCount(await service.watches.service.count(caller.account.id)))
''',
        ),
        inserted(WATCHES, "from registerwatch.web.answers.answers import ", "Answer, "),
        inserted(
            "tests/rest/test_access.py",
            """    "GET /v1/expiring": Protected(KEY_OR_SESSION, stranger=200),\n""",
            """    "GET /v1/watch-count": Protected(KEY_OR_SESSION, stranger=200),\n""",
        ),
        inserted(
            DESCRIPTION, """    "GET /v1/events",\n    "GET /v1/expiring",\n""", """    "GET /v1/watch-count",\n"""
        ),
        inserted(DESCRIPTION, """    "GET /v1/me",\n    "GET /v1/expiring",\n""", """    "GET /v1/watch-count",\n"""),
        inserted(
            "tests/rest/test_scopes.py", """    "GET /v1/events": READ,\n""", """    "GET /v1/watch-count": READ,\n"""
        ),
    ),
    tests=(
        "tests/rest/test_access.py::test_the_tables_here_have_every_operation_and_no_other",
        "tests/rest/test_access.py::test_every_route_of_the_interface_is_in_the_description",
        "tests/rest/test_scopes.py::test_every_route_that_needs_a_credential_declares_the_scope_of_the_table",
    ),
)
