"""Query parameters that an operation does not have."""

import pytest

from tests.rest.test_access import operations
from tests.support.harness import ERROR_FIELDS, ServiceHarness, auth_headers

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

TAKES_ANY = {"GET /health", "GET /live", "GET /ready", "POST /v1/billing/webhook", "POST /mcp"}
"""Asked by programs that add parameters of their own: probes, the payment provider."""
ALWAYS_200 = "GET /v1/actors/{srn}"


async def test_every_operation_refuses_a_parameter_that_it_does_not_describe(harness: ServiceHarness) -> None:
    owner = await harness.sign_up()
    labels = set(operations(harness.app)) - TAKES_ANY - {ALWAYS_200}
    assert len(labels) > 40
    for label in sorted(labels):
        method, _, path = label.partition(" ")
        address = path.replace("{id}", "1").replace("{udi}", "04012345678901").replace("{delivery}", "whd_1")
        answer = await harness.client.request(
            method,
            f"{address}?surprise=1&page=1",
            json={} if method != "GET" else None,
            headers=auth_headers(owner.api_key),
        )

        assert (answer.status_code, set(answer.json())) == (400, ERROR_FIELDS), label
        assert "There is no parameter `surprise` here." in answer.json()["error"], label
        is_unknown = "There is no parameter `page` here." in answer.json()["error"]
        assert is_unknown is (label != "GET /v1/search"), label


async def test_an_actor_says_so_in_its_error_since_it_is_always_200(harness: ServiceHarness) -> None:
    srn = harness.world.newest(0, 1)[0].manufacturer.srn
    answer = await harness.client.get(f"/v1/actors/{srn}?statuss=on")

    refusal = "There is no parameter `statuss` here. Did you mean `status`?"
    assert (answer.status_code, answer.json()["error"]) == (200, refusal)
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/health", "/live"])
async def test_a_probe_may_add_what_it_likes(harness: ServiceHarness, path: str) -> None:
    assert (await harness.client.get(path, params={"probe": "7"})).status_code == 200


async def test_a_device_that_is_stored_refuses_it_too(harness: ServiceHarness) -> None:
    await harness.fill_copy()
    udi = harness.unique_devices(1)[0].primary_di

    assert (await harness.client.get(f"/v1/devices/{udi}")).status_code == 200
    assert (await harness.client.get(f"/v1/devices/{udi}?fields=certs")).status_code == 400
