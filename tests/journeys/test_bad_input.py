"""Input that nobody should send: always a clear 400 or an empty result, never a 500, never another's record."""

from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest

from tests.conftest import StageMaker
from tests.parts.stage import Stage

pytestmark = pytest.mark.anyio

STRANGE = {
    "10,000 characters": "9" * 10_000,
    "10,000 letters": "a" * 10_000,
    "NUL": "\x00",
    "control characters": "0401\x01\x02\x1b[31m",
    "emoji": "🩺🦷💉",
    "right-to-left": "جهاز طبي",
    "right-to-left override": "\u202e04012345678901",
    "combining": "Qzqz͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍",
    "SQL quote": "' OR 1=1 --",
    "SQL drop": "x'; DROP TABLE devices; --",
    "SQL wildcard": "%_%",
    "query syntax": 'names:* AND (title:"x" OR -y)^2~3 [a TO b}',
    "brackets": "((((((((((",
    "regular expression": "^.*$|(qzqz+)+$",
    "HIBCC with plus": "+E494ZIRKON5F5/$$7",
    "Basic UDI-DI": "++E494ZIRKON5F5",
    "slashes": "a/b/../../c",
    "backslash": "..\\..\\etc\\passwd",
    "template": "{{qz77*qz77}}${qz77*qz77}",
    "script": "<script>alert(1)</script>",
    "white space": " \t\u00a0\u2003 ",
    "surrogate-like": "\ufffe\uffff",
    "number in other digits": "٠٤٠١٢٣٤٥٦٧٨٩٠١",
    "float": "1e309",
}


@pytest.fixture
async def stage(staged: StageMaker) -> AsyncIterator[Stage]:
    async with staged() as stage:
        await stage.fill()
        yield stage


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE)
async def test_a_strange_query_finds_nothing_or_is_refused(stage: Stage, text: str) -> None:
    response = await stage.get("/v1/search", q=text)

    assert response.status_code in {200, 400}, response.text
    if response.status_code == 400:
        assert response.json()["error"]
    else:
        assert response.json()["total"] == 0
        assert response.json()["results"] == []


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE)
async def test_a_strange_identifier_is_nobodys_device(stage: Stage, text: str) -> None:
    response = await stage.client.get(f"/v1/devices/{quote(text, safe='')}")

    assert response.status_code in {400, 404}, response.text
    assert response.json()["error"]


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE)
async def test_a_strange_srn_is_nobody_and_still_status_200(stage: Stage, text: str) -> None:
    response = await stage.client.get(f"/v1/actors/{quote(text, safe='')}")

    assert response.status_code == 200
    assert response.json()["name"] == ""
    assert response.json()["error"]


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE)
async def test_a_strange_code_is_not_refreshed(stage: Stage, text: str) -> None:
    response = await stage.get("/v1/refresh", q=text)

    assert response.status_code in {200, 400}
    if response.status_code == 200:
        assert response.json()["refreshed"] is False
        assert response.json()["error"]


@pytest.mark.parametrize("text", [*STRANGE.values(), "", "/", "//", "%2e%2e%2f"])
async def test_a_strange_path_is_a_404_with_an_error(stage: Stage, text: str) -> None:
    response = await stage.client.get(f"/v1/nothing/{quote(text, safe='')}")

    assert response.status_code == 404
    assert set(response.json()) == {"error"}


@pytest.mark.parametrize("page", ["0", "-1", "abc", "", "1.5", "1e9", "٣", "99999999999999999999"])
async def test_a_page_that_is_no_whole_number_from_1_is_refused(stage: Stage, page: str) -> None:
    response = await stage.get("/v1/search", q="titan", page=page)

    if page == "99999999999999999999":
        assert (response.status_code, response.json()["results"]) == (200, [])
    else:
        assert response.status_code == 400
        assert "page" in response.json()["error"]


async def test_a_page_behind_the_last_is_empty_and_keeps_the_total(stage: Stage) -> None:
    first = (await stage.get("/v1/search", q="titan")).json()

    far = (await stage.get("/v1/search", q="titan", page=1_000_000_000)).json()

    assert first["total"] > 0
    assert (far["results"], far["total"]) == ([], first["total"])


@pytest.mark.parametrize(
    ("parameter", "value"), [("status", "ON"), ("status", "sold"), ("risk", "iv"), ("risk", "I"), ("colour", "red")]
)
async def test_an_unknown_filter_is_refused_and_named(stage: Stage, parameter: str, value: str) -> None:
    response = await stage.get("/v1/search", q="titan", **{parameter: value})

    assert response.status_code == 400
    assert parameter in response.json()["error"]


async def test_a_search_without_query_and_filter_is_refused(stage: Stage) -> None:
    for parameters in ({}, {"q": ""}, {"q": "  "}):
        response = await stage.client.get("/v1/search", params=parameters)
        assert response.status_code == 400
        assert "`q`" in response.json()["error"]


async def test_percent_encoded_slashes_and_pluses_reach_the_identifier_as_they_are(stage: Stage) -> None:
    response = await stage.client.get("/v1/devices/%2B%2BE494%2FZIRKON%3F")

    assert response.status_code == 404
    assert response.json()["udi"] == "++E494/ZIRKON?"


async def test_an_actor_with_unknown_filters_is_a_200_with_an_error(stage: Stage) -> None:
    srn = stage.world.newest(0, 1)[0].manufacturer.srn
    for parameters in ({"status": "sold"}, {"risk": "iv"}, {"page": "0"}, {"page": "abc"}):
        response = await stage.client.get(f"/v1/actors/{srn}", params=parameters)
        assert response.status_code == 200
        assert response.json()["error"]


async def test_a_post_without_a_body_is_refused_everywhere_under_v1(stage: Stage) -> None:
    for path in ("/v1/search", "/v1/anything", "/v1/devices/1"):
        response = await stage.client.post(path)
        assert response.status_code == 403
        assert "{}" in response.json()["error"]


async def test_a_method_that_an_address_does_not_take_is_a_405_in_json(stage: Stage) -> None:
    response = await stage.client.post("/v1/search", json={})

    assert response.status_code == 405
    assert response.json() == {"error": "This address does not take POST."}
