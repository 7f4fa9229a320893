"""A query with thousands of parameters is not looked at."""

import pytest

from registerwatch.web.limits.query_limit import MAX_PARAMETERS
from tests.support.harness import ServiceHarness

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])


@pytest.mark.parametrize(
    "path",
    ["/", "/v1/search", "/v1/events.atom", "/v1/expiring.ics", "/v1/actors/DE-MF-000000001", "/d/1"],
)
async def test_a_query_with_very_many_parameters_is_refused_in_a_sentence(harness: ServiceHarness, path: str) -> None:
    for query in ("kind=x&" * 4_000, "&" * 30_000, "a&" * 15_000):
        answer = await harness.client.get(f"{path}?token=ft_none&{query}")

        assert (answer.status_code, len(answer.content) < 500) == (400, True), query[:10]
        assert answer.json()["code"] == "invalid-input"


async def test_many_values_that_cannot_be_are_told_in_few_sentences(harness: ServiceHarness) -> None:
    query = "&".join(["kind=x"] * (MAX_PARAMETERS - 1))
    answer = await harness.client.get(f"/v1/events.atom?token=ft_none&{query}")

    assert answer.status_code == 400
    assert answer.json()["error"].count("kind") <= 10
