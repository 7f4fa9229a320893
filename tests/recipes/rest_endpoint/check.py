"""The new endpoint answers who may ask, and is described with its answer."""

import pytest

from tests.support.harness import ServiceHarness, auth_headers

pytestmark = pytest.mark.anyio

PATH = "/v1/watch-count"


async def test_the_endpoint_answers_and_refuses(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    await harness.post_watches(owner.api_key, "04099999999992")

    assert (await harness.client.get(PATH, headers=auth_headers(owner.api_key))).json() == {"watches": 1}
    assert (await harness.get(PATH)).status_code == 401


async def test_the_endpoint_is_described(harness: ServiceHarness) -> None:
    description = (await harness.get("/openapi.json")).json()
    answers = description["paths"][PATH]["get"]["responses"]

    assert answers["200"]["content"]["application/json"]["schema"]["$ref"].endswith("/WatchCount")
    assert "401" in answers
