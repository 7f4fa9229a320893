"""A rate limit: lists of watches."""

from pathlib import Path

from tests.recipes.recipe import Edit, Recipe, inserted

RECIPE = Recipe(
    task="A rate limit",
    folder=Path(__file__).parent,
    edits=(
        inserted(
            "web/limits/rate_limits.py",
            """    SYNC = RateLimitRule("sync", 10, 60)\n""",
            """    WATCH_LIST = RateLimitRule("watch-list", 3, 60)\n""",
        ),
        Edit(
            "rest/watches.py",
            """("/v1/watches", summary="The account's watches", responses=answer(WatchList) | BAD_REQUEST)""",
            """(
    "/v1/watches",
    summary="The account's watches",
    responses=answer(WatchList) | BAD_REQUEST,
    dependencies=[Depends(counted(Limit.WATCH_LIST))],
)""",
        ),
        inserted("tests/web/test_rate_limits.py", "    Limit.SYNC: 10,\n", "    Limit.WATCH_LIST: 3,\n"),
    ),
    tests=("tests/web/test_rate_limits.py::test_the_table_of_numbers_has_every_limit",),
)
