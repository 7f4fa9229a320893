"""The new limit lets its number of requests through, and refuses the next with the time to wait."""

import pytest

from tests.support.harness import ServiceStarter, auth_headers


@pytest.mark.anyio
async def test_the_limit_refuses(start_service: ServiceStarter) -> None:
    async with start_service(rate_limits=True) as harness:
        headers = auth_headers((await harness.sign_up()).api_key)
        answers = [await harness.client.get("/v1/watches", headers=headers) for _ in range(4)]

    assert [each.status_code for each in answers] == [200, 200, 200, 429]
    assert answers[-1].headers["ratelimit-policy"] == "3;w=60"
    assert "retry-after" in answers[-1].headers
