"""Searches of a node whose index is not built yet."""

import pytest

from tests.mcp.messages import used
from tests.support.harness import ERROR_FIELDS, ServiceHarness

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

SAYS = "The search index is being built"


@pytest.fixture
async def unindexed(harness: ServiceHarness) -> ServiceHarness:
    """A service with a full copy and no index."""
    await harness.service.bulk_loader.load(harness.service.bulk_source("datalake"), lambda _progress: None)
    return harness


@pytest.mark.parametrize(
    "query",
    [
        {"q": "set"},
        {"q": "REF-1"},
        {"q": "REF1234"},
        {"q": "AB12345"},
        {"status": "on"},
        {"status": "on", "facets": "all"},
    ],
)
async def test_a_search_that_finds_nothing_since_nothing_is_indexed_is_no_answer(
    unindexed: ServiceHarness, query: dict[str, str]
) -> None:
    response = await unindexed.client.get("/v1/search", params=query)

    assert (response.status_code, response.json()["code"]) == (503, "index-unavailable")
    assert set(response.json()) == ERROR_FIELDS
    assert SAYS in response.json()["error"]
    assert int(response.headers["retry-after"]) > 0
    assert response.headers["cache-control"] == "no-store"
    await unindexed.update_index()
    assert (await unindexed.client.get("/v1/search", params=query)).status_code == 200


async def test_what_the_copy_itself_has_is_found_without_an_index(unindexed: ServiceHarness) -> None:
    device = unindexed.unique_devices(1)[0]
    for code in (device.primary_di, device.manufacturer.srn):
        response = await unindexed.get("/v1/search", q=code)
        assert (response.status_code, response.json()["total"] > 0) == (200, True)


async def test_a_device_of_the_copy_that_does_not_pass_a_filter_is_no_search_without_an_answer(
    unindexed: ServiceHarness,
) -> None:
    device = unindexed.unique_devices(1)[0]

    response = await unindexed.get("/v1/search", q=device.primary_di, emdn="unknown", latex="yes")

    assert (response.status_code, response.json()["total"], response.json()["error"]) == (200, 0, None)


async def test_an_answer_that_says_that_nothing_is_indexed_is_not_kept(unindexed: ServiceHarness) -> None:
    response = await unindexed.get("/v1/search", q="DE-MF-999999999")

    assert (response.status_code, response.json()["total"]) == (200, 0)
    assert SAYS in response.json()["error"]
    page = await unindexed.get("/", q="DE-MF-999999999")
    assert SAYS in page.text
    for answer in (response, page, await unindexed.get("/")):
        assert answer.headers["cache-control"] == "no-store"


async def test_a_tool_says_that_nothing_can_be_searched_yet(unindexed: ServiceHarness) -> None:
    said = await used(unindexed, "search_devices", q="set")

    assert said.is_error
    assert SAYS in said.payload["error"]


@pytest.mark.parametrize("headers", [{}, {"X-Fragment": "results"}])
async def test_the_page_says_that_nothing_can_be_searched_yet_and_what_to_do(
    unindexed: ServiceHarness, headers: dict[str, str]
) -> None:
    page = await unindexed.client.get("/", params={"q": "set"}, headers=headers)
    start = await unindexed.get("/")

    assert (page.status_code, start.status_code) == (503, 200)
    assert int(page.headers["retry-after"]) > 0
    assert SAYS in page.text
    assert "try again in" in page.text
    assert SAYS in start.text


async def test_a_copy_without_devices_is_searched_and_nothing_is_found(harness: ServiceHarness) -> None:
    response = await harness.get("/v1/search", q="set")

    assert (response.status_code, response.json()["total"]) == (200, 0)
